"""The page about ``--json`` says what the schemas say; ``--update-golden`` writes it."""

import re
from pathlib import Path

from docs.make_pages.json_page import COMMANDS, json_page
from tests.support.golden.golden_text import check_golden_text
from vta.cli.as_json import SCHEMAS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "json.md"


def test_the_page_is_up_to_date(update_golden: bool) -> None:
    check_golden_text(json_page(), PAGE, update=update_golden)


def test_every_part_is_a_schema_and_belongs_to_a_command() -> None:
    reached, todo = set(), list(COMMANDS)
    while todo:
        name = todo.pop()
        reached.add(name)
        kinds = {re.sub(r"[][{}?]", "", kind) for kind, _ in SCHEMAS[name].values()}
        todo += kinds - {"text", "number", "truth", "any"} - reached
    assert reached == set(SCHEMAS)
