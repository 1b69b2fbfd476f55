"""The page of reports lists what tests name; ``--update-golden`` writes it."""

import ast
import re
from pathlib import Path

import pytest

from docs.make_pages.reported import REASONS, SYMPTOMS
from docs.make_pages.reports_page import NUMBER, named_reports, reports_page
from tests.support.golden.golden_text import check_golden_text

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reports.md"


def test_every_report_that_a_test_names_has_its_symptom() -> None:
    assert sorted(set(named_reports()) - set(SYMPTOMS)) == [], "add a line to docs/make_pages/reported.py"


def test_every_report_has_a_test_or_a_reason_why_not() -> None:
    assert sorted(set(SYMPTOMS) - set(named_reports()) - set(REASONS)) == [], "name it in a test, or say why not"


@pytest.mark.parametrize(("number", "files"), named_reports().items(), ids=lambda each: str(each)[:20])
def test_what_names_a_report_is_a_test(number: int, files: list[str]) -> None:
    """A test's name, or the text of its file, names the report; benches of cocotb are run by tests of their own."""
    holders: list[str] = []
    for file in files:
        if Path(file).name.startswith("test_"):
            text = (PAGE.parents[1] / file).read_text(encoding="utf-8")
            holders += [ast.get_docstring(ast.parse(text)) or "", *_tests(text)]
    assert any(f"{number:03d}" in NUMBER.findall(each) for each in holders)


def _tests(text: str) -> list[str]:
    """Return the source of every test of a file, with its decorators."""
    lines = text.splitlines()
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            first = min([node.lineno, *(each.lineno for each in node.decorator_list)]) - 1
            found.append("\n".join(lines[first : node.end_lineno]))
    return found


def test_every_report_is_on_the_page_once() -> None:
    rows = re.findall(r"^\| BR-(\d{3}) \|", reports_page(), re.MULTILINE)
    assert sorted(map(int, rows)) == sorted(SYMPTOMS)


def test_the_page_of_reports_is_up_to_date(update_golden: bool) -> None:
    check_golden_text(reports_page(), PAGE, update=update_golden)


@pytest.mark.parametrize(
    ("text", "numbers"),
    [("def test_{}_999_and_{}_998():", ["999", "998"]), ("{}-997, seen", ["997"]), ("{}-1234, a{}_996", [])],
)
def test_numbers_are_found_in_names_and_in_texts(text: str, numbers: list[str]) -> None:
    for letters in ("br", "BR"):  # apart from the numbers, so that this file names no report
        assert NUMBER.findall(text.format(letters, letters)) == numbers
