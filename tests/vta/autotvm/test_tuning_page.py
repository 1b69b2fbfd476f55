"""docs/tuning.md: its examples run, one after the other."""

import re
from pathlib import Path

import pytest

from vta.autotvm.record import load_from_file

PAGE = Path(__file__).resolve().parents[3] / "docs" / "tuning.md"


def test_the_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    code = "\n".join(re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL))
    names: dict[str, object] = {}
    exec(compile(code, str(PAGE), "exec"), names)  # the page's own code
    records = list(load_from_file("records.log"))
    assert [result.error_no for _, result in records] == [0, 0, 0]
    assert names["tiles"] is not None
