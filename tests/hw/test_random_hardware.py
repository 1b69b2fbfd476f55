"""Random pairs of configurations run random programs as the reference does; many more: ``bench/fuzz_hardware.py``."""

import pytest

from bench.fuzz_hardware import compare_pair


@pytest.mark.parametrize(
    "number", [pytest.param(n, marks=() if n == 12 else pytest.mark.long) for n in (1, 3, 5, 6, 12, 13)]
)
def test_a_random_pair_of_configurations_runs_programs_as_the_reference_does(number: int) -> None:
    assert compare_pair(1, number, 8)[1] is None
