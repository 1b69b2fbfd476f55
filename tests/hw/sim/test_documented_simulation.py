"""The code of ``docs/hw-sim.md`` runs as it stands there."""

import re
from pathlib import Path

PAGE = Path(__file__).resolve().parents[3] / "docs" / "hw-sim.md"


def test_the_code_of_the_page_runs() -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == 3
    names: dict[str, object] = {"__name__": "page"}
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), names)
    assert {"Squares", "design", "waves", "histogram"} <= set(names)
