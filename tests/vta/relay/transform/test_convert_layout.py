import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.executor.operators.convolution import Conv2dAttrs
from runtime.executor.operators.names import Op
from runtime.executor.operators.pooling import Pool2dAttrs
from runtime.executor.operators.reduction import ReduceAttrs
from runtime.executor.operators.selection import ConcatenateAttrs
from runtime.executor.operators.types import RelayError, TensorType
from tests.support.relay.random_floats import RandomGraph, random_graph
from tests.support.relay.random_integers import random_network
from tests.support.relay.same_meaning import assert_same_meaning
from vta.relay.ir.nodes import Call, Constant, Expr, Function, Var, constant
from vta.relay.ir.traverse import calls
from vta.relay.ops.call import call
from vta.relay.transform.convert_layout import Layouts, convert_layout

X = Var("x", TensorType((2, 8, 6, 5), "float32"))
RNG = np.random.default_rng(1)
NHWC, BLOCKED = Layouts("NHWC", "HWIO"), Layouts("NCHW1n4c", "OIHW4o4i")


def drawn(*shape: int) -> Constant:
    return Constant(RNG.uniform(-1, 1, shape).astype(np.float32))


def conv(data: Expr, out: int = 8) -> Call:
    channels = data.type.shape[1]  # type: ignore[union-attr]
    return call(Op.CONV2D, [data, drawn(out, channels, 3, 3)], Conv2dAttrs((1, 1), (1, 1, 1, 1)))


def checked(body: Expr, layouts: Layouts) -> list[Op]:
    """Return the operators after the conversion, which means the same."""
    function = Function((X,), body)
    after = convert_layout(function, layouts)
    assert_same_meaning(RandomGraph(function, 1), after, exact=False)
    return [Op(each.callee) for each in calls(after)]  # type: ignore[arg-type]


@pytest.mark.parametrize("layouts", [NHWC, BLOCKED])
def test_a_chain_is_converted_at_its_ends_alone(layouts: Layouts) -> None:
    first = call(Op.RELU, [call(Op.ADD, [conv(X), drawn(8, 1, 1)])])
    pooled = call(Op.MAX_POOL2D, [first], Pool2dAttrs((2, 2)))
    joined = call(Op.CONCATENATE, [pooled, call(Op.MULTIPLY, [pooled, constant(0.5, "float32")])], ConcatenateAttrs(1))
    assert checked(conv(joined), layouts) == [
        Op.LAYOUT_TRANSFORM, Op.CONV2D, Op.ADD, Op.RELU, Op.MAX_POOL2D, Op.MULTIPLY, Op.CONCATENATE, Op.CONV2D,
        Op.LAYOUT_TRANSFORM,
    ]  # fmt: skip


def test_weights_are_converted_before_the_graph_runs() -> None:
    after = convert_layout(Function((X,), conv(X)), NHWC)
    layer = calls(after)[1]
    assert isinstance(layer.args[1], Constant)
    assert layer.args[1].value.shape == (3, 3, 8, 8)
    assert (layer.attrs.data_layout, layer.attrs.kernel_layout) == ("NHWC", "HWIO")  # type: ignore[attr-defined]


def test_a_value_is_converted_once_for_all_its_readers() -> None:
    layer = conv(X)
    body = call(Op.ADD, [call(Op.MEAN, [layer], ReduceAttrs((2, 3), keepdims=True)),
                         call(Op.SOFTMAX, [layer])])  # fmt: skip
    assert checked(body, NHWC).count(Op.LAYOUT_TRANSFORM) == 2
    assert checked(call(Op.ADD, [conv(X), conv(X)]), NHWC).count(Op.LAYOUT_TRANSFORM) == 2


def test_layers_whose_channels_are_no_blocks_stay() -> None:
    assert checked(conv(conv(X, 6), 8), BLOCKED) == [Op.CONV2D, Op.CONV2D]
    assert checked(conv(conv(X, 8), 6), BLOCKED).count(Op.LAYOUT_TRANSFORM) == 2


def test_layers_that_are_not_wanted_stay() -> None:
    function = Function((X,), conv(X))
    assert convert_layout(function, NHWC, lambda layer: layer.callee is Op.MAX_POOL2D) is function


def test_a_sum_with_what_has_no_such_layout_is_made_in_nchw() -> None:
    row = Var("row", TensorType((5,), "float32"))
    function = Function((X, row), call(Op.ADD, [conv(X), row]))
    after = convert_layout(function, BLOCKED)
    assert [each.callee for each in calls(after)][-2:] == [Op.LAYOUT_TRANSFORM, Op.ADD]
    assert_same_meaning(RandomGraph(function, 2), after, exact=False)


def test_a_layout_that_is_none_is_refused() -> None:
    with pytest.raises(RelayError, match=r"^a layout is, for example, NCHW, NHWC or NCHW1n16c, not 'NHWc'$"):
        convert_layout(Function((X,), X), Layouts("NHWc", "HWIO"))


SMALL_BLOCKS = Layouts("NCHW1n2c", "OIHW2o2i")


@given(seed=st.integers(0, 2**32), layouts=st.sampled_from([NHWC, SMALL_BLOCKS, Layouts("CHWN", "OHWI")]))
@settings(max_examples=50)
def test_random_graphs_mean_the_same(seed: int, layouts: Layouts) -> None:
    graph = random_graph(seed, with_lets=seed % 2 == 0)
    assert_same_meaning(graph, convert_layout(graph.function, layouts), exact=False)


@given(seed=st.integers(0, 2**32), layouts=st.sampled_from([NHWC, SMALL_BLOCKS]))
@settings(max_examples=30)
def test_random_integer_networks_mean_the_same_bit_for_bit(seed: int, layouts: Layouts) -> None:
    network = random_network(seed)
    assert_same_meaning(network, convert_layout(network.function, layouts), exact=True)
