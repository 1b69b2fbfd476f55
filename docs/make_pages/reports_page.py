"""The page of the documentation about users' reports: the symptom of each, and the tests that name it.

Tests: tests/docs/test_reports_page.py.
"""

import re
from collections.abc import Mapping
from pathlib import Path

from docs.make_pages.reported import REASONS, SYMPTOMS

__all__ = ["named_reports", "reports_page"]

ROOT = Path(__file__).resolve().parents[2]
NUMBER = re.compile(r"(?<![a-z])br[-_](\d{3})(?!\d)", re.IGNORECASE)

_INTRODUCTION = """\
# Reports

What users of VTA, and of toolchains like it, reported in public, and which tests hold the right answer. Generated from
the numbers that tests name and `docs/make_pages/reported.py` (`python -m docs.make_pages`).

| report | symptom | tests |
|---|---|---|
"""

_OTHERS = """\

## Without a test that names them

| report | symptom | why |
|---|---|---|
"""


def named_reports() -> Mapping[int, list[str]]:
    """Return number -> the files of tests that name it, both in order."""
    found: dict[int, set[str]] = {}
    for path in (ROOT / "tests").rglob("*.py"):
        for number in NUMBER.findall(path.read_text(encoding="utf-8")):
            found.setdefault(int(number), set()).add(path.relative_to(ROOT).as_posix())
    return {number: sorted(found[number]) for number in sorted(found)}


def reports_page() -> str:
    """Return the page, in Markdown."""
    named = named_reports()
    answered = [
        f"| BR-{number:03d} | {SYMPTOMS[number]} | {', '.join(f'`{file}`' for file in files)} |\n"
        for number, files in named.items()
    ]
    others = [
        f"| BR-{number:03d} | {symptom} | {REASONS[number]} |\n"
        for number, symptom in SYMPTOMS.items()
        if number not in named
    ]
    return "".join([_INTRODUCTION, *answered, _OTHERS if others else "", *others])
