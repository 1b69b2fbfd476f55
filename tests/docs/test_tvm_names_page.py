"""The page of TVM's names says what ``import tvm`` gives."""

from pathlib import Path

import pytest

from docs.make_pages.tvm_names_page import NAMES, NOTES, is_here, tvm_names_page

PAGE = Path(__file__).resolve().parents[2] / "docs" / "tvm-names.md"


def test_the_page_is_what_the_command_makes() -> None:
    assert PAGE.read_text(encoding="utf-8") == tvm_names_page(), "python -m docs.make_pages"


def test_every_note_is_about_a_name_of_the_page() -> None:
    paths = {f"{module}.{name}" for module, names in NAMES.items() for name in names.split()}
    assert sorted(set(NOTES) - paths) == []


@pytest.mark.parametrize(
    ("path", "here"),
    [
        ("tvm.lower", True), ("tvm.tir.Schedule.split", True), ("tvm.te.schedule.ScheduleOps", True),
        ("tvm.tir.While", True), ("tvm.script.tir", True), ("tvm.nothing.at.all", False),
    ],
)  # fmt: skip
def test_names_are_looked_up(path: str, here: bool) -> None:
    assert is_here(path) is here
