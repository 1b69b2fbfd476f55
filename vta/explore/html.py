"""What was found, as one HTML file that needs no network: a plot with two axes to choose, and a table to sort.

Tests: tests/vta/explore/test_page.py.
"""

import json
from collections.abc import Sequence
from importlib.resources import files

from vta.explore.study import Outcome, on_front
from vta.explore.table import COLUMNS, problems_of

__all__ = ["page_text"]


def page_text(outcomes: Sequence[Outcome], title: str, command: str) -> str:
    """Return the page; ``command`` is what was typed, for whoever wants the same again."""
    best = on_front(outcomes)
    rows = [
        {
            "name": outcome.point.name,
            "values": [[name, value] for name, value in outcome.point.values],
            "best": outcome in best,
            "numbers": {name: outcome.number(name) for name in COLUMNS},
            "from": [str(outcome.found[key]) for key in ("cycles_by", "area_by") if key in outcome.found],
            "layers": outcome.found.get("layers", {}),
            "note": problems_of(outcome),
        }
        for outcome in outcomes
    ]
    folder = files("vta.explore") / "page"
    text, css, js = ((folder / name).read_text(encoding="utf-8") for name in ("page.html", "page.css", "page.js"))
    data = json.dumps({"title": title, "command": command, "columns": COLUMNS, "rows": rows}, allow_nan=False)
    # In the script element in which the numbers stand, "</script" and "<!--" would mean something.
    return text.replace("/*CSS*/", css).replace("/*JS*/", js).replace("/*DATA*/", data.replace("<", "\\u003c"))
