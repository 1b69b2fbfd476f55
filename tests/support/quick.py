"""Which tests are quick: the house rules, and the folders of the units that reach neither LLVM nor Amaranth.

Which those are follows from the table of docs/architecture.md. ``make quick`` runs what this prints.
Tests: tests/test_contributing.py.
"""

from collections.abc import Mapping
from pathlib import Path

from tests.test_layering import FOR_ALL, UNITS, Unit

__all__ = ["light_units", "quick_paths"]

TESTS = Path(__file__).resolve().parents[1]


def light_units(units: Mapping[str, Unit]) -> set[str]:
    """Return the units that import, through any number of others, nothing but numpy."""
    light = {name for name, unit in units.items() if unit.distributions <= {"numpy"}}
    while heavier := {name for name in light if not units[name].units <= light}:
        light -= heavier
    return light


def quick_paths() -> list[Path]:
    """Return what to give to pytest."""
    folders = [TESTS.joinpath(*unit.split(".")) for unit in sorted(light_units(UNITS) - {FOR_ALL})]
    return [*sorted(TESTS.glob("test_*.py")), *(folder for folder in folders if folder.is_dir())]


if __name__ == "__main__":
    print(*(path.relative_to(TESTS.parent) for path in quick_paths()))
