"""Records that are shipped: each is for a task that there is, and no slower than the library's own choice."""

from pathlib import Path

import pytest

import vta
from vta.autotvm import LocalBuilder, LocalRunner, MeasureInput, MeasureResult
from vta.autotvm.library import index_of_tiles, tiles_of
from vta.autotvm.record import encode, load_from_file
from vta.autotvm.task import create
from vta.autotvm.tophub import SHIPPED, context
from vta.topi import Dense

RECORDS = list(load_from_file(SHIPPED))


def named(record: tuple[MeasureInput, MeasureResult]) -> str:
    name, *arguments = record[0].workload
    return f"{name} {arguments[:2]}"


@pytest.mark.parametrize("record", RECORDS, ids=named)
def test_a_record_is_a_choice_that_there_is_and_is_applied(record: tuple[MeasureInput, MeasureResult]) -> None:
    given, result = record
    name, *arguments = given.workload
    task = create(str(name), arguments)
    index = task.config_space.index_of(given.config)
    operator = task.operator
    assert (index, result.error_no) == (given.config.index, 0)
    assert task.config_space.is_index_valid(index)
    assert operator is not None
    with context(task.target):
        tiles = operator.schedule(task.env).tiles
    assert tiles == tiles_of(operator, given.config, task.env)


def test_the_shortest_record_takes_the_cycles_that_it_says() -> None:
    given, result = min(RECORDS, key=lambda record: record[1].cost)
    name, *arguments = given.workload
    option = vta.autotvm.measure_option(LocalBuilder(), LocalRunner())
    assert option.measure(create(str(name), arguments), given.config).costs == result.costs


@pytest.mark.long
@pytest.mark.parametrize("record", RECORDS, ids=named)
def test_a_record_is_as_fast_as_it_says_and_not_slower_than_without(
    record: tuple[MeasureInput, MeasureResult],
) -> None:
    given, result = record
    name, *arguments = given.workload
    task, option = create(str(name), arguments), vta.autotvm.measure_option(LocalBuilder(), LocalRunner())
    assert task.operator is not None
    assert option.measure(task, given.config).costs == result.costs
    own = index_of_tiles(task.config_space, task.operator.schedule(task.env).tiles)
    assert own is not None
    assert option.measure(task, task.config_space.get(own)).cost >= result.cost


def test_files_of_ones_own_go_before_what_is_shipped(tmp_path: Path) -> None:
    [task] = vta.autotvm.task.extract_from_operators([Dense(4, 32, 32)])
    chosen = task.config_space.get(next(task.config_space.valid_indices()))
    log = tmp_path / "log"
    log.write_text(encode(task.input(chosen), MeasureResult((1.0,))) + "\n")
    with context(extra_files=[log]):
        assert Dense(4, 32, 32).schedule(task.env).tiles == tiles_of(Dense(4, 32, 32), chosen, task.env)


def test_what_is_shipped_is_small() -> None:
    assert SHIPPED.stat().st_size < 40_000
