import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.executor.operators.elementwise import ClipAttrs
from runtime.executor.operators.names import Op
from runtime.executor.operators.types import TensorType
from tests.support.relay.random_floats import random_graph
from tests.support.relay.random_integers import random_network
from tests.support.relay.same_meaning import assert_same_meaning
from vta.relay.ir.nodes import Call, Constant, Function, Tuple, TupleGetItem, Var, constant
from vta.relay.ir.origin import Origin
from vta.relay.ir.traverse import calls, post_order
from vta.relay.ops.call import call, call_function
from vta.relay.transform.eliminate_common_subexpressions import eliminate_common_subexpressions

X = Var("x", TensorType((2,), "float32"))


def test_the_same_computation_is_done_once_and_has_the_origins_of_all() -> None:
    a = call(Op.EXP, [X], origins=(Origin("a", "Exp"),))
    b = call(Op.EXP, [X], origins=(Origin("b", "Exp"),))
    total = call(Op.ADD, [call(Op.ABS, [a]), call(Op.ABS, [b])])
    result = eliminate_common_subexpressions(Function((X,), total)).body
    assert isinstance(result, Call)
    assert result.args[0] is result.args[1]
    first = calls(result)[0]
    assert (first.callee, first.origins) == (Op.EXP, (*a.origins, *b.origins))


def test_constants_are_the_same_if_their_types_and_bytes_are() -> None:
    ones = [constant(1.0, "float32"), Constant(np.ones((), np.float32), "named"), constant([1.0, 1.0], "float32")]
    total = call(Op.ADD, [call(Op.ADD, [X, ones[0]]), call(Op.ADD, [call(Op.ADD, [X, ones[1]]), ones[2]])])
    after = eliminate_common_subexpressions(Function((X,), total))
    assert len(calls(after)) == 3
    zeros = Function((X,), Tuple((constant(0.0, "float32"), constant(-0.0, "float32"), constant(0, "int32"))))
    assert eliminate_common_subexpressions(zeros) is zeros


def test_other_attributes_or_functions_are_other_computations() -> None:
    inner, same = (Function((X,), call(Op.EXP, [X])) for _ in range(2))
    body = Tuple(
        (call(Op.CLIP, [X], ClipAttrs(0, 1)), call(Op.CLIP, [X], ClipAttrs(0, 2)), call_function(inner, [X]),
         call_function(inner, [X]), call_function(same, [X]))
    )  # fmt: skip
    after = eliminate_common_subexpressions(Function((X,), body)).body
    assert isinstance(after, Tuple)
    assert len(set(after.fields)) == 4


def test_values_of_tuples() -> None:
    body = Tuple((TupleGetItem(Tuple((X, X)), 0), TupleGetItem(Tuple((X, X)), 0), TupleGetItem(Tuple((X, X)), 1)))
    after = eliminate_common_subexpressions(Function((X,), body)).body
    assert len([expr for expr in post_order(after) if isinstance(expr, TupleGetItem)]) == 2


@given(seed=st.integers(0, 2**32))
@settings(max_examples=30)
def test_random_graphs_mean_the_same(seed: int) -> None:
    graph = random_graph(seed, with_lets=seed % 2 == 0)
    after = eliminate_common_subexpressions(graph.function)
    assert_same_meaning(graph, after, exact=True)
    assert eliminate_common_subexpressions(after) is after
    network = random_network(seed, nodes=4)
    assert_same_meaning(network, eliminate_common_subexpressions(network.function), exact=True)
