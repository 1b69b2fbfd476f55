"""Operators that compute every element from the one at its place.

Floating point operators compute in the type that they are given, ``erf`` in float64 inside. Tests:
tests/runtime/executor/operators/test_elementwise.py,
tests/runtime/executor/operators/test_attribute_defaults.py.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import erf, inf

import numpy as np

from runtime.executor.operators.attributes import Attrs, NoAttrs
from runtime.executor.operators.names import Op
from runtime.executor.operators.operator import Operator, Pattern, Rows, Types, define
from runtime.executor.operators.shapes import require_dtype, whole_float
from runtime.executor.operators.types import Array, RelayError, TensorType, element_type

__all__ = ["ROWS", "CastAttrs", "ClipAttrs", "HardSigmoidAttrs", "SlopeAttrs"]

Unary = Callable[[Array], Array]


@dataclass(frozen=True, slots=True)
class CastAttrs(Attrs):
    """The element type of the result. Integers keep their low bits; floats are cut towards zero, within range."""

    dtype: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "dtype", element_type(self.dtype))


@dataclass(frozen=True, slots=True)
class ClipAttrs(Attrs):
    """The range that results are in. NaN stays NaN."""

    a_min: float = -inf
    a_max: float = inf

    def __post_init__(self) -> None:
        if not self.a_min <= self.a_max:
            raise RelayError(f"clip: a_min is {self.a_min}, which is not below a_max, {self.a_max}")


@dataclass(frozen=True, slots=True)
class SlopeAttrs(Attrs):
    """The factor of negative numbers (``nn.leaky_relu``) or of ``exp(x) - 1`` (``nn.elu``)."""

    alpha: float = 0.01


@dataclass(frozen=True, slots=True)
class HardSigmoidAttrs(Attrs):
    """``min(max(alpha * x + beta, 0), 1)``."""

    alpha: float = 0.2
    beta: float = 0.5


def _identity(types: Types, _: Attrs) -> TensorType:
    return types[0]


def _of_float(types: Types, _: Attrs) -> TensorType:
    whole_float(types[0], "data")
    return types[0]


def _of_bool(types: Types, _: Attrs) -> TensorType:
    require_dtype(types[0], "data", "bool")
    return types[0]


def _of_number(types: Types, _: Attrs) -> TensorType:
    if types[0].dtype == "bool":
        raise RelayError("data holds numbers, not bool")
    return types[0]


def _cast_type(types: Types, attrs: CastAttrs) -> TensorType:
    return TensorType(types[0].shape, attrs.dtype)


def cast_array(array: Array, dtype: str) -> Array:
    """Return ``array`` as ``dtype``; a float that the integer type does not hold becomes its nearest one, NaN 0."""
    target = np.dtype(dtype)
    if array.dtype.kind == "f" and target.kind in "iu":
        limits = np.iinfo(target)
        wide = np.nan_to_num(array.astype(np.float64), nan=0.0, posinf=np.inf, neginf=-np.inf)
        below, above = wide < limits.min, wide >= float(limits.max) + 1
        cut = np.where(below | above, limits.min, wide).astype(target)
        return np.where(above, target.type(limits.max), cut)
    with np.errstate(over="ignore"):
        return array.astype(target)


def _clip(arrays: Sequence[Array], attrs: ClipAttrs) -> Array:
    data = arrays[0]
    low, high = attrs.a_min, attrs.a_max
    if data.dtype.kind in "iu":
        limits = np.iinfo(data.dtype)
        low, high = (min(max(end, limits.min), limits.max) for end in (low, high))
        low, high = int(np.ceil(low)), int(np.floor(high))
    return np.asarray(np.clip(data, data.dtype.type(low), data.dtype.type(high)))


def sigmoid(x: Array) -> Array:
    """Return ``1 / (1 + exp(-x))``, which never overflows."""
    small = np.exp(-np.abs(x))
    return np.where(x >= 0, 1 / (1 + small), small / (1 + small)).astype(x.dtype)


def _erf(x: Array) -> Array:
    flat = [erf(value) for value in x.astype(np.float64).reshape(-1).tolist()]
    return np.array(flat, np.float64).reshape(x.shape).astype(x.dtype)


def _relu(x: Array) -> Array:
    return np.asarray(np.maximum(x, x.dtype.type(0)))


def _hard_sigmoid(arrays: Sequence[Array], attrs: HardSigmoidAttrs) -> Array:
    [x] = arrays
    kind = x.dtype.type
    return np.asarray(np.clip(x * kind(attrs.alpha) + kind(attrs.beta), kind(0), kind(1)))


def _hard_swish(x: Array) -> Array:
    kind = x.dtype.type
    return np.asarray(x * np.clip(x * kind(1 / 6) + kind(0.5), kind(0), kind(1)))


def _leaky_relu(arrays: Sequence[Array], attrs: SlopeAttrs) -> Array:
    [x] = arrays
    return np.where(x >= 0, x, x * x.dtype.type(attrs.alpha))


def _elu(arrays: Sequence[Array], attrs: SlopeAttrs) -> Array:
    [x] = arrays
    kind = x.dtype.type
    return np.where(x >= 0, x, np.expm1(np.minimum(x, kind(0))) * kind(attrs.alpha))


def _row(relation: Callable[[Types, Attrs], TensorType], function: Unary) -> Operator:
    """Return the row of an operator without attributes."""

    def meaning(arrays: Sequence[Array], _: Attrs) -> Array:
        with np.errstate(all="ignore"):
            return function(arrays[0])

    return define(("data",), NoAttrs, relation, meaning, Pattern.ELEMWISE)


_FLOATS: Mapping[Op, Unary] = {
    Op.ACOS: np.arccos,
    Op.ASIN: np.arcsin,
    Op.ATAN: np.arctan,
    Op.CEIL: np.ceil,
    Op.COS: np.cos,
    Op.COSH: np.cosh,
    Op.ERF: _erf,
    Op.EXP: np.exp,
    Op.FLOOR: np.floor,
    Op.HARD_SWISH: _hard_swish,
    Op.LOG: np.log,
    Op.ROUND: np.rint,
    Op.RSQRT: lambda x: x.dtype.type(1) / np.sqrt(x),
    Op.SIGMOID: sigmoid,
    Op.SIN: np.sin,
    Op.SINH: np.sinh,
    Op.SQRT: np.sqrt,
    Op.TAN: np.tan,
    Op.TANH: np.tanh,
}
"""Operators on floating point numbers; ``round`` takes halves to the even neighbour, as ONNX does."""

ROWS: Rows = {
    **{op: _row(_of_float, function) for op, function in _FLOATS.items()},
    Op.ABS: _row(_of_number, np.abs),
    Op.COPY: _row(_identity, np.copy),
    Op.STOP_FUSION: define(("data",), NoAttrs, _identity, lambda arrays, _: arrays[0], Pattern.OPAQUE),
    Op.DROPOUT: _row(_identity, np.copy),
    Op.LOGICAL_NOT: _row(_of_bool, np.logical_not),
    Op.NEGATIVE: _row(_of_number, np.negative),
    Op.RELU: _row(_of_number, _relu),
    Op.SIGN: _row(_of_number, np.sign),
    Op.CAST: define(
        ("data",), CastAttrs, _cast_type, lambda arrays, attrs: cast_array(arrays[0], attrs.dtype), Pattern.ELEMWISE
    ),
    Op.CLIP: define(("data",), ClipAttrs, _of_number, _clip, Pattern.ELEMWISE),
    Op.ELU: define(("data",), SlopeAttrs, _of_float, _elu, Pattern.ELEMWISE),
    Op.HARD_SIGMOID: define(("data",), HardSigmoidAttrs, _of_float, _hard_sigmoid, Pattern.ELEMWISE),
    Op.LEAKY_RELU: define(("data",), SlopeAttrs, _of_float, _leaky_relu, Pattern.ELEMWISE),
}
"""The rows of the table of operators; ``nn.dropout`` is that of inference, which does nothing."""
