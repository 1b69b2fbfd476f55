"""The bench of tuning: which records of a log are shipped."""

from pathlib import Path

import pytest

from bench import tuning
from vta import autotvm
from vta.autotvm import MeasureResult
from vta.autotvm.record import encode, load_from_file
from vta.topi import Dense


def test_what_is_faster_than_the_first_record_of_a_layer_is_shipped_and_nothing_else(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    log, shipped = tmp_path / "log", tmp_path / "shipped.log"
    shipped.write_text("of another day\n", encoding="utf-8")
    monkeypatch.setattr(tuning, "SHIPPED", shipped)
    lines = []
    for operator, costs in ((Dense(4, 32, 32), (3.0, 1.0, 2.0)), (Dense(4, 32, 64), (1.0, 2.0))):
        [task] = autotvm.task.extract_from_operators([operator])
        for cost, index in zip(costs, task.config_space.valid_indices(), strict=False):
            lines.append(encode(task.input(task.config_space.get(index)), MeasureResult((cost,))))
    log.write_text("\n".join(lines) + "\n", encoding="utf-8")
    tuning.write(log)
    [(given, result)] = load_from_file(shipped)
    assert result.cost == 1.0
    assert encode(given, result) == lines[1]


def test_what_is_shipped_is_measured_again_beside_the_choice_of_the_library(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    log, shipped = tmp_path / "log", tmp_path / "shipped.log"
    monkeypatch.setattr(tuning, "SHIPPED", shipped)
    [task] = autotvm.task.extract_from_operators([Dense(4, 32, 32)])
    chosen = task.config_space.get(next(task.config_space.valid_indices()))
    shipped.write_text(encode(task.input(chosen), MeasureResult((1.0,))) + "\n", encoding="utf-8")
    tuning.measure_again(log)
    (_, own), (given, result) = load_from_file(log)
    assert given.config.index == chosen.index
    assert 0 < result.cost < 1e-4  # measured, and not the second that the record says
    assert 0 < own.cost <= result.cost
