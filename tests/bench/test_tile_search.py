"""The bench of the search for tiles: what it prints, writes and decides."""

import sys
from pathlib import Path

import pytest

from bench import tile_search
from vta.topi import Conv2d


def test_what_was_found_is_written_and_the_limit_decides(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(tile_search, "LAYERS", {"small": Conv2d(1, 16, 4, 4, 16, (1, 1))})
    found = tmp_path / "found.txt"
    for limit, status in (("1e6", 0), ("0", 1)):
        monkeypatch.setattr(sys, "argv", ["tile_search", "--repeat", "1", "--found", str(found), "--limit", limit])
        assert tile_search.main() == status
    assert found.read_text(encoding="utf-8").startswith("default 64/16 small ")
    assert "median" in capsys.readouterr().out
