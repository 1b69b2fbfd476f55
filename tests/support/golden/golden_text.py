"""Comparing text with a golden file next to the test; ``pytest --update-golden`` writes the files."""

import difflib
from pathlib import Path

import pytest

__all__ = ["check_golden_text"]


def check_golden_text(text: str, path: Path, *, update: bool) -> None:
    """Compare ``text`` with the file at ``path``, showing a diff; with ``update``, write the file instead.

    ``update`` is the fixture ``update_golden``. A missing file is an error that says how to make it.
    """
    if update:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return
    if not path.exists():
        pytest.fail(f"no golden file {path.name}; look at the text and write it with pytest --update-golden:\n{text}")
    expected = path.read_text(encoding="utf-8")
    if text != expected:
        diff = difflib.unified_diff(expected.splitlines(), text.splitlines(), path.name, "now", lineterm="")
        pytest.fail("\n".join(diff))
