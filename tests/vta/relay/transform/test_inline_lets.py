from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.executor.operators.names import Op
from runtime.executor.operators.types import TensorType
from tests.support.relay.random_floats import random_graph
from tests.support.relay.same_meaning import assert_same_meaning
from vta.relay.ir.nodes import Call, Function, Let, Var
from vta.relay.ir.traverse import post_order
from vta.relay.ops.call import call
from vta.relay.transform.inline_lets import inline_lets

X, V, W = (Var(name, TensorType((2,), "float32")) for name in ("x", "v", "w"))


def test_a_value_that_is_read_twice_stays_one_node() -> None:
    value = call(Op.EXP, [X])
    body = Let(V, value, Let(W, call(Op.NEGATIVE, [V]), call(Op.ADD, [W, V])))
    result = inline_lets(Function((X,), body)).body
    assert isinstance(result, Call)
    assert result.args[1] is value
    assert result.args[0].args == (value,)  # type: ignore[union-attr]


def test_a_function_without_lets_stays_the_same_object() -> None:
    function = Function((X,), call(Op.EXP, [X]))
    assert inline_lets(function) is function


@given(seed=st.integers(0, 2**32))
@settings(max_examples=30)
def test_random_graphs_mean_the_same_without_lets(seed: int) -> None:
    graph = random_graph(seed, with_lets=True)
    after = inline_lets(graph.function)
    assert_same_meaning(graph, after, exact=True)
    assert not any(isinstance(expr, Let) for expr in post_order(after.body))
