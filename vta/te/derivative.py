"""Derivatives of an expression by one element of a tensor that it reads.

Tests: tests/vta/te/test_gradient.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from isa.errors import VTAError
from vta.tir import math_ops, ops
from vta.tir.deep import deep
from vta.tir.expr import (
    Add,
    Builtin,
    Call,
    Cast,
    Compare,
    Div,
    Expr,
    FloatImm,
    IntImm,
    Let,
    Max,
    Min,
    Mul,
    Not,
    ProducerLoad,
    Select,
    Sub,
    Var,
    const,
    same,
)
from vta.tir.traverse import substitute, walk

__all__ = ["GradientError", "derivative"]


class GradientError(VTAError, ValueError):
    """Something that has no derivative here."""


_CALLS: Mapping[Builtin, Callable[[Expr, Expr], Expr]] = {
    Builtin.EXP: lambda _, y: y,
    Builtin.LOG: lambda x, _: 1.0 / x,
    Builtin.SQRT: lambda _, y: 0.5 / y,
    Builtin.TANH: lambda _, y: 1.0 - y * y,
    Builtin.SIGMOID: lambda _, y: y * (1.0 - y),
    Builtin.ABS: lambda x, _: ops.select(x >= 0.0, const(1.0, x.dtype), const(-1.0, x.dtype)),
    Builtin.SIN: lambda x, _: math_ops.cos(x),
    Builtin.COS: lambda x, _: 0.0 - math_ops.sin(x),
    Builtin.TAN: lambda _, y: 1.0 + y * y,
    Builtin.ATAN: lambda x, _: 1.0 / (1.0 + x * x),
    Builtin.ERF: lambda x, _: ops.exp(0.0 - x * x) * 1.1283791670955126,
}
"""Of a function of x with the value y."""

_STEPS = (Builtin.FLOOR, Builtin.CEIL, Builtin.ROUND, Builtin.TRUNC)
"""Functions whose derivative is zero wherever there is one."""


@deep
def derivative(expr: Expr, element: ProducerLoad) -> Expr | None:
    """Return the derivative of ``expr`` by ``element``, None where it does not depend on it."""
    if same(expr, element):
        return const(1.0, expr.dtype)
    if not any(isinstance(node, ProducerLoad) and same(node, element) for node in walk(expr)):
        return None
    match expr:
        case Add() | Sub():
            a, b = derivative(expr.a, element), derivative(expr.b, element)
            return _sum(a, b, negative=isinstance(expr, Sub))
        case Mul():
            a, b = derivative(expr.a, element), derivative(expr.b, element)
            return _sum(None if a is None else a * expr.b, None if b is None else expr.a * b)
        case Div() if expr.dtype.is_float:
            a, b = derivative(expr.a, element), derivative(expr.b, element)
            below = None if b is None else expr.a * b / (expr.b * expr.b)
            return _sum(None if a is None else a / expr.b, below, negative=True)
        case Max() | Min():
            first = expr.a >= expr.b if isinstance(expr, Max) else expr.a <= expr.b
            return ops.select(first, _known(expr.a, element), _known(expr.b, element))
        case Select():
            return ops.select(expr.condition, _known(expr.true_value, element), _known(expr.false_value, element))
        case Cast() if expr.dtype.is_float and expr.value.dtype.is_float:
            return _known(expr.value, element).astype(expr.dtype)
        case Let():
            return derivative(substitute(expr.body, {expr.var: expr.value}), element)
        case Call():
            return _of_call(expr, element)
        case Compare() | Not() | Var() | IntImm() | FloatImm():
            return None
        case Cast() if expr.value.dtype.is_int:
            return None
        case _ if expr.dtype.is_int:
            return None
        case _:
            raise GradientError(f"{type(expr).__name__} {expr} has no derivative here")


def _of_call(call: Call, element: ProducerLoad) -> Expr | None:
    match call.op, call.args:
        case Builtin.IF_THEN_ELSE, (condition, first, second):
            return ops.if_then_else(condition, _known(first, element), _known(second, element))
        case Builtin.POW, (base, exponent):
            a, b = derivative(base, element), derivative(exponent, element)
            by_base = None if a is None else a * exponent * ops.power(base, exponent - 1.0)
            return _sum(by_base, None if b is None else b * call * ops.log(base))
        case op, _ if op in _STEPS:
            return None
        case op, (x,) if op in _CALLS:
            return _CALLS[op](x, call) * _known(x, element)
        case _:
            raise GradientError(f"{call.op} has no derivative here")


def _known(expr: Expr, element: ProducerLoad) -> Expr:
    found = derivative(expr, element)
    return const(0.0, expr.dtype) if found is None else found


def _sum(a: Expr | None, b: Expr | None, *, negative: bool = False) -> Expr | None:
    if b is None:
        return a
    if a is None:
        return 0.0 - b if negative else b
    return a - b if negative else a + b
