"""Every operator against Amaranth's own simulator, on random expressions."""

import pytest

from tests.support.compiler.random_expressions import ExpressionBench
from tests.support.hw.amaranth_trace import assert_same_trace


@pytest.mark.parametrize("seed", range(12))
def test_random_expressions_have_the_values_that_amaranth_gives_them(seed: int) -> None:
    assert_same_trace(ExpressionBench(seed=seed, count=25), cycles=40, seed=seed)
