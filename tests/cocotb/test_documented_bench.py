"""The bench that ``docs/hardware-tests.md`` shows works as it stands there."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "hardware-tests.md"


def block(first_line: str) -> str:
    """Return the code block that begins with ``first_line``."""
    text = PAGE.read_text(encoding="utf-8")
    found = re.search(rf"```python\n{re.escape(first_line)}\n(.*?)```", text, re.S)
    assert found is not None, first_line
    return found.group(1)


def test_the_example_of_the_page_passes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bench_mine.py").write_text(block("# tests/cocotb/bench_mine.py"), encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    source = block("# tests/cocotb/test_mine.py").replace("tests.cocotb.bench_mine", "bench_mine")
    namespace: dict[str, Callable[[Path], None]] = {}
    exec(source, namespace)
    namespace["test_mine"](tmp_path / "run")


def test_a_wrong_expectation_fails_with_the_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = block("# tests/cocotb/bench_mine.py").replace('bench.get("available") == 1', 'bench.get("available") == 0')
    (tmp_path / "bench_wrong.py").write_text(wrong, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    source = block("# tests/cocotb/test_mine.py").replace("tests.cocotb.bench_mine", "bench_wrong")
    namespace: dict[str, Callable[[Path], None]] = {}
    exec(source, namespace)
    with pytest.raises(
        pytest.fail.Exception, match=r"bench_wrong failed on token_queue in icarus(.|\n)*a_push_is_seen"
    ):
        namespace["test_mine"](tmp_path / "run")
