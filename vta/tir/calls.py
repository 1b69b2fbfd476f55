"""Calls that a person writes out, under TVM's names: ``tir.call_extern``, ``tir.call_intrin``, ``tvm.ir.Op.get``.

Tests: tests/vta/tir/test_calls.py.
"""

from __future__ import annotations

from isa.errors import VTAError
from vta.tir.dtype import DType
from vta.tir.expr import Builtin, Call, Expr, ExprLike, StringImm, convert

__all__ = ["CallError", "Op", "call_extern", "call_intrin", "call_pure_extern"]


class CallError(VTAError, ValueError):
    """A call of something that there is not."""


class Op:
    """The intrinsics by name."""

    @staticmethod
    def get(op_name: str) -> Builtin:
        """Return the intrinsic that is printed as ``op_name``, for example "tir.exp"."""
        for op in Builtin:
            if op == op_name:
                return op
        raise CallError(f"there is no intrinsic {op_name!r}; there are {', '.join(Builtin)}")


def _extern(op: Builtin, dtype: str, func_name: str, args: tuple[ExprLike, ...]) -> Expr:
    if not isinstance(func_name, str) or not func_name:
        raise CallError(f"{op}: expected the name of a C function, got {func_name!r}")
    return Call(DType(dtype), op, (StringImm(func_name), *map(convert, args)))


def call_extern(dtype: str, func_name: str, *args: ExprLike) -> Expr:
    """Return the call of a C function, which may do anything; ``dtype`` is the type of its result."""
    return _extern(Builtin.CALL_EXTERN, dtype, func_name, args)


def call_pure_extern(dtype: str, func_name: str, *args: ExprLike) -> Expr:
    """Return the call of a C function that does nothing but give a value."""
    return _extern(Builtin.CALL_PURE_EXTERN, dtype, func_name, args)


def call_intrin(dtype: str, func_name: str | Builtin, *args: ExprLike) -> Expr:
    """Return the call of an intrinsic, by its printed name or as ``Op.get`` gives it."""
    op = func_name if isinstance(func_name, Builtin) else Op.get(func_name)
    return Call(DType(dtype), op, tuple(map(convert, args)))
