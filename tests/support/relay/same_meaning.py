"""A graph before and after a pass: the same results, the same type."""

import numpy as np

from tests.support.relay.random_floats import RandomGraph
from tests.support.relay.random_integers import RandomNetwork
from vta.relay.interpreter import Value, run
from vta.relay.ir.nodes import Function


def assert_same_meaning(given: RandomGraph | RandomNetwork, after: Function, *, exact: bool) -> None:
    """Assert that ``after`` gives what the graph gives: bit for bit, or nearly where a pass moves roundings."""
    before = given.function
    assert after.type == before.type
    inputs = dict(zip(before.params, given.inputs(), strict=True))
    assert set(after.params) <= set(inputs)
    expected, found = run(before, list(inputs.values())), run(after, [inputs[param] for param in after.params])
    assert_near(found, expected, exact=exact)


def assert_near(found: Value, expected: Value, *, exact: bool = False) -> None:
    """Assert that two values are equal, or nearly."""
    if isinstance(expected, tuple):
        assert isinstance(found, tuple)
        for one, other in zip(found, expected, strict=True):
            assert_near(one, other, exact=exact)
        return
    assert isinstance(found, np.ndarray)
    assert found.dtype == expected.dtype
    if exact:
        assert np.array_equal(found, expected)
    else:
        assert np.allclose(found, expected, rtol=1e-3, atol=1e-4)
