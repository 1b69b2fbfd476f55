from runtime.executor.operators.names import Op
from runtime.executor.operators.types import TensorType
from vta.relay.ir.nodes import Call, Expr, Function, Let, Tuple, TupleGetItem, Var, constant
from vta.relay.ir.traverse import post_order
from vta.relay.ops.call import call
from vta.relay.ops.rewrite import replace_nodes, rewrite, rewrite_function, substitute, with_children

X = Var("x", TensorType((2,), "float32"))


def test_a_graph_that_does_not_change_stays_the_same_object() -> None:
    pair = Tuple((call(Op.EXP, [X]), X))
    v = Var("v", X.type)
    root = Let(v, TupleGetItem(pair, 0), call(Op.ADD, [v, TupleGetItem(pair, 1)]))
    assert rewrite(root, lambda expr: expr) is root
    function = Function((X,), root)
    assert rewrite_function(function, lambda expr: expr) is function


def test_what_is_shared_is_rewritten_once_and_stays_shared() -> None:
    shared = call(Op.EXP, [X])
    seen = []

    def negated(expr: Expr) -> Expr:
        if isinstance(expr, Call) and expr.callee is Op.EXP:
            seen.append(expr)
            return call(Op.NEGATIVE, [expr])
        return expr

    root = rewrite(call(Op.ADD, [shared, shared]), negated)
    assert isinstance(root, Call)
    assert seen == [shared]
    assert root.args[0] is root.args[1]


def test_tuples_items_and_lets_are_rebuilt() -> None:
    pair, v = Tuple((X, X)), Var("v", X.type)
    root = Let(v, TupleGetItem(pair, 1), Tuple((v,)))
    y = Var("y", X.type)
    new = substitute(root, {X: y})
    assert isinstance(new, Let)
    assert isinstance(new.value, TupleGetItem)
    assert new.value.value.fields == (y, y)
    assert new.body is root.body


def test_replaced_nodes_are_not_walked() -> None:
    inner = call(Op.EXP, [X])
    outer = call(Op.NEGATIVE, [inner])
    one = constant([1, 2], "float32")
    new = replace_nodes(outer, {inner: one})
    assert post_order(new) == [one, new]


def test_leaves_have_no_children() -> None:
    assert with_children(X, ()) is X
