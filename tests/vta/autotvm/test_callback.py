"""Callbacks: the log has each record once, progress says the best so far."""

from pathlib import Path

import pytest

from tests.support.tuning.modelled import modelled
from vta.autotvm.callback import log_to_file, progress_bar
from vta.autotvm.record import load_from_file
from vta.autotvm.task import extract_from_operators
from vta.autotvm.tuner import GridSearchTuner
from vta.topi import Dense

[TASK] = extract_from_operators([Dense(4, 32, 32)])


def test_a_record_is_written_once_and_when_it_was_measured_only_if_asked(tmp_path: Path) -> None:
    _, option = modelled()
    for times in (False, True):
        log = tmp_path / str(times)
        for _ in range(2):
            GridSearchTuner(TASK).tune(3, option, callbacks=[log_to_file(log, times=times)])
        results = [result for _, result in load_from_file(log)]
        assert len(results) == 3
        assert all((result.timestamp > 0) == (result.all_cost > 0) == times for result in results)


def test_progress_says_how_many_and_the_best(capsys: pytest.CaptureFixture[str]) -> None:
    first = next(TASK.config_space.valid_indices())
    _, option = modelled(failing=frozenset({first}))
    GridSearchTuner(TASK).tune(2, option, callbacks=[progress_bar(2, prefix="[1/1] ")])
    lines = capsys.readouterr().err.split("\r")
    assert lines[1] == "[1/1] 1/2: error 2, best none yet\033[K"
    assert lines[2].startswith("[1/1] 2/2: ")
    assert " GOPS), best " in lines[2]
    assert lines[2].endswith(" GOPS)\033[K\n")
