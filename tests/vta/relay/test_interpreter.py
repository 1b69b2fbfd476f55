import numpy as np
import pytest

from runtime.executor.operators.names import Op
from runtime.executor.operators.types import RelayError, TensorType
from vta.relay.interpreter import evaluate, run
from vta.relay.ir.module import IRModule
from vta.relay.ir.nodes import Expr, Function, GlobalVar, Let, Tuple, TupleGetItem, Var, constant
from vta.relay.ops.call import call, call_function, call_global

X = Var("x", TensorType((3,), "float32"))
Y = Var("y", TensorType((3,), "float32"))
ONES = np.ones(3, np.float32)


def test_inputs_go_by_position_or_by_name() -> None:
    function = Function((X, Y), call(Op.SUBTRACT, [X, Y]))
    assert np.array_equal(run(function, [3 * ONES, ONES]), 2 * ONES)
    assert np.array_equal(run(function, {"y": ONES, "x": 3 * ONES}), 2 * ONES)


def test_a_shared_node_is_computed_once() -> None:
    expr: Expr = X
    for _ in range(100):
        expr = call(Op.ADD, [expr, expr])
    seen = []
    run(Function((X,), expr), [0 * ONES], lambda node, _: seen.append(node))
    assert len(seen) == 100


def test_tuples_lets_and_functions_have_their_values() -> None:
    v = Var("v", X.type)
    inner = Function((v,), Tuple((call(Op.ADD, [v, v]), v)))
    pair = call_function(inner, [call(Op.EXP, [X])])
    w = Var("w", pair.type)
    body = Let(w, pair, call(Op.SUBTRACT, [TupleGetItem(w, 0), TupleGetItem(w, 1)]))
    assert np.allclose(run(Function((X,), body), [ONES]), np.exp(ONES))


def test_a_function_of_the_module_is_called_by_its_name() -> None:
    v = Var("v", X.type)
    twice = Function((v,), call(Op.ADD, [v, v]))
    main = Function((X,), call_global(GlobalVar("twice"), twice, [X]))
    assert np.array_equal(run(IRModule({"main": main, "twice": twice}), [ONES]), 2 * ONES)


def test_after_node_sees_the_calls_of_the_outermost_function() -> None:
    v = Var("v", X.type)
    inner = call_function(Function((v,), call(Op.EXP, [call(Op.NEGATIVE, [v])])), [X])
    outer = call(Op.LOG, [inner])
    seen = []
    run(Function((X,), outer), [ONES], lambda node, value: seen.append((node, value)))
    assert [node for node, _ in seen] == [inner, outer]
    assert np.allclose(seen[1][1], -ONES)


def test_an_expression_without_variables_has_a_value() -> None:
    assert evaluate(call(Op.ADD, [constant(1, "int8"), constant(127, "int8")])) == np.int8(-128)


@pytest.mark.parametrize(
    ("inputs", "sentence"),
    [
        ([ONES], "expected 2 inputs (x, y), got 1"),
        ({"x": ONES}, "expected inputs x, y, got x"),
        ({"x": ONES, "y": ONES, "z": ONES}, "expected inputs x, y, got x, y, z"),
        ({}, "expected inputs x, y, got none"),
        ([ONES, ONES.astype(np.int8)], "input 'y': expected Tensor[(3,), float32], got Tensor[(3,), int8]"),
        ([ONES, (ONES,)], "input 'y': expected Tensor[(3,), float32], got (Tensor[(3,), float32],)"),
    ],
)
def test_inputs_that_the_function_does_not_take_are_refused(inputs: object, sentence: str) -> None:
    with pytest.raises(RelayError) as error:
        run(Function((X, Y), X), inputs)
    assert str(error.value) == sentence


def test_a_variable_that_nothing_binds_is_refused() -> None:
    with pytest.raises(RelayError, match=r"^the variable 'y' has no value here$"):
        run(Function((X,), call(Op.ADD, [X, Y])), [ONES])
