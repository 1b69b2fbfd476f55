import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.executor.operators.broadcast import AxisAttrs, ShapeAttrs
from runtime.executor.operators.elementwise import CastAttrs
from runtime.executor.operators.layouts import LayoutAttrs
from runtime.executor.operators.names import Op
from runtime.executor.operators.padding import PadAttrs
from runtime.executor.operators.rearrange import AxesAttrs, ExpandDimsAttrs, ReshapeAttrs, TileAttrs, TransposeAttrs
from runtime.executor.operators.selection import ConcatenateAttrs, StridedSliceAttrs
from runtime.executor.operators.types import TensorType
from tests.support.relay.random_floats import random_graph
from tests.support.relay.random_integers import random_network
from tests.support.relay.same_meaning import assert_same_meaning
from vta.relay.ir.nodes import Call, Expr, Function, Var, constant
from vta.relay.ir.origin import Origin
from vta.relay.ops.call import call
from vta.relay.transform.canonicalize_ops import canonicalize_ops

X = Var("x", TensorType((1, 4, 4, 4), "float32"))
B = Var("b", TensorType((4,), "float32"))
A1, A2 = (Origin("one", "A"),), (Origin("two", "B"),)


def canonical(body: Expr) -> Expr:
    return canonicalize_ops(Function((X, B), body)).body


def test_bias_add_becomes_add() -> None:
    result = canonical(call(Op.BIAS_ADD, [X, B], AxisAttrs(1), A1))
    assert isinstance(result, Call)
    assert (result.callee, result.origins) == (Op.ADD, A1)
    spread = result.args[1]
    assert isinstance(spread, Call)
    assert (spread.callee, spread.attrs) == (Op.RESHAPE, ReshapeAttrs((4, 1, 1)))
    assert canonical(call(Op.BIAS_ADD, [X, B], AxisAttrs(-1))).args == (X, B)  # type: ignore[union-attr]


def test_reshapes_behind_each_other_become_one() -> None:
    first = call(Op.SQUEEZE, [call(Op.EXPAND_DIMS, [X], ExpandDimsAttrs(0), A1)], AxesAttrs((0,)))
    assert canonical(first) is X
    second = call(Op.RESHAPE, [call(Op.BATCH_FLATTEN, [X], origins=A1)], ReshapeAttrs((0, -1, 4)), A2)
    result = canonical(second)
    assert isinstance(result, Call)
    assert (result.args, result.attrs, result.origins) == ((X,), ReshapeAttrs((1, 16, 4)), A1 + A2)


def test_transposes_behind_each_other_become_one_or_none() -> None:
    once = call(Op.TRANSPOSE, [X], TransposeAttrs((0, 2, 3, 1)), A1)
    assert canonical(call(Op.TRANSPOSE, [once], TransposeAttrs((0, 3, 1, 2)))) is X
    twice = canonical(call(Op.TRANSPOSE, [once], TransposeAttrs(None), A2))
    assert isinstance(twice, Call)
    assert (twice.args, twice.attrs, twice.origins) == ((X,), TransposeAttrs((1, 3, 2, 0)), A1 + A2)


def test_layout_transformations_behind_each_other_become_one_or_none() -> None:
    once = call(Op.LAYOUT_TRANSFORM, [X], LayoutAttrs("NCHW", "NHWC"))
    assert canonical(call(Op.LAYOUT_TRANSFORM, [once], LayoutAttrs("NHWC", "NCHW"))) is X
    twice = canonical(call(Op.LAYOUT_TRANSFORM, [once], LayoutAttrs("NHWC", "NCHW2c")))
    assert isinstance(twice, Call)
    assert (twice.args, twice.attrs) == ((X,), LayoutAttrs("NCHW", "NCHW2c"))


ONE, ZERO = constant(1.0, "float32"), constant(np.zeros((4, 1, 1)), "float32")


@pytest.mark.parametrize(
    "body",
    [
        call(Op.COPY, [X]),
        call(Op.CAST, [X], CastAttrs("float32")),
        call(Op.TILE, [X], TileAttrs((1, 1))),
        call(Op.BROADCAST_TO, [X], ShapeAttrs((1, 4, 4, 4))),
        call(Op.PAD, [X], PadAttrs(((0, 0),) * 4)),
        call(Op.STRIDED_SLICE, [X], StridedSliceAttrs((0, -4), (9, None))),
        call(Op.CONCATENATE, [X], ConcatenateAttrs(1)),
        call(Op.RESHAPE, [X], ReshapeAttrs((0, 4, -1, 4))),
        call(Op.ADD, [X, ZERO]),
        call(Op.ADD, [ZERO, X]),
        call(Op.SUBTRACT, [X, ZERO]),
        call(Op.MULTIPLY, [ONE, X]),
        call(Op.DIVIDE, [X, ONE]),
    ],
)
def test_what_changes_nothing_goes(body: Expr) -> None:
    assert canonical(body) is X


@pytest.mark.parametrize(
    "body",
    [
        call(Op.CAST, [X], CastAttrs("float64")),
        call(Op.STRIDED_SLICE, [X], StridedSliceAttrs((3,), (None,), (-1,), (1,))),
        call(Op.CONCATENATE, [X, X], ConcatenateAttrs(1)),
        call(Op.SUBTRACT, [ZERO, X]),
        call(Op.DIVIDE, [ONE, X]),
        call(Op.ADD, [B, constant(np.zeros((2, 4)), "float32")]),
        call(Op.RESHAPE, [Var("e", TensorType((0, 3), "int8"))], ReshapeAttrs((-1, 1, 1))),
        call(Op.TRANSPOSE, [X], TransposeAttrs((0, 1, 3, 2))),
        call(Op.RELU, [X]),
    ],
)
def test_what_changes_something_stays_the_same_object(body: Expr) -> None:
    assert canonical(body) is body


@given(seed=st.integers(0, 2**32))
@settings(max_examples=40)
def test_random_graphs_mean_the_same(seed: int) -> None:
    graph = random_graph(seed, with_lets=seed % 2 == 0)
    after = canonicalize_ops(graph.function)
    assert_same_meaning(graph, after, exact=True)
    assert canonicalize_ops(after) is after
    network = random_network(seed, nodes=4)
    assert_same_meaning(network, canonicalize_ops(network.function), exact=True)
