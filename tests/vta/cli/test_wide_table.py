"""Tables on screens of any width."""

import pytest
from rich.console import Console
from rich.table import Table

from vta.cli.wide_table import tables_of

COLUMNS = ("node", "where", "MACs", "cycles")
ROWS = [["stem", "accelerator", "112,896", "6,285"], ["z" * 30, "host", "", ""]]


def lines_of(tables: list[Table], width: int) -> list[str]:
    console = Console(width=width, color_system=None)
    with console.capture() as captured:
        for table in tables:
            console.print(table)
    return captured.get().splitlines()


def test_what_fits_is_one_table() -> None:
    [table] = tables_of("nodes", COLUMNS, ROWS, width=80)
    assert [column.header for column in table.columns] == list(COLUMNS)


def test_what_does_not_fit_is_continued_with_the_names_in_front() -> None:
    first, second = tables_of("nodes", COLUMNS, ROWS, width=60)
    assert [column.header for column in first.columns] == ["node", "where", "MACs"]
    assert [column.header for column in second.columns] == ["node", "cycles"]
    assert (first.title, second.title) == ("nodes", "nodes, continued")


@pytest.mark.parametrize("width", [44, 45, 50, 51, 52, 60, 61, 62, 80, 120])
def test_no_text_is_cut_and_no_line_is_too_long(width: int) -> None:
    lines = lines_of(list(tables_of("nodes", COLUMNS, ROWS, width=width)), width)
    assert max(map(len, lines)) <= width
    text = "\n".join(lines)
    assert "…" not in text
    assert all(cell in text for row in ROWS for cell in row if len(cell) < 24)
    assert text.count("z") == 30 * text.count("│ stem")


def test_a_column_that_is_wider_than_the_screen_still_has_a_table_of_its_own() -> None:
    found = list(tables_of("nodes", ("node", "x", "y"), [["a", "b" * 90, "c"]], width=80))
    assert [[column.header for column in table.columns] for table in found] == [["node", "x"], ["node", "y"]]


def test_a_table_without_rows_has_its_headings() -> None:
    [table] = tables_of("nodes", COLUMNS, [], width=80)
    assert table.row_count == 0
