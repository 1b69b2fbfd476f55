from runtime.executor.operators.names import Op
from runtime.executor.operators.types import TensorType
from vta.relay.ir.nodes import Let, Var
from vta.relay.ops.call import call
from vta.relay.ops.lets import bindings

X = Var("x", TensorType((2,), "float32"))


def test_a_graph_without_lets_is_its_own_result() -> None:
    root = call(Op.EXP, [X])
    assert bindings(root).bound == ()
    assert bindings(root).result is root


def test_lets_within_operands_and_values_come_to_the_front_in_order() -> None:
    a, b, c = (Var(name, X.type) for name in "abc")
    inner = Let(a, call(Op.EXP, [X]), call(Op.LOG, [a]))
    outer = Let(b, inner, Let(c, call(Op.NEGATIVE, [b]), call(Op.ADD, [b, c])))
    flat = bindings(call(Op.MULTIPLY, [X, outer]))
    assert [var for var, _ in flat.bound] == [a, b, c]
    assert flat.bound[1][1] is inner.body
    assert flat.result.args == (X, outer.body.body)
