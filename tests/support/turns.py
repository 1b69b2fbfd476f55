"""Parameters of which `make test` takes some, and the long run all."""

from collections.abc import Iterable
from typing import Any

import pytest

__all__ = ["few", "in_turn"]


def few(cases: Iterable[object], every: int = 2) -> list[Any]:
    """Return a parameter for each case, all marked long but the first and every ``every``th after it."""
    return [pytest.param(case, marks=pytest.mark.long if place % every else ()) for place, case in enumerate(cases)]


def in_turn(rows: Iterable[object], columns: Iterable[object], quick: int = 2) -> list[Any]:
    """Return a parameter for each row and column; each row has ``quick`` that are not marked long, columns in turn."""
    names = list(columns)
    return [
        pytest.param(row, column, marks=() if (place - number) % len(names) < quick else pytest.mark.long)
        for number, row in enumerate(rows)
        for place, column in enumerate(names)
    ]
