import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.executor.operators.broadcast import ShapeAttrs
from runtime.executor.operators.names import Op
from runtime.executor.operators.rearrange import ReshapeAttrs
from runtime.executor.operators.selection import SplitAttrs, TakeAttrs
from runtime.executor.operators.types import RelayError, TensorType
from tests.support.relay.random_floats import random_graph
from tests.support.relay.random_integers import random_network
from tests.support.relay.same_meaning import assert_same_meaning
from vta.relay.ir.nodes import Call, Constant, Expr, Function, Tuple, TupleGetItem, Var, constant
from vta.relay.ir.origin import Origin
from vta.relay.ir.traverse import calls
from vta.relay.ops.call import call
from vta.relay.transform.fold_constants import fold_constants, fold_real_constants
from vta.relay.transform.inline_lets import inline_lets

X = Var("x", TensorType((2, 3), "float32"))


def folded(body: Expr) -> Expr:
    return fold_constants(Function((X,), body)).body


def test_what_is_known_is_computed_through_the_whole_graph() -> None:
    three = call(Op.ADD, [constant(1.0, "float32"), constant(2.0, "float32")])
    result = folded(call(Op.MULTIPLY, [X, call(Op.NEGATIVE, [three])]))
    assert isinstance(result, Call)
    assert isinstance(result.args[1], Constant)
    assert result.args[1].value == np.float32(-3)


def test_shapes_are_known() -> None:
    product = call(Op.MULTIPLY, [call(Op.SHAPE_OF, [X]), constant([2, 2], "int64")])
    result = folded(product)
    assert isinstance(result, Constant)
    assert result.value.tolist() == [4, 6]


def test_values_of_known_tuples_are_taken() -> None:
    parts = call(Op.SPLIT, [constant([1, 2, 3], "float32")], SplitAttrs((1, 2)))
    second = folded(TupleGetItem(parts, 1))
    assert isinstance(second, Constant)
    assert second.value.tolist() == [2, 3]
    assert folded(TupleGetItem(Tuple((X, constant(1.0, "float32"))), 0)) is X


def test_a_large_result_of_little_is_left_to_be_computed() -> None:
    zeros = call(Op.BROADCAST_TO, [constant(0, "int8")], ShapeAttrs(((1 << 26) + 1,)))
    assert folded(zeros) is zeros
    flat = call(Op.RESHAPE, [constant(np.zeros((2, 3)), "int8")], ReshapeAttrs((6,)))
    assert isinstance(folded(flat), Constant)


def test_a_graph_with_nothing_known_stays_the_same_object() -> None:
    function = Function((X,), call(Op.ADD, [X, constant(1.0, "float32")]))
    assert fold_constants(function) is function


def test_what_has_no_result_is_refused_by_name() -> None:
    wrong = call(Op.TAKE, [constant([1, 2], "int8"), constant(5, "int64")], TakeAttrs(0), (Origin("g", "Gather"),))
    with pytest.raises(RelayError, match=r"^take \(from Gather 'g'\): index 5 is not from -2 to 1$"):
        folded(wrong)


def test_integers_with_scales_may_stay_and_what_reads_them() -> None:
    weight = call(Op.DEQUANTIZE, [constant([1, 2], "int8"), constant(0.5, "float32"), constant(0, "int8")])
    total = call(Op.ADD, [weight, call(Op.EXP, [constant(0.0, "float32")])])
    assert isinstance(folded(total), Constant)
    kept = fold_real_constants(Function((X,), total)).body
    assert isinstance(kept, Call)
    assert kept.args[0] is weight
    assert isinstance(kept.args[1], Constant)


@given(seed=st.integers(0, 2**32))
@settings(max_examples=40)
def test_random_graphs_mean_the_same_and_have_nothing_left_to_fold(seed: int) -> None:
    graph = random_graph(seed)
    after = fold_constants(graph.function)
    assert_same_meaning(graph, after, exact=True)
    assert not any(all(isinstance(arg, Constant) for arg in each.args) for each in calls(inline_lets(after)))
    network = random_network(seed, nodes=4)
    assert_same_meaning(network, fold_constants(network.function), exact=True)
