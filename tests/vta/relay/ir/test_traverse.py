from runtime.executor.operators.names import Op
from runtime.executor.operators.types import TensorType
from vta.relay.ir.nodes import Expr, Function, Let, Tuple, TupleGetItem, Var, constant
from vta.relay.ir.traverse import calls, children, constants, free_vars, post_order, use_counts, users
from vta.relay.ops.call import call

X = Var("x", TensorType((2,), "float32"))


def test_every_node_comes_once_after_its_operands() -> None:
    a = call(Op.EXP, [X])
    b = call(Op.ADD, [a, X])
    c = call(Op.ADD, [b, a])
    assert post_order(c) == [X, a, b, c]
    assert post_order(b, c) == [X, a, b, c]


def test_children_of_every_kind_of_node() -> None:
    pair = Tuple((X, constant(1.0, "float32")))
    item = TupleGetItem(pair, 0)
    v = Var("v", X.type)
    let = Let(v, item, v)
    assert [children(each) for each in (X, pair, item, let)] == [(), pair.fields, (pair,), (item, v)]


def test_a_graph_deeper_than_the_stack_is_walked() -> None:
    expr: Expr = X
    for _ in range(20_000):
        expr = call(Op.RELU, [expr])
    assert len(post_order(expr)) == 20_001


def test_a_graph_of_many_paths_is_walked_once() -> None:
    expr: Expr = X
    for _ in range(200):
        expr = call(Op.ADD, [expr, expr])
    assert len(calls(Function((X,), expr))) == 200


def test_users_come_once_for_every_operand_and_the_root_is_used_from_outside() -> None:
    a = call(Op.EXP, [X])
    b = call(Op.ADD, [a, a])
    assert users([b]) == {X: [a], a: [b, b], b: []}
    assert use_counts(b) == {X: 1, a: 2, b: 1}


def test_free_variables_are_those_that_nothing_binds() -> None:
    v, w = Var("v", X.type), Var("w", X.type)
    let = Let(v, call(Op.EXP, [X]), call(Op.ADD, [v, w]))
    assert free_vars(let) == [X, w]
    assert free_vars(let, [X]) == [w]


def test_constants_of_a_function() -> None:
    one = constant(1.0, "float32")
    assert constants(Function((X,), call(Op.ADD, [X, one]))) == [one]
