"""Elements are computed as numpy does, NaN and both zeros included, and only where the numbers are the same."""

import numpy as np
import pytest

from runtime.executor.operators.attributes import NO_ATTRS
from runtime.executor.operators.names import Op
from runtime.executor.operators.table import operator
from runtime.executor.operators.types import ElementType
from tests.support.relay.random_host_steps import chain
from vta.relay.host.elements import ELEMENTS, element_of
from vta.relay.host.functions import functions
from vta.relay.host.groups import groups

FLOAT, HALF, WHOLE = ElementType.FLOAT32, ElementType.FLOAT16, ElementType.INT32


def test_what_numpy_approximates_is_left_to_it() -> None:
    assert not {Op.EXP, Op.TANH, Op.SIGMOID, Op.LOG, Op.POWER, Op.SOFTMAX, Op.DENSE} & ELEMENTS.keys()
    assert element_of(Op.ADD, [FLOAT, FLOAT]) is ELEMENTS[Op.ADD]
    assert element_of(Op.ADD, [WHOLE, WHOLE]) is ELEMENTS[Op.ADD]
    assert element_of(Op.DIVIDE, [WHOLE, WHOLE]) is None
    assert element_of(Op.ADD, [ElementType.BOOL, ElementType.BOOL]) is None
    assert element_of(Op.CAST, [HALF]) is None
    assert element_of(Op.EXP, [FLOAT]) is None


@pytest.mark.parametrize("name", ["nn.relu", "sign", "abs", "negative", "round", "floor", "ceil", "sqrt"])
def test_signs_of_zeros_and_numbers_that_are_none(name: str) -> None:
    [made] = functions(groups(chain((1, 8), name), pays=0), "", cache=False)
    x = np.array([[0.0, -0.0, np.nan, np.inf, -np.inf, 2.5, -0.5, 1e-45]], np.float32)
    wanted = np.asarray(operator(Op(name)).evaluate([x], NO_ATTRS))
    found = made.run([x])
    np.testing.assert_array_equal(found, wanted)
    if name != "nn.relu":  # which of two zeros is the larger one depends on the processor
        np.testing.assert_array_equal(np.signbit(found)[~np.isnan(wanted)], np.signbit(wanted)[~np.isnan(wanted)])


@pytest.mark.parametrize("limits", [("-inf", "inf"), ("inf", "inf"), ("-inf", "-inf"), (-0.5, 1e300)])
def test_limits_without_end_are_limits(limits: tuple[float, float]) -> None:
    network = chain((1, 4), "clip", attributes={"a_min": limits[0], "a_max": limits[1]})
    x = np.array([[np.nan, -2, 0.25, np.inf]], np.float32)
    [made] = functions(groups(network, pays=0), "", cache=False)
    with np.errstate(over="ignore"):
        wanted = np.clip(x, np.float32(limits[0]), np.float32(limits[1]))
    np.testing.assert_array_equal(made.run([x]), wanted)
