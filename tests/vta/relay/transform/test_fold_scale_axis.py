from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.executor.operators.attributes import Attrs
from runtime.executor.operators.broadcast import AxisAttrs
from runtime.executor.operators.convolution import Conv2dAttrs, Conv2dTransposeAttrs
from runtime.executor.operators.elementwise import SlopeAttrs
from runtime.executor.operators.names import Op
from runtime.executor.operators.pooling import AvgPool2dAttrs, Pool2dAttrs
from runtime.executor.operators.types import TensorType
from tests.support.relay.random_floats import RandomGraph, random_graph
from tests.support.relay.same_meaning import assert_same_meaning
from vta.relay.ir.nodes import Call, Constant, Expr, Function, Tuple, Var, constant
from vta.relay.ir.origin import Origin
from vta.relay.ir.traverse import calls
from vta.relay.ops.call import call
from vta.relay.transform.fold_constants import fold_constants
from vta.relay.transform.fold_scale_axis import (
    backward_fold_scale_axis,
    fold_scale_axis,
    forward_fold_scale_axis,
)
from vta.relay.transform.simplify_inference import simplify_inference

X = Var("x", TensorType((2, 4, 5, 6), "float32"))
RNG = np.random.default_rng(1)
POSITIVE = RNG.uniform(0.5, 2, (8, 1, 1)).astype(np.float32)
SIGNED = (POSITIVE * np.where(np.arange(8) % 2, -1, 1).reshape(8, 1, 1)).astype(np.float32)


def drawn(*shape: int) -> Constant:
    return Constant(RNG.uniform(-1, 1, shape).astype(np.float32))


def conv(data: Expr = X, groups: int = 1) -> Call:
    weight = drawn(8, 4 // groups, 3, 3)
    return call(Op.CONV2D, [data, weight], Conv2dAttrs((1, 1), (1, 1, 1, 1), groups=groups), (Origin("c", "Conv"),))


def times(data: Expr, factors: np.ndarray) -> Call:
    return call(Op.MULTIPLY, [data, Constant(factors)], origins=(Origin("m", "Mul"),))


def products(function: Function) -> int:
    return sum(each.callee is Op.MULTIPLY for each in calls(function))


def check(function: Function, left: int, fold: Callable[[Function], Function] = fold_scale_axis) -> Function:
    after = fold(function)
    assert_same_meaning(RandomGraph(function, 3), after, exact=False)
    assert products(after) == left
    return after


BIAS = AxisAttrs(1)


@pytest.mark.parametrize(
    "between",
    [
        lambda y: y,
        lambda y: call(Op.ADD, [y, drawn(8, 1, 1)]),
        lambda y: call(Op.ADD, [drawn(1, 8, 1, 1), y]),
        lambda y: call(Op.ADD, [y, constant(0.5, "float32")]),
        lambda y: call(Op.BIAS_ADD, [y, drawn(8)], BIAS),
        lambda y: call(Op.AVG_POOL2D, [y], AvgPool2dAttrs((2, 2))),
        lambda y: call(Op.GLOBAL_AVG_POOL2D, [y]),
    ],
)
def test_factors_of_any_sign_go_backward_through_what_is_linear(between: Callable[[Expr], Expr]) -> None:
    after = check(Function((X,), times(between(conv()), SIGNED)), 0)
    assert calls(after)[0].origins == (Origin("c", "Conv"), Origin("m", "Mul"))


@pytest.mark.parametrize(
    "between",
    [
        lambda y: call(Op.RELU, [y]),
        lambda y: call(Op.LEAKY_RELU, [y], SlopeAttrs(0.1)),
        lambda y: call(Op.PRELU, [y, drawn(8)], BIAS),
        lambda y: call(Op.MAX_POOL2D, [y], Pool2dAttrs((2, 2))),
        lambda y: call(Op.RELU, [call(Op.ADD, [call(Op.RELU, [y]), drawn(8, 1, 1)])]),
    ],
)
def test_positive_factors_alone_go_backward_through_a_relu_or_a_max_pool(between: Callable[[Expr], Expr]) -> None:
    check(Function((X,), times(between(conv()), POSITIVE)), 0)
    check(Function((X,), times(between(conv()), SIGNED)), 1)


@pytest.mark.parametrize("groups", [1, 2, 4])
def test_layers_of_every_kind_take_factors_of_their_outputs(groups: int) -> None:
    check(Function((X,), times(conv(groups=groups), SIGNED)), 0)
    attrs = Conv2dTransposeAttrs(groups=groups)
    transposed = call(Op.CONV2D_TRANSPOSE, [X, drawn(4, 8 // groups, 3, 3)], attrs)
    check(Function((X,), times(transposed, SIGNED)), 0)


def test_dense_layers_take_factors() -> None:
    x = Var("x", TensorType((3, 5), "float32"))
    dense = call(Op.DENSE, [x, drawn(8, 5)])
    check(Function((x,), times(dense, SIGNED.reshape(8))), 0)
    before = call(Op.DENSE, [times(x, RNG.uniform(-1, 1, 5).astype(np.float32)), drawn(8, 5)])
    check(Function((x,), before), 0)


def test_a_scalar_factor_is_one_for_each_channel() -> None:
    check(Function((X,), times(conv(), np.array(-2.5, np.float32))), 0)


@pytest.mark.parametrize("groups", [1, 4])
def test_factors_go_forward_into_the_next_layer(groups: int) -> None:
    body = conv(times(X, SIGNED[:4]), groups)
    after = check(Function((X,), body), 0)
    assert calls(after)[0].origins == (Origin("m", "Mul"), Origin("c", "Conv"))


@pytest.mark.parametrize(
    ("between", "left"),
    [
        (lambda y: call(Op.ADD, [y, drawn(4, 1, 1)]), (0, 0)),
        (lambda y: call(Op.BIAS_ADD, [y, drawn(4)], BIAS), (0, 0)),
        (lambda y: call(Op.RELU, [call(Op.ADD, [y, drawn(4, 1, 1)])]), (0, 1)),
        (lambda y: call(Op.MAX_POOL2D, [y], Pool2dAttrs((2, 2))), (0, 1)),
        (lambda y: call(Op.SIGMOID, [y]), (1, 1)),
    ],
)
def test_factors_go_forward_through_what_lets_them_pass(between: Callable[[Expr], Expr], left: tuple[int, int]) -> None:
    for factors, count in zip((POSITIVE[:4], SIGNED[:4]), left, strict=True):
        body = call(Op.CONV2D, [between(times(X, factors)), drawn(8, 4, 1, 1)])
        check(Function((X,), body), count, forward_fold_scale_axis)


def test_a_factor_of_zero_does_not_go_forward_through_a_sum() -> None:
    factors = POSITIVE[:4].copy()
    factors[2] = 0
    summed = call(Op.ADD, [times(X, factors), drawn(4, 1, 1)])
    check(Function((X,), call(Op.CONV2D, [summed, drawn(8, 4, 1, 1)])), 1)
    check(Function((X,), call(Op.CONV2D, [times(X, factors), drawn(8, 4, 1, 1)])), 0)


def test_what_somebody_else_reads_is_not_scaled() -> None:
    layer = conv()
    check(Function((X,), Tuple((times(layer, SIGNED), layer))), 1)
    product = times(X, SIGNED[:4])
    check(Function((X,), Tuple((call(Op.CONV2D, [product, drawn(8, 4, 1, 1)]), product))), 1)


@pytest.mark.parametrize(
    "body",
    [
        times(conv(), RNG.uniform(size=(8, 5, 6)).astype(np.float32)),
        times(conv(), RNG.uniform(size=(2, 1, 1, 1)).astype(np.float32)),
        call(Op.MULTIPLY, [conv(), conv()]),
        times(call(Op.CONV2D, [X, call(Op.EXP, [drawn(8, 4, 1, 1)])]), SIGNED),
        times(call(Op.SOFTMAX, [conv()]), SIGNED),
        times(call(Op.ADD, [conv(), conv()]), SIGNED),
        times(
            conv(groups=2, data=times(X, SIGNED[:4]) if False else X), RNG.uniform(size=(1, 1, 6)).astype(np.float32)
        ),
    ],
)
def test_what_is_no_factor_of_a_channel_stays_the_same_object(body: Expr) -> None:
    function = Function((X,), body)
    assert backward_fold_scale_axis(function) is function


def test_batch_norms_become_part_of_their_convolutions() -> None:
    norm = call(Op.BATCH_NORM, [conv(), *(Constant(RNG.uniform(0.5, 1, 8).astype(np.float32)) for _ in range(4))])
    function = Function((X,), call(Op.RELU, [norm]))
    after = fold_scale_axis(fold_constants(simplify_inference(function)))
    assert [each.callee for each in calls(after)] == [Op.CONV2D, Op.ADD, Op.RELU]
    assert_same_meaning(RandomGraph(function, 1), after, exact=False)


@given(seed=st.integers(0, 2**32))
@settings(max_examples=40)
def test_random_graphs_mean_the_same(seed: int) -> None:
    graph = random_graph(seed, nodes=14)
    simple = fold_constants(simplify_inference(graph.function))
    assert_same_meaning(graph, fold_scale_axis(simple), exact=False)


def test_attributes_are_kept() -> None:
    attrs: Attrs = Conv2dAttrs((2, 1), (1, 0, 1, 0), (1, 2))
    body = times(call(Op.CONV2D, [X, drawn(8, 4, 3, 3)], attrs), SIGNED)
    assert calls(check(Function((X,), body), 0))[0].attrs == attrs
