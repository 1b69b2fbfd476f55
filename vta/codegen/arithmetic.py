"""Arithmetic of one operation in LLVM IR, with TIR's meaning: wrap-around, floor division, saturating float to integer.

Every function takes the builder, the operands' type and their values. Divisors must be known not to be zero; the caller
checks. Tests: tests/vta/codegen/test_host_arithmetic.py.
"""

from collections.abc import Sequence

from llvmlite import ir

from vta.codegen.llvm_types import CodegenError, Value, constant, register_type
from vta.codegen.vectors import by_lane
from vta.tir.dtype import DType, Kind
from vta.tir.expr import EQ, GE, GT, LE, LT, NE, Compare

__all__ = [
    "compare",
    "convert",
    "divide",
    "float_intrinsic",
    "maximum",
    "minimum",
    "remainder",
    "shift_left",
    "shift_right",
]

_SYMBOLS: dict[type[Compare], str] = {EQ: "==", NE: "!=", LT: "<", LE: "<=", GT: ">", GE: ">="}


def compare(builder: ir.IRBuilder, kind: type[Compare], dtype: DType, a: Value, b: Value) -> Value:
    """Return ``a kind b`` as one bit; a comparison with NaN holds for NE alone."""
    symbol = _SYMBOLS[kind]
    if dtype.is_float:
        unordered = kind is NE
        return builder.fcmp_unordered(symbol, a, b) if unordered else builder.fcmp_ordered(symbol, a, b)
    if dtype.kind is Kind.INT:
        return builder.icmp_signed(symbol, a, b)
    return builder.icmp_unsigned(symbol, a, b)


def minimum(builder: ir.IRBuilder, dtype: DType, a: Value, b: Value) -> Value:
    """Return the smaller operand."""
    return builder.select(compare(builder, LT, dtype, a, b), a, b)


def maximum(builder: ir.IRBuilder, dtype: DType, a: Value, b: Value) -> Value:
    """Return the larger operand."""
    return builder.select(compare(builder, GT, dtype, a, b), a, b)


def _known(value: Value) -> int | None:
    """Return the value of an integer constant, the same in all lanes; None for anything else."""
    match value:
        case ir.Constant(type=ir.IntType(), constant=int(number)):
            return number
        case ir.Constant(type=ir.VectorType(), constant=[int(number), *others]) if all(o == number for o in others):
            return number
        case _:
            return None


def _signed_quotient(builder: ir.IRBuilder, dtype: DType, a: Value, b: Value) -> tuple[Value, Value]:
    """Return quotient and remainder rounded towards zero; the smallest integer over -1 wraps to itself."""
    if _known(b) not in (None, -1):
        return builder.sdiv(a, b), builder.srem(a, b)
    by_minus_one = builder.icmp_signed("==", b, constant(dtype, -1))
    safe = builder.select(by_minus_one, constant(dtype, 1), b)
    quotient = builder.select(by_minus_one, builder.neg(a), builder.sdiv(a, safe))
    return quotient, builder.select(by_minus_one, constant(dtype, 0), builder.srem(a, safe))


def _rounds_down(builder: ir.IRBuilder, dtype: DType, rest: Value, b: Value) -> Value:
    """Whether a quotient rounded towards zero is one above the floor: a rest with the other sign than ``b``."""
    zero = constant(dtype, 0)
    return builder.and_(builder.icmp_signed("!=", rest, zero), builder.icmp_signed("<", builder.xor(rest, b), zero))


def divide(builder: ir.IRBuilder, dtype: DType, a: Value, b: Value, *, floor: bool) -> Value:
    """Return ``a / b``: exact for floats unless ``floor``, else rounded down (``floor``) or towards zero."""
    if dtype.is_float:
        quotient = builder.fdiv(a, b)
        return float_intrinsic(builder, "llvm.floor", dtype, [quotient]) if floor else quotient
    if dtype.kind is Kind.UINT:
        return builder.udiv(a, b)
    divisor = _known(b)
    if floor and divisor is not None and divisor > 0 and divisor & (divisor - 1) == 0:
        return builder.ashr(a, constant(dtype, divisor.bit_length() - 1))
    quotient, rest = _signed_quotient(builder, dtype, a, b)
    if not floor:
        return quotient
    return builder.select(_rounds_down(builder, dtype, rest, b), builder.sub(quotient, constant(dtype, 1)), quotient)


def remainder(builder: ir.IRBuilder, dtype: DType, a: Value, b: Value, *, floor: bool) -> Value:
    """Return the remainder of ``divide``: with the sign of ``b`` (``floor``) or of ``a``."""
    if dtype.is_float:
        return _float_remainder(builder, dtype, a, b, floor=floor)
    if dtype.kind is Kind.UINT:
        return builder.urem(a, b)
    divisor = _known(b)
    if floor and divisor is not None and divisor > 0 and divisor & (divisor - 1) == 0:
        return builder.and_(a, constant(dtype, divisor - 1))
    _, rest = _signed_quotient(builder, dtype, a, b)
    if not floor:
        return rest
    return builder.select(_rounds_down(builder, dtype, rest, b), builder.add(rest, b), rest)


def _float_remainder(builder: ir.IRBuilder, dtype: DType, a: Value, b: Value, *, floor: bool) -> Value:
    rest = builder.frem(a, b)
    if not floor:
        return rest
    zero = constant(dtype, 0.0)
    nonzero = builder.fcmp_ordered("!=", rest, zero)
    other_sign = builder.xor(builder.fcmp_ordered("<", rest, zero), builder.fcmp_ordered("<", b, zero))
    return builder.select(builder.and_(nonzero, other_sign), builder.fadd(rest, b), rest)


def shift_left(builder: ir.IRBuilder, dtype: DType, a: Value, count: Value) -> Value:
    """Return ``a`` shifted left; a count of the width or more (or below zero) shifts everything out."""
    return _shift(builder, dtype, a, count, builder.shl, constant(dtype, 0))


def shift_right(builder: ir.IRBuilder, dtype: DType, a: Value, count: Value) -> Value:
    """Return ``a`` shifted right, keeping the sign of signed types; a count of the width or more leaves sign bits."""
    if dtype.kind is not Kind.INT:
        return _shift(builder, dtype, a, count, builder.lshr, constant(dtype, 0))
    negative = builder.icmp_signed("<", a, constant(dtype, 0))
    signs = builder.select(negative, constant(dtype, -1), constant(dtype, 0))
    return _shift(builder, dtype, a, count, builder.ashr, signs)


def _shift(builder: ir.IRBuilder, dtype: DType, a: Value, count: Value, operation: Value, beyond: Value) -> Value:
    width = constant(dtype, dtype.bits) if dtype.bits > 1 else None
    known = _known(count)
    if known is not None:
        return operation(a, count) if 0 <= known < dtype.bits else beyond
    if width is None:
        return builder.select(count, beyond, a)
    inside = builder.icmp_unsigned("<", count, width)
    shifted = operation(a, builder.select(inside, count, constant(dtype, 0)))
    return builder.select(inside, shifted, beyond)


def convert(builder: ir.IRBuilder, value: Value, source: DType, target: DType) -> Value:
    """Return ``value`` as ``target``: integers wrap, floats that do not fit an integer become its nearest value."""
    kind = register_type(target)
    if source == target:
        return value
    if Kind.HANDLE in (source.kind, target.kind) or source.lanes != target.lanes:
        raise CodegenError(f"{source} cannot be converted to {target}")
    if target.kind is Kind.BOOL:
        return compare(builder, NE, source, value, constant(source, 0))
    if source.is_float:
        if target.is_float and (source.bits, target.bits) == (64, 16):
            if target.lanes > 1:
                return by_lane(builder, target, [value], lambda lane: _double_to_half(builder, lane))
            return _double_to_half(builder, value)
        if target.is_float:
            return builder.fptrunc(value, kind) if target.bits < source.bits else builder.fpext(value, kind)
        return _float_to_int(builder, value, source, target)
    if target.is_float:
        return builder.sitofp(value, kind) if source.kind is Kind.INT else builder.uitofp(value, kind)
    bits = 1 if source.kind is Kind.BOOL else source.bits
    if target.bits <= bits:
        return value if target.bits == bits else builder.trunc(value, kind)
    return builder.sext(value, kind) if source.kind is Kind.INT else builder.zext(value, kind)


def _double_to_half(builder: ir.IRBuilder, value: Value) -> Value:
    """Return a float64 as float16, rounded once, without the call into a compiler's library that LLVM would make.

    By way of float32, rounded to odd: towards zero, with the last bit set if anything was cut off. Two more bits than
    float16 has are then enough for the second rounding to see which way the first one should have gone.
    """
    single, bits = ir.FloatType(), ir.IntType(32)
    magnitude = float_intrinsic(builder, "llvm.fabs", DType("float64"), [value])
    nearest = builder.fptrunc(value, single)
    back = float_intrinsic(builder, "llvm.fabs", DType("float64"), [builder.fpext(nearest, value.type)])
    pattern = builder.bitcast(nearest, bits)
    away = builder.zext(builder.fcmp_ordered(">", back, magnitude), bits)
    inexact = builder.zext(builder.fcmp_ordered("!=", back, magnitude), bits)
    odd = builder.or_(builder.sub(pattern, away), inexact)
    return builder.fptrunc(builder.bitcast(odd, single), ir.HalfType())


def _float_to_int(builder: ir.IRBuilder, value: Value, source: DType, target: DType) -> Value:
    name = "llvm.fptosi.sat" if target.kind is Kind.INT else "llvm.fptoui.sat"
    integer, number = register_type(target), register_type(source)
    lanes = "" if target.lanes == 1 else f"v{target.lanes}"
    function = builder.module.declare_intrinsic(
        f"{name}.{lanes}i{target.bits}.{lanes}f{source.bits}", (), ir.FunctionType(integer, [number])
    )
    return builder.call(function, [value])


def float_intrinsic(builder: ir.IRBuilder, name: str, dtype: DType, arguments: Sequence[Value]) -> Value:
    """Call LLVM's function ``name`` on operands and with a result of ``dtype``, a float type."""
    kind = register_type(dtype)
    lanes = "" if dtype.lanes == 1 else f"v{dtype.lanes}"
    function = builder.module.declare_intrinsic(
        f"{name}.{lanes}f{dtype.bits}", (), ir.FunctionType(kind, [kind] * len(arguments))
    )
    return builder.call(function, list(arguments))
