"""exp, log and tanh of float32: how close they are, where they end, the same at any level and in any loop."""

from collections.abc import Callable

import numpy as np
import pytest

from isa.config import VTAConfig
from tests.support.runtime.host_call import run_on
from vta import te
from vta.build_module import lower_generic
from vta.codegen.host import emit_host
from vta.processor import processor_of
from vta.tir.expr import Expr

SIZE = 4096 + 5

FUNCTIONS: dict[str, Callable[[Expr], Expr]] = {"exp": te.exp, "log": te.log, "tanh": te.tanh}


def computed(name: str, values: np.ndarray, *, lanes: int = 16, level: int = 2, contracts: bool = False) -> np.ndarray:
    """Return what compiled code computes, in vectors of ``lanes``."""
    x = te.placeholder(values.shape, "float32", "x")
    y = te.compute(values.shape, lambda i: FUNCTIONS[name](x[i]), "y")
    s = te.create_schedule(y.op)
    if lanes > 1:
        s[y].vectorize(s[y].split(y.op.axis[0], lanes)[1])
    [func] = lower_generic(s, [x, y]).functions.values()
    result = np.zeros(values.shape, np.float32)
    program = emit_host([func], VTAConfig(), contracts=contracts)
    assert run_on(program, func.name, [values, result], level=level) is None
    return result


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [
        ("exp", -104, -87), ("exp", -87, 0), ("exp", -1, 1), ("exp", -1e-6, 1e-6), ("exp", 0, 88.7),
        ("log", 1e-45, 1e-38), ("log", 0, 1), ("log", 0.9, 1.1), ("log", 1, 3e38), ("tanh", -1e-20, 1e-20),
        ("tanh", -0.7, 0.7), ("tanh", -12, 12),
    ],
)  # fmt: skip
@pytest.mark.parametrize("contracts", [False, True])
def test_numbers_are_within_a_unit_and_a_half_in_the_last_place(
    name: str, low: float, high: float, contracts: bool
) -> None:
    values = np.random.default_rng(1).uniform(low, high, SIZE).astype(np.float32)
    exact = getattr(np, name)(values.astype(np.float64))
    unit = np.spacing(np.abs(exact.astype(np.float32))).astype(np.float64)
    found = computed(name, values, contracts=contracts and processor_of().fuses)
    assert np.all(np.abs(found - exact) <= 1.5 * unit)


SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0, -1e-45, 1e-45, -3e38, 3e38]


@pytest.mark.parametrize("lanes", [1, 4])
def test_they_end_where_floats_do(lanes: int) -> None:
    values, nan, inf = np.array(SPECIAL, np.float32), np.nan, np.inf
    expected = {
        "exp": [nan, inf, 0, 1, 1, 1, 1, 0, inf],
        "log": [nan, inf, nan, -inf, -inf, nan, np.float32(-103.27893), nan, np.log(np.float32(3e38))],
        "tanh": [nan, 1, -1, 0, -0.0, np.float32(-1e-45), np.float32(1e-45), -1, 1],
    }
    for name, wanted in expected.items():
        found = computed(name, values, lanes=lanes)
        np.testing.assert_array_equal(found, np.array(wanted, np.float32), err_msg=name)
    assert np.signbit(found).tolist()[3:5] == [False, True]
    ends = computed("exp", np.array([88.72, 88.73, -103.9, -104, -200], np.float32), lanes=lanes)
    assert 3.3e38 < ends[0] < inf
    assert ends[1:].tolist() == [inf, np.float32(1e-45), 0, 0]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_loop_has_the_same_numbers(name: str) -> None:
    values = np.random.default_rng(2).uniform(-105, 89, SIZE).astype(np.float32)
    expected = computed(name, values)
    for lanes, level in ((1, 0), (1, 3), (8, 1), (16, 0), (16, 3)):
        np.testing.assert_array_equal(computed(name, values, lanes=lanes, level=level), expected)
