"""A trace as one HTML file that needs no network: the page's parts, and the numbers inside it.

Tests: tests/vta/inspect/trace/test_page_data.py, tests/vta/inspect/trace/test_page.py.
"""

import json
from importlib.resources import files
from typing import Any

__all__ = ["page_text"]

_SCRIPTS = (
    "common", "tracks", "timeline", "overview", "view", "table", "selection", "account", "roofline", "pointer", "main",
)  # fmt: skip
"""The parts of the page's behaviour, in the order in which they are read."""


def page_text(data: dict[str, Any]) -> str:
    """Return the page that shows what ``vta.inspect.trace.page_data.page_data`` made."""
    folder = files("vta.inspect.trace") / "page"
    text, css = ((folder / name).read_text(encoding="utf-8") for name in ("page.html", "page.css"))
    scripts = [(folder / "js" / f"{name}.js").read_text(encoding="utf-8") for name in _SCRIPTS]
    # In the script element in which the numbers stand, "</script" and "<!--" would mean something.
    numbers = json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    behaviour = '"use strict";\n(() => {\n' + "\n".join(scripts) + "})();"
    return text.replace("/*CSS*/", css).replace("/*JS*/", behaviour).replace("/*DATA*/", numbers)
