"""The compiler's page names the passes as they are run."""

import re
from pathlib import Path

from vta.passes.pipelines import PIPELINE

PAGE = Path(__file__).resolve().parents[3] / "docs" / "compiler.md"


def test_the_table_has_the_passes_in_order() -> None:
    section = PAGE.read_text().split("## The passes, in order")[1].split("\n## ")[0]
    assert re.findall(r"^\| `(\w+)`", section, re.MULTILINE) == [entry.name for entry in PIPELINE]
