"""exp, log and tanh of float32, in arithmetic that every processor has vectors of.

Calls of the C library would be one for each lane of a vector, and other numbers with another library. The methods and
coefficients are those of S. L. Moshier's Cephes (expf, logf, tanhf); results are within 1.5 units in the last place,
and the same however a loop is scheduled (``contracts``: products to which something is added are not rounded by
themselves). NaN stays NaN, and zeros and infinities are where they belong.
Tests: tests/vta/codegen/test_elementary.py.
"""

from collections.abc import Sequence
from math import e, inf, log2, nan

from llvmlite import ir

from vta.codegen.arithmetic import float_intrinsic
from vta.codegen.llvm_types import Value, constant, register_type
from vta.tir.dtype import DType

__all__ = ["emit_exp", "emit_log", "emit_tanh"]

_LN2_HIGH, _LN2_LOW = 0.693359375, -2.12194440e-4
"""ln 2 in two parts, so that the product of the first one with a small integer is exact (Cody and Waite)."""

_FRACTION_BITS, _BIAS = 23, 127

_LOWEST, _HIGHEST = -104.0, 89.0
"""Beyond them exp is 0 or infinite."""

_TO_WHOLE, _TO_WHOLE_BITS = 12582912.0, 0x4B400000
"""1.5 * 2**23: a float this large has no fraction, and its low bits count."""

_EXP = (1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1)
_EXP_OF_TWICE = (
    8.8598806103e-2, 2.6797540262e-1, 6.6668811433e-1, 1.3333144312, 1.9999997670, 2.0000000647, 1.0,
)  # fmt: skip
"""exp(2 r) for ``|r| <= ln 2 / 4``, within 2e-9."""

_LOG = (
    7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1, -1.6668057665e-1,
    2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1,
)  # fmt: skip
_TANH = (-5.70498872745e-3, 2.06390887954e-2, -5.37397155531e-2, 1.33314422036e-1, -3.33332819422e-1)
_TANH_POLYNOMIAL_BELOW, _TANH_ONE_FROM = 0.625, 9.25

_SMALLEST_NORMAL, _RAISED_BY = 2.0**-126, 25
_HALF_BITS, _FRACTION_MASK = 0x3F000000, 0x007FFFFF
_ROOT_OF_HALF = 0.707106781186547524


class _Arithmetic:
    """Operations on float32 values, or vectors of them, with constants."""

    def __init__(self, builder: ir.IRBuilder, dtype: DType, *, contracts: bool) -> None:
        self.builder, self.dtype, self.contracts = builder, dtype, contracts
        self.word = DType("int32").with_lanes(dtype.lanes)

    def number(self, value: float) -> Value:
        return constant(self.dtype, value)

    def times(self, x: Value, factor: float) -> Value:
        return self.builder.fmul(x, self.number(factor))

    def plus(self, x: Value, addend: float) -> Value:
        return self.builder.fadd(x, self.number(addend))

    def product_and(self, x: Value, y: Value, addend: Value) -> Value:
        """Return ``x * y + addend``, rounded once where products may be."""
        if self.contracts:
            return float_intrinsic(self.builder, "llvm.fma", self.dtype, [x, y, addend])
        return self.builder.fadd(self.builder.fmul(x, y), addend)

    def scaled_and(self, x: Value, factor: float, addend: Value) -> Value:
        return self.product_and(x, self.number(factor), addend)

    def below(self, x: Value, limit: float) -> Value:
        return self.builder.fcmp_ordered("<", x, self.number(limit))

    def bits(self, x: Value) -> Value:
        return self.builder.bitcast(x, register_type(self.word))

    def whole(self, value: int) -> Value:
        return constant(self.word, value)

    def polynomial(self, x: Value, coefficients: Sequence[float]) -> Value:
        """Return the polynomial, highest coefficient first: pairs, pairs of these, ... (Estrin), so they overlap."""
        terms = [self.number(coefficient) for coefficient in reversed(coefficients)]
        while len(terms) > 1:
            pairs = [self.product_and(high, x, low) for low, high in zip(terms[::2], terms[1::2], strict=False)]
            terms = [*pairs, *terms[2 * len(pairs) :]]
            x = self.builder.fmul(x, x)
        return terms[0]

    def chain(self, x: Value, coefficients: Sequence[float]) -> Value:
        """Return the polynomial by Horner's rule, with the fewest operations; each waits for the one before."""
        value = self.number(coefficients[0])
        for coefficient in coefficients[1:]:
            value = self.product_and(value, x, self.number(coefficient))
        return value


def emit_exp(builder: ir.IRBuilder, dtype: DType, x: Value, *, contracts: bool) -> Value:
    """Return ``exp(x)``: ``x = n ln 2 + r`` with ``|r| <= ln 2 / 2``, so it is ``2**n exp(r)``."""
    of = _Arithmetic(builder, dtype, contracts=contracts)
    limited = builder.select(of.below(x, _LOWEST), of.number(_LOWEST), x)
    limited = builder.select(builder.fcmp_ordered(">", limited, of.number(_HIGHEST)), of.number(_HIGHEST), limited)
    steps, power = _power(of, limited)
    half = builder.ashr(steps, of.whole(1))  # 2**n in two factors, each of which is a normal number
    for part in (half, builder.sub(steps, half)):
        factor = builder.shl(builder.add(part, of.whole(_BIAS)), of.whole(_FRACTION_BITS))
        power = builder.fmul(power, builder.bitcast(factor, x.type))
    return power


def _power(of: _Arithmetic, x: Value) -> tuple[Value, Value]:
    """Return n, as an integer, and ``exp(r)``."""
    builder = of.builder
    shifted, rest = _reduced(of, x)
    power = of.product_and(of.polynomial(rest, _EXP), builder.fmul(rest, rest), of.plus(rest, 1.0))
    return builder.sub(of.bits(shifted), of.whole(_TO_WHOLE_BITS)), power


def _reduced(of: _Arithmetic, x: Value, halves: int = 1) -> tuple[Value, Value]:
    """Return n, in the low bits of a float, and ``x - n ln 2 / halves``."""
    shifted = of.scaled_and(x, halves * log2(e), of.number(_TO_WHOLE))
    n = of.plus(shifted, -_TO_WHOLE)
    return shifted, of.scaled_and(n, -_LN2_LOW / halves, of.scaled_and(n, -_LN2_HIGH / halves, x))


def emit_log(builder: ir.IRBuilder, dtype: DType, x: Value, *, contracts: bool) -> Value:
    """Return ``log(x)``: ``x = 2**n (1 + m)`` with ``1 + m`` between the roots of 1/2 and 2, so it is that of both."""
    of = _Arithmetic(builder, dtype, contracts=contracts)
    tiny = of.below(x, _SMALLEST_NORMAL)
    normal = builder.select(tiny, of.times(x, 2.0**_RAISED_BY), x)
    exponent = builder.sub(builder.lshr(of.bits(normal), of.whole(_FRACTION_BITS)), of.whole(_BIAS - 1))
    exponent = builder.sub(exponent, builder.select(tiny, of.whole(_RAISED_BY), of.whole(0)))
    fraction = builder.or_(builder.and_(of.bits(normal), of.whole(_FRACTION_MASK)), of.whole(_HALF_BITS))
    m = builder.bitcast(fraction, x.type)
    low = of.below(m, _ROOT_OF_HALF)
    n = builder.sitofp(builder.sub(exponent, builder.select(low, of.whole(1), of.whole(0))), x.type)
    m = of.plus(builder.fadd(m, builder.select(low, m, of.number(0.0))), -1.0)
    square = builder.fmul(m, m)
    value = of.scaled_and(n, _LN2_LOW, builder.fmul(builder.fmul(of.polynomial(m, _LOG), m), square))
    value = builder.fadd(m, of.scaled_and(square, -0.5, value))
    value = of.scaled_and(n, _LN2_HIGH, value)
    finite = of.below(x, inf)
    value = builder.select(finite, value, x)
    value = builder.select(of.below(x, 0.0), of.number(nan), value)
    return builder.select(builder.fcmp_ordered("==", x, of.number(0.0)), of.number(-inf), value)


def emit_tanh(builder: ir.IRBuilder, dtype: DType, x: Value, *, contracts: bool) -> Value:
    """Return ``tanh(x)``: a polynomial near 0, ``1 - 2 / (exp(2 |x|) + 1)`` with the sign of ``x`` elsewhere.

    Both are computed for all numbers, so the fewest operations count: one polynomial runs while the other waits.
    """
    of = _Arithmetic(builder, dtype, contracts=contracts)
    size = float_intrinsic(builder, "llvm.fabs", dtype, [x])
    square = builder.fmul(x, x)
    near = of.product_and(builder.fmul(of.chain(square, _TANH), square), x, x)
    limited = builder.select(of.below(size, _TANH_ONE_FROM), size, of.number(_TANH_ONE_FROM))
    shifted, rest = _reduced(of, limited, halves=2)
    bits = builder.shl(of.bits(shifted), of.whole(_FRACTION_BITS))
    power = builder.bitcast(builder.add(of.bits(of.chain(rest, _EXP_OF_TWICE)), bits), x.type)
    far = builder.fsub(of.number(1.0), builder.fdiv(of.number(2.0), of.plus(power, 1.0)))
    far_away = builder.fcmp_ordered(">=", size, of.number(_TANH_POLYNOMIAL_BELOW))
    return float_intrinsic(builder, "llvm.copysign", dtype, [builder.select(far_away, far, near), x])
