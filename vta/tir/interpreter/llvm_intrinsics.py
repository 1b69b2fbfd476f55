"""Intrinsics of LLVM's that a program calls by name, as expressions that the interpreter runs.

Of those that do the same to every lane; the types at a name's end say nothing that the operands do not say. Tests:
tests/vta/tir/test_llvm_intrinsics.py.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Mapping
from fractions import Fraction

from vta.tir.dtype import DType
from vta.tir.expr import Builtin, Call, Cast, Expr, Max, Min, StringImm, const
from vta.tir.ops import select

__all__ = ["FUSED", "fused", "fused32", "intrinsic_name", "without_llvm"]

FUSED = ("llvm.fma", "llvm.fmuladd")
"""Products to which something is added, rounded once."""

_CALLS: Mapping[str, Builtin] = {
    "ctpop": Builtin.POPCOUNT, "fabs": Builtin.ABS, "sqrt": Builtin.SQRT, "exp": Builtin.EXP, "exp2": Builtin.EXP2,
    "log": Builtin.LOG, "log2": Builtin.LOG2, "log10": Builtin.LOG10, "sin": Builtin.SIN, "cos": Builtin.COS,
    "tan": Builtin.TAN, "asin": Builtin.ASIN, "acos": Builtin.ACOS, "atan": Builtin.ATAN, "atan2": Builtin.ATAN2,
    "sinh": Builtin.SINH, "cosh": Builtin.COSH, "tanh": Builtin.TANH, "pow": Builtin.POW, "floor": Builtin.FLOOR,
    "ceil": Builtin.CEIL, "trunc": Builtin.TRUNC, "rint": Builtin.ROUND, "nearbyint": Builtin.ROUND,
    "roundeven": Builtin.ROUND, "copysign": Builtin.COPYSIGN,
}  # fmt: skip


def _signed(dtype: DType, *, signed: bool) -> DType:
    return DType(f"{'int' if signed else 'uint'}{dtype.bits}").with_lanes(dtype.lanes)


def _extreme(kind: type[Min | Max], *, signed: bool) -> Callable[[Expr, Expr], Expr]:
    def make(a: Expr, b: Expr) -> Expr:
        wanted = _signed(a.dtype, signed=signed)
        return Cast(a.dtype, kind(Cast(wanted, a), Cast(wanted, b)))

    return make


def _number_of(kind: type[Min | Max]) -> Callable[[Expr, Expr], Expr]:
    """Return the smaller or larger one of floats; of a number and a NaN, the number."""

    def make(a: Expr, b: Expr) -> Expr:
        nan = [Call(DType("bool"), Builtin.ISNAN, (each,)) for each in (a, b)]
        return select(nan[0], b, select(nan[1], a, kind(a, b)))

    return make


_EXPRESSIONS: Mapping[str, Callable[..., Expr]] = {
    "smin": _extreme(Min, signed=True), "smax": _extreme(Max, signed=True),
    "umin": _extreme(Min, signed=False), "umax": _extreme(Max, signed=False),
    "minnum": _number_of(Min), "maxnum": _number_of(Max),
    "abs": lambda x, _: select(x >= 0, x, const(0, x.dtype) - x),
    "ctlz": lambda x, _: Call(x.dtype, Builtin.CLZ, (x,)),
}  # fmt: skip


def intrinsic_name(call: Call) -> str:
    """Return the name of LLVM's intrinsic that ``call`` calls, without types: "llvm.ctpop"; empty for any other."""
    match call.op, call.args:
        case Builtin.CALL_EXTERN | Builtin.CALL_PURE_EXTERN, (StringImm(value=name), *_) if name.startswith("llvm."):
            return ".".join(name.split(".")[:2])
        case _:
            return ""


def without_llvm(call: Call) -> Expr | None:
    """Return an expression for the call of an intrinsic of LLVM's; None where there is none."""
    name = intrinsic_name(call).removeprefix("llvm.")
    arguments = call.args[1:]
    if name in _CALLS:
        return Call(call.dtype, _CALLS[name], arguments)
    made = _EXPRESSIONS.get(name)
    return None if made is None else made(*arguments)


def fused(a: float, b: float, c: float) -> float:
    """Return ``a*b + c``, rounded once to double precision."""
    if not all(map(math.isfinite, (a, b, c))):
        return a * b + c
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if not exact:
        return a * b + c  # which zero it is
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


def fused32(a: float, b: float, c: float) -> float:
    """Return ``a*b + c``, rounded once to single precision: in double precision to an odd number first."""
    near = fused(a, b, c)
    if math.isfinite(near) and near:
        exact = Fraction(a) * Fraction(b) + Fraction(c)
        if Fraction(near) != exact and not int(near.hex().split("p")[0][-1], 16) & 1:
            near = math.nextafter(near, math.inf if exact > Fraction(near) else -math.inf)
    return ctypes.c_float(near).value
