import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.executor.operators.convolution import Conv2dAttrs
from runtime.executor.operators.names import Op
from runtime.executor.operators.rearrange import TransposeAttrs
from runtime.executor.operators.types import TensorType
from tests.support.relay.random_floats import random_graph
from tests.support.relay.random_integers import random_network
from tests.support.relay.same_meaning import assert_same_meaning
from vta.relay.ir.nodes import Call, Constant, Function, FunctionAttrs, Tuple, Var, constant
from vta.relay.ir.origin import Origin
from vta.relay.ir.traverse import calls, free_vars, post_order
from vta.relay.ops.call import call, call_function
from vta.relay.text.parser import parse_function
from vta.relay.text.printer import text_and_constants, to_text
from vta.relay.transform.fusion.fuse_ops import fuse_ops
from vta.relay.transform.pipeline import run_passes

X = Var("x", TensorType((1, 3, 4, 4), "float32"))
SKIP = Var("skip", TensorType((1, 9, 4, 4), "float32"))


def kernels(function: Function) -> list[str]:
    """Return the names of the kernels in order."""
    found = []
    for each in calls(function):
        assert isinstance(each.callee, Function)
        assert each.callee.attrs.primitive
        found.append(each.callee.attrs.name)
    return found


def conv(data: Var, channels: int) -> Call:
    weight = Constant(np.ones((9, channels, 3, 3), np.float32), "w")
    return call(Op.CONV2D, [data, weight], Conv2dAttrs((1, 1), (1, 1, 1, 1)), (Origin("conv1", "Conv"),))


def test_a_convolution_takes_bias_residual_and_activation() -> None:
    biased = call(Op.ADD, [conv(X, 3), constant(np.ones((9, 1, 1)), "float32")])
    summed = call(Op.ADD, [biased, SKIP], origins=(Origin("add1", "Add"),))
    scaled = call(Op.MULTIPLY, [summed, constant(0.5, "float32")])
    after = fuse_ops(Function((X, SKIP), call(Op.RELU, [scaled])))
    assert (
        to_text(after)
        == """\
fn (%x: Tensor[(1, 3, 4, 4), float32], %skip: Tensor[(1, 9, 4, 4), float32]) -> Tensor[(1, 9, 4, 4), float32] {
  %0: Tensor[(1, 9, 4, 4), float32] = fn [primitive=True, name="fused_nn_conv2d_add_add_multiply_nn_relu"]\
(%p0: Tensor[(1, 3, 4, 4), float32], %p1: Tensor[(9, 3, 3, 3), float32], %p2: Tensor[(9, 1, 1), float32], \
%p3: Tensor[(1, 9, 4, 4), float32]) -> Tensor[(1, 9, 4, 4), float32] {
    %0: Tensor[(1, 9, 4, 4), float32] = nn.conv2d(%p0, %p1, padding=(1, 1, 1, 1)) from Conv "conv1";
    %1: Tensor[(1, 9, 4, 4), float32] = add(%0, %p2);
    %2: Tensor[(1, 9, 4, 4), float32] = add(%1, %p3) from Add "add1";
    %3: Tensor[(1, 9, 4, 4), float32] = multiply(%2, const<float32>(0.5));
    %4: Tensor[(1, 9, 4, 4), float32] = nn.relu(%3);
    %4
  }(%x, const<float32[9, 3, 3, 3]>(#0, "w"), const<float32[9, 1, 1]>(#1), %skip) from Conv "conv1", Add "add1";
  %0
}"""
    )


def test_every_operator_is_in_a_kernel_even_alone() -> None:
    body = call(Op.CONV2D, [call(Op.TRANSPOSE, [X], TransposeAttrs((0, 1, 3, 2))), conv(X, 3).args[1]])
    assert kernels(fuse_ops(Function((X,), body))) == ["fused_transpose", "fused_nn_conv2d"]


def test_a_long_name_is_cut() -> None:
    body = X
    for _ in range(8):
        body = call(Op.TANH, [body])
    assert kernels(fuse_ops(Function((X,), body))) == ["fused_tanh_tanh_tanh_tanh_tanh_and_3_more"]


def test_stop_fusion_separates_kernels_and_vanishes() -> None:
    body = call(Op.EXP, [call(Op.STOP_FUSION, [call(Op.TANH, [X])])])
    assert kernels(fuse_ops(Function((X,), body))) == ["fused_tanh", "fused_exp"]


def test_functions_that_are_called_already_stay() -> None:
    v = Var("v", X.type)
    theirs = Function((v,), call(Op.EXP, [v]), FunctionAttrs(compiler="vta"))
    middle = call_function(theirs, [call(Op.TANH, [X])])
    after = fuse_ops(Function((X,), call(Op.ABS, [middle])))
    assert [each.callee.attrs.compiler for each in calls(after)] == ["", "vta", ""]  # type: ignore[union-attr]


def test_results_of_several_values_stay_a_tuple() -> None:
    body = Tuple((call(Op.EXP, [X]), call(Op.TANH, [X]), X))
    after = fuse_ops(Function((X,), body))
    assert isinstance(after.body, Tuple)
    assert kernels(after) == ["fused_exp", "fused_tanh"]


def check(before: Function, after: Function) -> None:
    """Assert what fusion promises: kernels are closed, and every operator is in one, once."""
    inside = 0
    for each in calls(after):
        assert isinstance(each.callee, Function)
        assert free_vars(each.callee.body, each.callee.params) == []
        assert all(isinstance(inner.callee, Op) for inner in calls(each.callee))
        large = [c for c in post_order(each.callee.body) if isinstance(c, Constant) and c.value.size > 1]
        assert large == []
        inside += len(calls(each.callee))
    assert inside == len(calls(before))


@given(seed=st.integers(0, 2**32))
@settings(max_examples=60)
def test_random_graphs_mean_the_same(seed: int) -> None:
    graph = random_graph(seed, nodes=14)
    simple = run_passes(graph.function)
    after = fuse_ops(simple)
    assert_same_meaning(graph, after, exact=False)
    check(simple, after)
    text, constants = text_and_constants(after)
    assert text_and_constants(parse_function(text, constants))[0] == text


@given(seed=st.integers(0, 2**32))
@settings(max_examples=30)
def test_random_integer_networks_mean_the_same_bit_for_bit(seed: int) -> None:
    network = random_network(seed)
    after = fuse_ops(network.function)
    assert_same_meaning(network, after, exact=True)
    check(network.function, after)
