"""What was found, as rows of text and as CSV. Tests: tests/vta/explore/test_table.py."""

import csv
import io
from collections.abc import Sequence

from vta.explore.study import Outcome, on_front

__all__ = ["COLUMNS", "csv_text", "problems_of", "rows_of"]

COLUMNS = ("cycles", "lut", "ff", "dsp", "bram", "mhz")
"""Numbers of an outcome; all but the clock are to be small."""


def rows_of(outcomes: Sequence[Outcome]) -> list[list[str]]:
    """Return a head and a row for each outcome: its name, a star if nothing beats it, the numbers, what is missing."""
    best = on_front(outcomes)
    head = ["configuration", "best", *COLUMNS, "from", "note"]
    rows = [head]
    for outcome in outcomes:
        numbers = [_text(outcome.number(name)) for name in COLUMNS]
        sources = [str(outcome.found[key]) for key in ("cycles_by", "area_by") if key in outcome.found]
        rows.append(
            [outcome.point.name, "*" if outcome in best else "", *numbers, ", ".join(sources), problems_of(outcome)]
        )
    return rows


def problems_of(outcome: Outcome) -> str:
    """Return why something of an outcome is not known, in one line."""
    return "; ".join(f"{name}: {problem}" for name, problem in outcome.problems.items())


def _text(number: float | None) -> str:
    if number is None:
        return ""
    return f"{number:,.0f}" if number == int(number) else f"{number:,.1f}"


def csv_text(outcomes: Sequence[Outcome]) -> str:
    """Return a table for programs: numbers without separators, the cycles of each layer, every problem."""
    layers = list(dict.fromkeys(name for outcome in outcomes for name in _layers(outcome)))
    names = [name for name, _ in outcomes[0].point.values] if outcomes else []
    best = on_front(outcomes)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    sources = ("cycles_by", "area_by")
    writer.writerow([*names, "best", *COLUMNS, *sources, *(f"cycles {name}" for name in layers), "note"])
    for outcome in outcomes:
        numbers = ["" if (number := outcome.number(name)) is None else f"{number:g}" if number % 1 else f"{number:.0f}"
                   for name in COLUMNS]  # fmt: skip
        found = _layers(outcome)
        writer.writerow(
            [
                *(value for _, value in outcome.point.values),
                int(outcome in best),
                *numbers,
                *(outcome.found.get(name, "") for name in sources),
                *(found.get(name, "") for name in layers),
                problems_of(outcome),
            ]
        )
    return text.getvalue()


def _layers(outcome: Outcome) -> dict[str, int]:
    layers = outcome.found.get("layers", {})
    assert isinstance(layers, dict)
    return layers
