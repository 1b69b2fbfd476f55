"""Calls of integer operators for real scales: what a translator of quantised networks makes of its nodes.

Each function returns an expression that is within 1 of the same node computed in floating point and quantised, as
onnxruntime does it; what it promises more exactly is in the modules of its numbers. ``Quantised`` is a value with its
scale. Tests: tests/vta/relay/integer/test_build.py.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, floor

import numpy as np
import numpy.typing as npt

from vta.relay.integer.requantisation import requantisation
from vta.relay.integer.scales import Output, checked_scale
from vta.relay.integer.weighted import Operand, weighted_sum
from vta.relay.ir.names import Op
from vta.relay.ir.nodes import Call, Constant, Expr, constant, tensor_type
from vta.relay.ir.origin import Origin
from vta.relay.ir.types import Array, RelayError
from vta.relay.ops.call import call
from vta.relay.ops.pooling import AvgPool2dAttrs, Pool2dAttrs, window_counts
from vta.relay.ops.qnn.products import QnnMulAttrs
from vta.relay.ops.qnn.quantize import quantized
from vta.relay.ops.qnn.rescale import INT32, LeakyReluAttrs, RequantizeAttrs, WeightedAttrs
from vta.relay.ops.qnn.tables import QnnPool2dAttrs
from vta.relay.ops.selection import ConcatenateAttrs

__all__ = [
    "Quantised", "Target", "add", "add_sums", "average_pool", "concatenate", "hard_sigmoid", "hard_swish",
    "leaky_relu", "lookup", "multiply", "prelu", "rescale", "table",
]  # fmt: skip

Origins = tuple[Origin, ...]

_FINE = (16, 32, 64, 128, 256, 512, 1024)
"""Parts of a result's step to which sums may come before something is added."""


@dataclass(frozen=True, slots=True, eq=False)
class Quantised:
    """Integers that stand for ``(x - zero_point) * scale``; from ``low`` to ``high``, if not all of their type."""

    value: Expr
    scale: float
    zero_point: int = 0
    low: int | None = None
    high: int | None = None

    @property
    def bounds(self) -> tuple[int, int]:
        """What the integers may be."""
        low, high = tensor_type(self.value).dtype.bounds
        return low if self.low is None else self.low, high if self.high is None else self.high


@dataclass(frozen=True, slots=True)
class Target:
    """The scale, zero point and type that a result is to have; ``low`` and ``high`` if its range is smaller."""

    scale: float
    zero_point: int = 0
    dtype: str = "int8"
    low: int | None = None
    high: int | None = None

    @property
    def output(self) -> Output:
        """The range of the result."""
        limits = np.iinfo(self.dtype)
        return Output(
            self.zero_point,
            int(limits.min) if self.low is None else self.low,
            int(limits.max) if self.high is None else self.high,
        )


def rescale(
    value: Expr,
    scales: npt.ArrayLike,
    target: Target,
    *,
    zero_point: int = 0,
    data: tuple[int, int] | None = None,
    origins: Origins = (),
) -> Call:
    """Return ``value`` at the scale of ``target``.

    ``scales`` are those of ``value``: one, or a tensor that broadcasts to it, (C, 1, 1) for the channels of an image.
    ``data`` is the range of ``value`` if it is smaller than its type's.
    """
    bounds = tensor_type(value).dtype.bounds if data is None else data
    output = target.output
    wanted = np.asarray(scales, np.float64) / checked_scale(target.scale)
    numbers = requantisation(wanted, output, input_zero_point=zero_point, data=bounds)
    tables = [Constant(each) for each in (numbers.pre_shift, numbers.multiplier, numbers.addend, numbers.shift)]
    attrs = RequantizeAttrs(output.low, output.high, target.dtype, numbers.low, numbers.high)
    return call(Op.REQUANTIZE, [value, *tables], attrs, origins)


def add(lhs: Quantised, rhs: Quantised, target: Target, *, is_minus: bool = False, origins: Origins = ()) -> Call:
    """Return ``lhs + rhs``, or ``lhs - rhs``."""
    output = target.output
    sign = -1 if is_minus else 1
    operands = [
        Operand(factor * checked_scale(each.scale) / checked_scale(target.scale), each.zero_point, *each.bounds)
        for factor, each in ((1, lhs), (sign, rhs))
    ]
    numbers = weighted_sum(operands, output)
    attrs = WeightedAttrs(
        output.low,
        output.high,
        target.dtype,
        lhs_multiplier=numbers.multipliers[0],
        rhs_multiplier=numbers.multipliers[1],
        addend=numbers.addend,
        shift=numbers.shift,
    )
    return call(Op.QNN_ADD, [lhs.value, rhs.value], attrs, origins)


def add_sums(sums: Expr, scales: npt.ArrayLike, rhs: Quantised, target: Target, *, origins: Origins = ()) -> Call:
    """Return sums of products, int32 at ``scales``, plus ``rhs``, with no rounding to 8 bits between.

    The sums come to a small part of the result's step first, within the range in which the whole is not at its end.
    """
    output = target.output
    others = [(end - rhs.zero_point) * rhs.scale / checked_scale(target.scale) for end in rhs.bounds]
    low = output.low - output.zero_point - ceil(max(others)) - 1
    high = output.high - output.zero_point - floor(min(others)) + 1
    steps = min(_FINE, key=lambda steps: _coarseness(scales, target.scale, low * steps, high * steps, steps))
    fine = Target(target.scale / steps, 0, "int32", low * steps, high * steps)
    scaled = rescale(sums, scales, fine, origins=origins)
    return add(Quantised(scaled, fine.scale, 0, fine.low, fine.high), rhs, target, origins=origins)


def _coarseness(scales: npt.ArrayLike, scale: float, low: int, high: int, steps: int) -> float:
    """Return the expected error, in parts of the result's step, of sums that are brought to 1/``steps`` of it."""
    wanted = np.asarray(scales, np.float64) * steps / scale
    return (requantisation(wanted, Output(0, low, high)).expected_error + 0.25) / steps


def multiply(lhs: Quantised, rhs: Quantised, target: Target, *, origins: Origins = ()) -> Call:
    """Return ``lhs * rhs``."""
    product = call(Op.QNN_MUL, [lhs.value, rhs.value], QnnMulAttrs(lhs.zero_point, rhs.zero_point), origins)
    reach = max(abs(a - lhs.zero_point) * abs(b - rhs.zero_point) for a in lhs.bounds for b in rhs.bounds)
    return rescale(product, lhs.scale * rhs.scale, target, data=(-reach, reach), origins=origins)


def concatenate(parts: Sequence[Quantised], target: Target, axis: int, *, origins: Origins = ()) -> Call:
    """Return ``parts`` behind each other; those that have another scale than ``target`` are rescaled."""
    values = [_at_target(part, target, origins) for part in parts]
    return call(Op.CONCATENATE, values, ConcatenateAttrs(axis), origins)


def _at_target(part: Quantised, target: Target, origins: Origins) -> Expr:
    is_same = (part.scale, part.zero_point) == (target.scale, target.zero_point)
    if is_same and tensor_type(part.value).dtype == target.dtype and target.low is None and target.high is None:
        return part.value
    return rescale(part.value, part.scale, target, zero_point=part.zero_point, origins=origins)


def average_pool(data: Quantised, attrs: AvgPool2dAttrs, target: Target, *, origins: Origins = ()) -> Call:
    """Return the average pool: sums, then a scale for every place that has another number of elements."""
    window = {name: getattr(attrs, name) for name in Pool2dAttrs.__slots__}
    sums = call(Op.QNN_SUM_POOL2D, [data.value], QnnPool2dAttrs(**window, zero_point=data.zero_point), origins)
    if attrs.layout != "NCHW":
        raise RelayError(f"average pools of integers have the layout NCHW, not {attrs.layout}")
    shape = tensor_type(data.value).shape
    counts = window_counts((shape[2], shape[3]), attrs.window, count_include_pad=attrs.count_include_pad)
    largest = attrs.pool_size[0] * attrs.pool_size[1]
    low, high = (largest * (end - data.zero_point) for end in data.bounds)
    scales = data.scale / (counts if np.unique(counts).size > 1 else counts.flat[0])
    return rescale(sums, scales, target, data=(min(low, 0), max(high, 0)), origins=origins)


def leaky_relu(data: Quantised, slope: float, target: Target, *, origins: Origins = ()) -> Call:
    """Return ``max(x, 0) + slope * min(x, 0)``."""
    return _two_slopes(data, np.asarray(slope, np.float64), target, origins)


def prelu(data: Quantised, slopes: npt.ArrayLike, target: Target, *, origins: Origins = ()) -> Call:
    """Return the same with a tensor of slopes that broadcasts to the data: (C, 1, 1) for the channels of an image."""
    return _two_slopes(data, np.asarray(slopes, np.float64), target, origins)


def _two_slopes(data: Quantised, slopes: npt.NDArray[np.float64], target: Target, origins: Origins) -> Call:
    output = target.output
    ratio = checked_scale(data.scale) / checked_scale(target.scale)
    low, high = (end - data.zero_point for end in data.bounds)
    used = [float(slope) for slope in np.unique(slopes) if slope]
    positive = Operand(ratio, 0, 0, max(high, 0))
    negatives = [Operand(ratio * slope, 0, min(low, 0), 0) for slope in used]
    numbers = weighted_sum([positive, *negatives], output, is_exclusive=True)
    factors = {0.0: 0, **dict(zip(used, numbers.multipliers[1:], strict=True))}
    negative = np.array([factors[float(slope)] for slope in slopes.reshape(-1)], np.int32).reshape(slopes.shape)
    attrs = LeakyReluAttrs(output.low, output.high, target.dtype, data.zero_point, numbers.addend, numbers.shift)
    tables = [constant(numbers.multipliers[0], "int32"), Constant(negative)]
    return call(Op.QNN_LEAKY_RELU, [data.value, *tables], attrs, origins)


def hard_sigmoid(
    data: Quantised, target: Target, *, alpha: float = 0.2, beta: float = 0.5, origins: Origins = ()
) -> Call:
    """Return ``min(max(alpha * x + beta, 0), 1)``: one scale, one addend, and a clip."""
    output = target.output
    zero, one = output.zero_point, round(1 / target.scale) + output.zero_point
    low, high = max(output.low, min(zero, output.high)), min(output.high, max(one, output.low))
    ratio = alpha * checked_scale(data.scale) / checked_scale(target.scale)
    numbers = weighted_sum(
        [Operand(ratio, data.zero_point, *data.bounds), Operand(beta / target.scale, 0, 0, 1)],
        Output(output.zero_point, low, high),
    )
    addend = (numbers.addend + numbers.multipliers[1] + (1 << 31)) % (1 << 32) - (1 << 31)
    tables = [constant(each, "int32") for each in (0, numbers.multipliers[0], addend, numbers.shift)]
    attrs = RequantizeAttrs(low, max(low, high), target.dtype, *INT32)
    return call(Op.REQUANTIZE, [data.value, *tables], attrs, origins)


def hard_swish(data: Quantised, target: Target, *, origins: Origins = ()) -> Call:
    """Return ``x * min(max(x / 6 + 1/2, 0), 1)``; the second factor has 14 bits."""
    gate_scale = 2.0**-14
    gate = hard_sigmoid(data, Target(gate_scale, 0, "int32", 0, 1 << 14), alpha=1 / 6, origins=origins)
    product = call(Op.QNN_MUL, [data.value, gate], QnnMulAttrs(data.zero_point, 0), origins)
    low, high = ((end - data.zero_point) << 14 for end in data.bounds)
    return rescale(product, data.scale * gate_scale, target, data=(min(low, 0), max(high, 0)), origins=origins)


def table(function: Callable[[Array], Array], data: Quantised, target: Target) -> Array:
    """Return the results of ``function`` for all 256 integers of the data, computed in float32 and quantised."""
    low, high = data.bounds
    if high - low != 255:
        raise RelayError(f"a table is for integers of 8 bits, not for {tensor_type(data.value).dtype}")
    real = (np.arange(low, high + 1) - data.zero_point).astype(np.float32) * np.float32(data.scale)
    with np.errstate(all="ignore"):
        results = np.asarray(function(real), np.float32)
    return quantized(results, np.asarray(target.scale, np.float32), np.array(target.zero_point, target.dtype))


def lookup(function: Callable[[Array], Array], data: Quantised, target: Target, *, origins: Origins = ()) -> Call:
    """Return ``function`` of the data, by a table: exactly what floating point gives."""
    return call(Op.QNN_LOOKUP, [data.value, Constant(table(function, data, target))], None, origins)
