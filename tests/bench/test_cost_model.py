"""The bench of the cost model: ranks, what is drawn, and a small run on the hardware."""

import itertools
import sys
from pathlib import Path

import numpy as np
import pytest

from bench import cost_model
from bench.cost_model import Log, Point, points, rank_correlation, report
from vta.topi import Dense


def test_ranks_agree_disagree_and_are_shared() -> None:
    assert rank_correlation([1, 2, 3, 9], [10, 20, 30, 31]) == pytest.approx(1)
    assert rank_correlation([1, 2, 3], [3, 2, 1]) == pytest.approx(-1)
    assert rank_correlation([1, 1, 2], [5, 5, 6]) == pytest.approx(1)
    assert rank_correlation([1, 1], [2, 2]) == 1
    assert rank_correlation([1, 1], [2, 3]) == 0


def test_the_error_is_relative_to_the_hardware() -> None:
    point = Point(0, Dense(1, 16, 16), "64/1", None, 90, 101, 100)
    assert point.error("search") == pytest.approx(-0.1)
    assert point.error("program") == pytest.approx(0.01)


def test_nine_of_ten_decide(capsys: pytest.CaptureFixture[str]) -> None:
    found = [Point(n, Dense(1, 16, 16), "64/1", None, 150, 100, 100) for n in range(19)]
    off = Point(19, Dense(1, 16, 16), "64/1", None, 100, 200, 100)
    assert report([*found, off], 0.1)
    assert not report([off], 0.1)
    assert "+100.0%: 100 cycles on 64/1" in capsys.readouterr().out


def test_schedules_are_compared_with_the_hardware_and_are_the_same_for_a_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cost_model, "random_layer", lambda rng: Dense(16, 16 * int(rng.integers(8, 12)), 128))
    found = list(points(3, 2, 5, ["64/1"]))
    assert [point.of for point in found] == [0, 0, 1]
    assert all(abs(point.error("search")) < 0.15 for point in found)
    assert all(abs(point.error("program")) < 0.06 for point in found)
    monkeypatch.setattr(cost_model, "measured", lambda *_: 100)
    assert [(p.operator, p.tiles) for p in points(3, 2, 5, ["64/1"])] == [(p.operator, p.tiles) for p in found]


def test_a_log_is_gone_on_with_and_a_torn_line_is_dropped(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(cost_model, "random_layer", lambda _: Dense(16, 128, 128))
    runs = itertools.count(100)
    monkeypatch.setattr(cost_model, "measured", lambda *_: next(runs))
    path = tmp_path / "cycles.jsonl"
    assert [point.measured for point in points(2, 2, 5, ["64/1"], Log(path))] == [100, 101]
    path.write_text(path.read_text(encoding="utf-8")[:-2], encoding="utf-8")
    assert [point.measured for point in points(3, 3, 5, ["64/1"], Log(path))] == [100, 102, 103]
    assert [point.measured for point in points(3, 3, 5, ["64/1"], Log(path))] == [100, 102, 103]


def test_operators_of_all_kinds_are_drawn() -> None:
    drawn = {type(cost_model.random_layer(np.random.default_rng(n))).__name__ for n in range(40)}
    assert drawn == {"Conv2d", "Dense", "BatchMatmul"}


def test_hardware_that_cannot_be_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["cost_model", "--hardware", "96/1"])
    with pytest.raises(SystemExit):
        cost_model.main()
    assert "expected BITS/LATENCY such as 64/16, with bits of 64, 128, 256, 512, got '96/1'" in capsys.readouterr().err
