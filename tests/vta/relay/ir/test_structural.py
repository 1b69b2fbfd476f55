import numpy as np
import pytest

from runtime.executor.operators.broadcast import AxisAttrs
from runtime.executor.operators.names import Op
from runtime.executor.operators.types import TensorType
from tests.support.relay.random_floats import random_graph
from vta.relay.ir.module import IRModule
from vta.relay.ir.nodes import (
    Constant,
    Expr,
    Function,
    FunctionAttrs,
    GlobalVar,
    Let,
    Tuple,
    TupleGetItem,
    Var,
    constant,
)
from vta.relay.ir.origin import Origin
from vta.relay.ir.structural import first_difference, structural_equal
from vta.relay.ops.call import call, call_function, call_global

X, Y = (Var(name, TensorType((2,), "float32")) for name in "xy")
ONE, TWO = constant(1.0, "float32"), constant(2.0, "float32")


def of(body: Expr, *params: Var) -> Function:
    return Function(params or (X, Y), body)


@pytest.mark.parametrize("seed", range(10))
def test_a_graph_equals_one_made_the_same_way(seed: int) -> None:
    first, second = (random_graph(seed, with_lets=seed % 2 == 0).function for _ in range(2))
    assert first_difference(first, second) is None
    assert structural_equal(IRModule.from_expr(first), IRModule.from_expr(second))


def test_names_and_origins_take_no_part() -> None:
    z = Var("z", X.type)
    other = Function((z,), call(Op.ADD, [z, Constant(ONE.value, "one")], origins=(Origin("n"),)))
    assert structural_equal(Function((X,), call(Op.ADD, [X, ONE])), other)


def test_nan_equals_nan() -> None:
    assert structural_equal(of(Constant(np.array([np.nan]))), of(Constant(np.array([np.nan]))))


EXP = call(Op.EXP, [X])
INNER = Function((X,), call(Op.EXP, [X]), FunctionAttrs(primitive=True))


@pytest.mark.parametrize(
    ("a", "b", "sentence"),
    [
        (of(call(Op.ADD, [X, Y])), of(call(Op.ADD, [Y, X])), "node 0: operand 0 differs"),
        (of(call(Op.ADD, [X, ONE])), of(call(Op.ADD, [X, TWO])), "node 0: operand 1 differs"),
        (of(call(Op.EXP, [X])), of(call(Op.ABS, [X])), "node 0: calls of exp and abs"),
        (of(call(Op.EXP, [X])), of(Tuple((X,))), "node 0: a Call and a Tuple"),
        (of(call(Op.ADD, [EXP, EXP])), of(call(Op.ADD, [EXP, call(Op.EXP, [X])])), "node 1: calls of add and exp"),
        (
            of(TupleGetItem(Tuple((X, Y)), 0)),
            of(TupleGetItem(Tuple((X, Y)), 1)),
            "node 1: values 0 and 1 of a tuple",
        ),
        (of(X), of(X, X), "parameters (Tensor[(2,), float32], Tensor[(2,), float32]) and (Tensor[(2,), float32])"),
        (
            Function((X,), X, FunctionAttrs(compiler="vta")),
            Function((X,), X),
            "function attributes FunctionAttrs(primitive=False, compiler='vta', name='') and "
            "FunctionAttrs(primitive=False, compiler='', name='')",
        ),
        (
            of(call(Op.BIAS_ADD, [X, Y], AxisAttrs(0))),
            of(call(Op.BIAS_ADD, [X, Y], AxisAttrs(-1))),
            "node 0: attributes AxisAttrs(axis=0) and AxisAttrs(axis=-1)",
        ),
        (of(EXP), of(call_function(INNER, [X])), "node 0: calls of exp and a function"),
        (
            of(call_function(INNER, [X])),
            of(call_function(Function((X,), call(Op.ABS, [X]), INNER.attrs), [X])),
            "node 0: node 0: calls of exp and abs",
        ),
        (
            of(call_global(GlobalVar("f"), INNER, [X])),
            of(call_global(GlobalVar("g"), INNER, [X])),
            "node 0: calls of @f and @g",
        ),
        (of(Tuple((X, Y))), of(Tuple((X,))), "node 0: types (Tensor[(2,), float32], Tensor[(2,), float32]) and "
                                             "(Tensor[(2,), float32],)"),
        (of(call(Op.ABS, [EXP])), of(EXP), "2 and 1 nodes"),
        (of(X), of(Y), "the results differ"),
    ],
)  # fmt: skip
def test_the_first_difference_is_told(a: Function, b: Function, sentence: str) -> None:
    assert first_difference(a, b) == sentence


def test_lets_correspond() -> None:
    v, w = Var("v", X.type), Var("w", X.type)
    assert structural_equal(of(Let(v, EXP, v)), of(Let(w, call(Op.EXP, [X]), w)))
    assert first_difference(of(Let(v, EXP, v)), of(Let(w, EXP, X))) == "node 1: operand 1 differs"


def test_modules_have_the_same_functions() -> None:
    f, g = of(X), of(Y)
    assert first_difference(IRModule({"a": f}), IRModule({"b": f})) == "functions a and b"
    assert first_difference(IRModule({"a": f}), f) == "a IRModule and a Function"
    assert first_difference(IRModule({"a": f, "b": g}), IRModule({"a": f, "b": of(EXP)})) == "0 and 1 nodes"
