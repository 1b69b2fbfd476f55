"""The compiler's page names the passes as they are run."""

import re
from pathlib import Path

from vta.passes.pipelines import PIPELINE

PAGE = Path(__file__).resolve().parents[3] / "docs" / "compiler.md"


def test_the_table_has_the_passes_in_order_and_what_they_are_for() -> None:
    section = PAGE.read_text().split("## The passes, in order")[1].split("\n## ")[0]
    rows = re.findall(r"^\| `(\w+)` \| ([^|]+) \|", section, re.MULTILINE)
    assert rows == [(entry.name, entry.scope.value) for entry in PIPELINE]
