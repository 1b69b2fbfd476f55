"""Calls that a person writes out, under TVM's names: ``tir.call_extern``, ``tir.call_intrin``, ``tvm.ir.Op.get``.

Tests: tests/vta/tir/test_calls.py.
"""

from __future__ import annotations

from isa.errors import VTAError
from vta.tir.buffer import Buffer
from vta.tir.dtype import BOOL, HANDLE, INT32, DType
from vta.tir.expr import BufferLoad, Builtin, Call, Expr, ExprLike, StringImm, const, convert
from vta.tir.expr.own_intrinsic import OwnIntrinsic, own_intrinsic

__all__ = [
    "CallError", "Op", "address_of", "call_extern", "call_intrin", "call_llvm_intrin", "call_llvm_pure_intrin",
    "call_packed", "call_pure_extern", "isnullptr", "ret", "tvm_struct_get", "tvm_struct_set", "tvm_tuple",
]  # fmt: skip


class CallError(VTAError, ValueError):
    """A call of something that there is not."""


class _OpType(type):
    """What a call names is an ``Op``: the intrinsics here, and a script's own by their names."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, Builtin | OwnIntrinsic)


class Op(metaclass=_OpType):
    """The intrinsics by name."""

    @staticmethod
    def get(op_name: str) -> Builtin | OwnIntrinsic:
        """Return the intrinsic that is printed as ``op_name``, for example "tir.exp"; a script's own is one, too."""
        for op in Builtin:
            if op == op_name:
                return op
        own = own_intrinsic(op_name)
        if own is not None:
            return own[0]
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


def _llvm(op: Builtin, dtype: str, name: str | int, args: tuple[ExprLike, ...]) -> Expr:
    if isinstance(name, int):  # as ``tvm.target.codegen.llvm_lookup_intrinsic_id`` gives it: the characters
        name = name.to_bytes((name.bit_length() + 7) // 8, "big").decode(errors="replace")
    if not isinstance(name, str) or not name.startswith("llvm."):
        raise CallError(f"expected the name of an intrinsic of LLVM's, for example 'llvm.ctpop.v8i8', got {name!r}")
    if not args:
        raise CallError(f"{name}: expected the number of types in its name, and its arguments")
    return _extern(op, dtype, name, args[1:])


def call_llvm_intrin(dtype: str, name: str | int, *args: ExprLike) -> Expr:
    """Return the call of an intrinsic of LLVM's, with its types in its name; the first of ``args`` counts them."""
    return _llvm(Builtin.CALL_EXTERN, dtype, name, args)


def call_llvm_pure_intrin(dtype: str, name: str | int, *args: ExprLike) -> Expr:
    """Return the call of an intrinsic of LLVM's that does nothing but give a value."""
    return _llvm(Builtin.CALL_PURE_EXTERN, dtype, name, args)


def ret(val: ExprLike) -> Expr:
    """Return the end of the function, with a number as its result: ``Evaluate(tir.ret(x))`` is the statement."""
    value = convert(val)
    return Call(value.dtype, Builtin.RET, (value,))


def address_of(buffer_load: BufferLoad) -> Expr:
    """Return the address of an element."""
    return Call(HANDLE, Builtin.ADDRESS_OF, (convert(buffer_load),))


def isnullptr(var: ExprLike) -> Expr:
    """Return whether an address is none."""
    return Call(BOOL, Builtin.IS_NULL, (convert(var),))


def tvm_tuple(*value: ExprLike) -> Expr:
    """Return several values as one argument of a call."""
    return Call(HANDLE, Builtin.TUPLE, tuple(map(convert, value)))


def tvm_struct_get(arr: ExprLike, index: ExprLike, field: int, dtype: str) -> Expr:
    """Return a field of the array at ``arr``, by its number."""
    return Call(DType(dtype), Builtin.STRUCT_GET, (convert(arr), convert(index), convert(field)))


def tvm_struct_set(arr: ExprLike, index: ExprLike, field: int, value: ExprLike) -> Expr:
    """Return the call that sets a field of the array at ``arr``, by its number."""
    return Call(INT32, Builtin.STRUCT_SET, (convert(arr), convert(index), convert(field), convert(value)))


def call_packed(func_name: str, *args: ExprLike | Buffer) -> Expr:
    """Return the call of a function of Python, by its global name (``register_func``); a buffer comes as an array.

    Its result is an int32: what the function returns, 0 if it returns nothing.
    """
    if not isinstance(func_name, str) or not func_name:
        raise CallError(f"{Builtin.CALL_PACKED}: expected the name of a function, got {func_name!r}")
    packed = (_array(arg) if isinstance(arg, Buffer) else convert(arg) for arg in args)
    return Call(INT32, Builtin.CALL_PACKED, (StringImm(func_name), *packed))


def _array(buffer: Buffer) -> Expr:
    """Return what stands for a buffer among the arguments of a call: where it is, and how it lies there."""
    shape = Call(HANDLE, Builtin.TUPLE, buffer.shape)
    strides = Call(HANDLE, Builtin.TUPLE, buffer.strides)
    return Call(HANDLE, Builtin.MAKE_ARRAY, (buffer.data, shape, strides, const(0, buffer.dtype), buffer.elem_offset))


def call_intrin(dtype: str, func_name: str | Builtin, *args: ExprLike) -> Expr:
    """Return the call of an intrinsic, by its printed name or as ``Op.get`` gives it."""
    op = func_name if isinstance(func_name, Builtin) else Op.get(func_name)
    if not isinstance(op, Builtin):
        own = own_intrinsic(op)
        assert own is not None
        return _extern(own[1], dtype, op, args)
    return Call(DType(dtype), op, tuple(map(convert, args)))
