"""A trace as one HTML file that needs no network: the page's parts, and the numbers inside it.

Tests: tests/vta/trace/test_page_data.py, tests/vta/trace/test_page.py.
"""

import json
from importlib.resources import files
from typing import Any

__all__ = ["page_text"]


def page_text(data: dict[str, Any]) -> str:
    """Return the page that shows what ``vta.trace.page_data.page_data`` made."""
    folder = files("vta.trace") / "page"
    parts = {name: (folder / f"page.{name}").read_text(encoding="utf-8") for name in ("html", "css", "js")}
    # "</" would end the script element in which the numbers stand.
    numbers = json.dumps(data, separators=(",", ":"), allow_nan=False).replace("</", "<\\/")
    text = parts["html"].replace("/*CSS*/", parts["css"]).replace("/*JS*/", parts["js"])
    return text.replace("/*DATA*/", numbers)
