"""Limits behind a requantisation become its own, and nothing else changes."""

import numpy as np

from runtime.executor.operators.names import Op
from tests.support.relay.patterns import PATTERNS, made
from vta.relay.integer import fold_limits, to_integers
from vta.relay.interpreter import run
from vta.relay.ir.traverse import calls
from vta.relay.onnx.importer import from_onnx


def test_a_relu_at_the_same_scale_costs_nothing() -> None:
    [pattern] = [p for p in PATTERNS if p.__name__ == "relu_after_its_own_quantisation"]
    model, x = made(pattern, 3)
    before = to_integers(from_onnx(model))
    after = fold_limits(before)
    counts = [sum(call.callee is Op.RESCALE for call in calls(f)) for f in (before, after)]
    assert counts == [2, 1]
    [one] = [call for call in calls(after) if call.callee is Op.RESCALE]
    assert [origin.operator for origin in one.origins] == ["QuantizeLinear", "Relu", "QuantizeLinear"]
    np.testing.assert_array_equal(run(before, [x]), run(after, [x]))


def test_every_pattern_keeps_its_meaning() -> None:
    for pattern in PATTERNS:
        model, x = made(pattern, 4)
        before = to_integers(from_onnx(model))
        np.testing.assert_array_equal(run(before, [x]), run(fold_limits(before), [x]), err_msg=pattern.__name__)
