"""The exponential function of float32, in arithmetic that every processor has vectors of.

A call of the C library would be one for each lane of a vector, and other numbers with another library. Here
``x = n ln 2 + r`` with ``|r| <= ln 2 / 2``, so ``exp(x) = 2**n exp(r)``: ``ln 2`` in two parts whose products with
``n`` are exact or nearly so (Cody and Waite), and a polynomial of degree 6 for ``exp(r)`` (coefficients: S. L. Moshier,
Cephes, expf). The result is within 1.5 units in the last place, and the same however a loop is scheduled; above the
largest float it is infinite, below the smallest one 0, and NaN stays NaN.
Tests: tests/vta/codegen/test_exponential.py.
"""

from collections.abc import Sequence
from math import e, log2

from llvmlite import ir

from vta.codegen.llvm_types import Value, constant, register_type
from vta.tir.dtype import DType

__all__ = ["emit_exp"]

_LOWEST, _HIGHEST = -104.0, 89.0
"""Beyond them the result is 0 or infinite."""

_TO_WHOLE = 12582912.0
"""1.5 * 2**23: a float this large has no fraction, and its low bits count."""
_TO_WHOLE_BITS = 0x4B400000

_LN2_HIGH, _LN2_LOW = 0.693359375, -2.12194440e-4
_COEFFICIENTS = (1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1)
_FRACTION_BITS, _BIAS = 23, 127


def emit_exp(builder: ir.IRBuilder, dtype: DType, x: Value) -> Value:
    """Return ``exp(x)`` of a float32, or of every lane of a vector of them."""
    word = DType("int32").with_lanes(dtype.lanes)

    def number(value: float) -> Value:
        return constant(dtype, value)

    limited = builder.select(builder.fcmp_ordered("<", x, number(_LOWEST)), number(_LOWEST), x)
    limited = builder.select(builder.fcmp_ordered(">", limited, number(_HIGHEST)), number(_HIGHEST), limited)
    shifted = builder.fadd(builder.fmul(limited, number(log2(e))), number(_TO_WHOLE))
    n = builder.fsub(shifted, number(_TO_WHOLE))
    steps = builder.sub(builder.bitcast(shifted, register_type(word)), constant(word, _TO_WHOLE_BITS))
    rest = builder.fsub(limited, builder.fmul(n, number(_LN2_HIGH)))
    rest = builder.fsub(rest, builder.fmul(n, number(_LN2_LOW)))
    power = _polynomial(builder, rest, [number(c) for c in _COEFFICIENTS])
    power = builder.fadd(builder.fmul(builder.fmul(power, rest), rest), builder.fadd(rest, number(1.0)))
    half = builder.ashr(steps, constant(word, 1))  # 2**n in two factors, each of which is a normal number
    for part in (half, builder.sub(steps, half)):
        bits = builder.shl(builder.add(part, constant(word, _BIAS)), constant(word, _FRACTION_BITS))
        power = builder.fmul(power, builder.bitcast(bits, x.type))
    return power


def _polynomial(builder: ir.IRBuilder, x: Value, coefficients: Sequence[Value]) -> Value:
    total, *rest = coefficients
    for coefficient in rest:
        total = builder.fadd(builder.fmul(total, x), coefficient)
    return total
