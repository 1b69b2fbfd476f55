"""The exponential function of float32: how close it is, where it ends, the same at any level and in any loop."""

import numpy as np
import pytest

from isa.config import VTAConfig
from tests.support.runtime.host_call import run_on
from vta import te
from vta.build_module import lower_generic
from vta.codegen.host import emit_host

SIZE = 4096 + 5


def exponentials(values: np.ndarray, *, lanes: int, level: int = 2) -> np.ndarray:
    """Return what compiled code computes, in vectors of ``lanes``."""
    x = te.placeholder(values.shape, "float32", "x")
    y = te.compute(values.shape, lambda i: te.exp(x[i]), "y")
    s = te.create_schedule(y.op)
    if lanes > 1:
        s[y].vectorize(s[y].split(y.op.axis[0], lanes)[1])
    [func] = lower_generic(s, [x, y]).functions.values()
    result = np.zeros(values.shape, np.float32)
    assert run_on(emit_host([func], VTAConfig()), func.name, [values, result], level=level) is None
    return result


@pytest.mark.parametrize(("low", "high"), [(-104, -87), (-87, 0), (-1, 1), (-1e-6, 1e-6), (0, 88.7)])
def test_it_is_within_a_unit_and_a_half_in_the_last_place(low: float, high: float) -> None:
    values = np.random.default_rng(1).uniform(low, high, SIZE).astype(np.float32)
    exact = np.exp(values.astype(np.float64))
    unit = np.spacing(exact.astype(np.float32)).astype(np.float64)
    assert np.all(np.abs(exponentials(values, lanes=16) - exact) <= 1.5 * unit)


def test_it_ends_where_floats_do() -> None:
    values = np.array([np.nan, np.inf, -np.inf, 0, -0.0, 88.72, 88.73, -103.9, -104, -200, 3e38, -3e38], np.float32)
    for lanes in (1, 4):
        found = exponentials(values, lanes=lanes)
        assert np.isnan(found[0])
        assert found[[1, 6, 10]].tolist() == [np.inf] * 3
        assert found[[2, 8, 9, 11]].tolist() == [0.0] * 4
        assert found[3:5].tolist() == [1.0, 1.0]
        assert 3.3e38 < found[5] < np.inf
        assert found[7] == np.float32(1e-45)


def test_every_loop_has_the_same_numbers() -> None:
    values = np.random.default_rng(2).uniform(-105, 89, SIZE).astype(np.float32)
    expected = exponentials(values, lanes=16)
    for lanes, level in ((1, 0), (1, 3), (8, 1), (16, 0), (16, 3)):
        np.testing.assert_array_equal(exponentials(values, lanes=lanes, level=level), expected)
