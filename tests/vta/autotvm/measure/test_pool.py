"""Processes that measure: the same results as here, and one that dies or is late costs its candidate alone."""

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from vta.autotvm.measure.inputs import MeasureErrorNo
from vta.autotvm.measure.local import LocalRunner
from vta.autotvm.measure.pool import Pool, Request, measure_here
from vta.autotvm.task import extract_from_operators
from vta.topi import Dense

[TASK] = extract_from_operators([Dense(4, 32, 32)])
CHOICES = [TASK.config_space.get(index) for index in list(TASK.config_space.valid_indices())[:5]]
REQUESTS = [Request.of(TASK, config, LocalRunner(clock_mhz=200)) for config in CHOICES]


class Deadly:
    """Ends the process that reads it."""

    def __reduce__(self) -> tuple[object, tuple[int]]:
        return os._exit, (7,)


@pytest.fixture
def pool() -> Iterator[Pool]:
    made = Pool(2, build_seconds=120, run_seconds=120)
    yield made
    made.close()


def test_results_are_those_of_this_process_and_a_death_costs_one_candidate(pool: Pool) -> None:
    asked = [*REQUESTS[:2], replace(REQUESTS[0], config=Deadly()), *REQUESTS[2:]]  # type: ignore[arg-type]  # no choice
    with ThreadPoolExecutor(2) as threads:
        found = list(threads.map(pool.measure, asked))
    died = found.pop(2)
    assert [result.costs for result in found] == [measure_here(request).costs for request in REQUESTS]
    assert died.error_no is MeasureErrorNo.UNKNOWN_ERROR
    assert died.error == "the process that was to build it ended with exit code 7"
    assert pool.measure(REQUESTS[0]).costs == found[0].costs


@pytest.mark.parametrize(
    ("build", "run", "kind", "text"),
    [
        (0.01, 60, MeasureErrorNo.BUILD_TIMEOUT, "it took longer than 0.01 s to build"),
        (60, 1e-6, MeasureErrorNo.RUN_TIMEOUT, "it took longer than 1e-06 s to run"),
    ],
)
def test_what_takes_too_long_is_an_error_of_its_kind(build: float, run: float, kind: MeasureErrorNo, text: str) -> None:
    pool = Pool(1, build_seconds=build, run_seconds=run)
    result = pool.measure(REQUESTS[0])
    pool.close()
    assert (result.error_no, result.error, result.costs) == (kind, text, ())


def test_an_error_of_the_build_is_what_it_is_here(pool: Pool) -> None:
    invalid = next(i for i in range(len(TASK.config_space)) if not TASK.config_space.is_index_valid(i))
    asked = replace(REQUESTS[0], config=TASK.config_space.get(invalid))
    found, here = pool.measure(asked), measure_here(asked)
    assert (found.error_no, found.error) == (here.error_no, here.error)
    assert here.error_no is MeasureErrorNo.INSTANTIATION_ERROR


def test_a_pool_that_was_closed_starts_nothing_that_stays() -> None:
    pool = Pool(1, build_seconds=60, run_seconds=60)
    pool.close()
    assert pool.measure(REQUESTS[0]).error_no is MeasureErrorNo.UNKNOWN_ERROR
