"""A table that can be read on any screen: one that is wider is printed in parts, its first column in front of each.

Tests: tests/vta/cli/test_wide_table.py.
"""

from collections.abc import Iterator, Sequence

from rich.cells import cell_len
from rich.table import Table

__all__ = ["tables_of"]

_NAME = 24
"""Columns of the screen that the first column gets at least, if its names are so long."""


def tables_of(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], *, width: int) -> Iterator[Table]:
    """Yield one table where the columns fit a screen of ``width``, or several with the first column in each.

    A cell of the first column goes on in its next line where it is long, the others stand whole and to the right.
    """
    widths = [max(cell_len(text) for text in column) for column in zip(columns, *rows, strict=True)]
    for number, part in enumerate(_parts(widths, width)):
        table = Table(title=title if number == 0 else f"{title}, continued", title_justify="left")
        table.add_column(columns[0], overflow="fold")
        for place in part:
            table.add_column(columns[place], justify="right", no_wrap=True)
        for row in rows:
            table.add_row(row[0], *(row[place] for place in part))
        yield table


def _parts(widths: Sequence[int], width: int) -> list[list[int]]:
    """Return which columns beside the first stand together: as many as fit, at least one."""
    parts: list[list[int]] = []
    free = 0
    for place, needed in enumerate(widths[1:], start=1):
        if not parts or needed + 3 > free:
            parts.append([])
            free = width - min(widths[0], _NAME) - 4
        parts[-1].append(place)
        free -= needed + 3
    return parts
