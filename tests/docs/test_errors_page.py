"""The page of errors lists the classes as they are; ``--update-golden`` writes it."""

from pathlib import Path

from docs.make_pages.errors_page import error_classes, errors_page
from tests.support.golden.golden_text import check_golden_text

PAGE = Path(__file__).resolve().parents[2] / "docs" / "errors.md"


def test_the_page_of_errors_is_up_to_date(update_golden: bool) -> None:
    check_golden_text(errors_page(), PAGE, update=update_golden)


def test_every_error_says_when_it_is_raised() -> None:
    silent = [error.__qualname__ for error in error_classes() if len(vars(error).get("__doc__") or "") < 10]
    assert silent == []
