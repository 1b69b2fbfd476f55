"""Zero points in front of layers become part of biases, and every number stays what it was."""

from dataclasses import replace
from typing import TypeGuard

import numpy as np
import pytest

from runtime.executor.operators.names import Op
from runtime.executor.operators.qnn.products import QnnConv2dAttrs, QnnDenseAttrs
from runtime.executor.operators.qnn.saturating import RescaleAttrs
from runtime.executor.operators.types import TensorType
from tests.support.relay.onnx_models import model_of
from tests.support.relay.patterns import PATTERNS, made
from tests.support.relay.quantised_models import Quantised
from vta.relay.integer import to_integers
from vta.relay.integer.zero_points import fold_zero_points
from vta.relay.interpreter import run
from vta.relay.ir.nodes import Call, Constant, Expr, Function, Tuple, Var, constant
from vta.relay.ir.traverse import calls
from vta.relay.onnx.importer import from_onnx
from vta.relay.ops.call import call
from vta.relay.ops.rewrite import rewrite_function

SHAPE = (1, 6, 5, 4)


def layer(*, pads: int = 0, groups: int = 1, per_channel: bool = True, twice: bool = False) -> Function:
    """Return a convolution of cells whose zero is -100, its bias and a ReLU, in integers; ``twice`` at two scales."""
    q = Quantised(3)
    weights, scales = q.weight((6, 6 // groups, 2, 3), per_channel=per_channel)
    real = q.both("x", 0.05, -100)
    sums = q.op("Conv", [real, weights, q.bias(scales * np.float32(0.05), 6)], pads=[pads] * 4, group=groups)
    ends = [q.quantize(q.op("Relu", [sums]), 0.3, -128)]
    ends += [q.quantize(sums, 0.25, 3)] if twice else []
    model = model_of(q.nodes, {"x": ("float32", SHAPE)}, outputs=ends, weights=q.weights)
    return to_integers(from_onnx(model))


def zeros(function: Function) -> set[int]:
    kinds = QnnConv2dAttrs | QnnDenseAttrs
    return {each.attrs.input_zero_point for each in calls(function) if isinstance(each.attrs, kinds)}


@pytest.mark.parametrize("groups", [1, 2, 6])
@pytest.mark.parametrize("per_channel", [True, False])
def test_a_layer_without_pads_reads_cells_as_they_are(groups: int, per_channel: bool) -> None:
    before = layer(groups=groups, per_channel=per_channel)
    after = fold_zero_points(before)
    assert (zeros(before), zeros(after)) == ({-100}, {0})
    assert [each.callee for each in calls(after)] == [each.callee for each in calls(before)]
    x = np.random.default_rng(0).uniform(-2, 12, SHAPE).astype(np.float32)
    np.testing.assert_array_equal(run(before, [x]), run(after, [x]))


def test_pads_are_zero_and_keep_the_zero_point() -> None:
    before = layer(pads=1)
    assert fold_zero_points(before).body is before.body


def is_rescale(expr: Expr) -> TypeGuard[Call]:
    return isinstance(expr, Call) and expr.callee is Op.RESCALE


def test_sums_that_are_read_twice_get_the_same_in_both_biases() -> None:
    before = layer(twice=True)
    after = fold_zero_points(before)
    assert zeros(after) == {0}
    x = np.random.default_rng(1).uniform(-2, 12, SHAPE).astype(np.float32)
    for one, other in zip(run(before, [x]), run(after, [x]), strict=True):
        np.testing.assert_array_equal(one, other)


def test_sums_that_something_else_reads_stay_as_they_are() -> None:
    before = layer()
    [convolution] = [each for each in calls(before) if each.callee is Op.QNN_CONV2D]
    both = Function(before.params, Tuple((before.body, convolution)))
    assert fold_zero_points(both).body is both.body


def test_a_zero_point_whose_bias_would_leave_its_range_stays() -> None:
    before = layer()
    wide = np.full((6, 1 << 17), 1, np.int8)
    x = Var("x", TensorType((1, 1 << 17), "int8"))
    sums = call(Op.QNN_DENSE, (x, Constant(wide)), QnnDenseAttrs(-100))
    tables = [constant(number, "int32") for number in (0, 0, 1)]
    large = Function((x,), call(Op.RESCALE, (sums, *tables), RescaleAttrs(shift=20)))
    assert fold_zero_points(large).body is large.body
    near = constant((1 << 30) - 5, "int32")
    changed = rewrite_function(
        before, lambda e: replace(e, args=(e.args[0], near, *e.args[2:])) if is_rescale(e) else e
    )
    assert zeros(fold_zero_points(changed)) == {-100}


def test_every_pattern_keeps_its_meaning() -> None:
    for pattern in PATTERNS:
        model, x = made(pattern, 5)
        before = to_integers(from_onnx(model))
        np.testing.assert_array_equal(run(before, [x]), run(fold_zero_points(before), [x]), err_msg=pattern.__name__)
