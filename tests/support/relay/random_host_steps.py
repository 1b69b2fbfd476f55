"""Random networks of the host's steps, over all element types and the numbers at their ends."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from isa.config import VTAConfig
from runtime.executor.network import Home, HostStep, Network, Tensor
from runtime.executor.operators.attribute_values import Plain, made
from runtime.executor.operators.names import Op
from runtime.executor.operators.operator import Operator
from runtime.executor.operators.table import operator
from runtime.executor.operators.types import RelayError, TensorType
from vta.relay.host.elements import ELEMENTS

__all__ = ["RandomSteps", "chain", "random_array"]

Array = np.ndarray[Any, np.dtype[Any]]
_TYPES = ("float32", "float32", "float64", "int8", "uint8", "int32", "bool", "int64", "int16")
_CASTS = (*dict.fromkeys(_TYPES), "uint16", "uint32", "uint64", "float16")
_ENDS = (
    0.0,
    -0.0,
    np.nan,
    np.inf,
    -np.inf,
    1e-45,
    3e38,
    -1e-38,
    0.5,
    -0.5,
    1.5,
    2.5,
    127.5,
    -128.5,
    1e10,
    -1e10,
    255.5,
)


def random_array(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> Array:
    """Return numbers of all magnitudes; a third of floats are special ones."""
    kind = np.dtype(dtype)
    if kind.kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    if kind.kind != "f":
        limits = np.iinfo(kind)
        return rng.integers(limits.min, limits.max, shape, kind, endpoint=True)  # type: ignore[no-any-return]
    with np.errstate(all="ignore"):
        array = (rng.standard_normal(shape) * 10.0 ** rng.integers(-2, 3)).astype(kind)
        flat = array.reshape(-1)
        for place in rng.integers(0, max(flat.size, 1), flat.size // 3):
            flat[place] = kind.type(rng.choice(_ENDS))
    return array


def chain(shape: tuple[int, ...], *operators: str, attributes: Mapping[str, Plain] | None = None) -> Network:
    """Return operators of one operand, one after the other, from x to y, of float32."""
    names = ["x", *(f"t{number}" for number in range(1, len(operators))), "y"]
    steps = [
        HostStep(made, each, (read,), (made,), attributes or {})
        for each, read, made in zip(operators, names, names[1:], strict=False)
    ]
    return Network(
        config=VTAConfig(), tensors={name: Tensor(name, shape, "float32") for name in names}, steps=tuple(steps),
        inputs=("x",), outputs=("y",), arena_bytes=64, constants=np.zeros(0, np.uint8), host_constants={},
    )  # fmt: skip


@dataclass(eq=False)
class RandomSteps:
    """A chain of up to eight steps with branches, of the operators that are compiled and of one that is not."""

    seed: int
    tensors: dict[str, Tensor] = field(default_factory=dict)
    constants: dict[str, Array] = field(default_factory=dict)
    steps: list[HostStep] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng(self.seed)
        rank = int(self.rng.integers(1, 5))
        self._add("x", self._ints(1, (0, 41, 10, 7, 6)[rank], rank), _TYPES[self.rng.integers(len(_TYPES))])
        values = ["x"]
        for number in range(int(self.rng.integers(1, 9))):
            for _ in range(30):
                if self._step(f"t{number}", values):
                    break

    @property
    def input(self) -> Array:
        """Numbers for the only input."""
        return random_array(self.rng, self.tensors["x"].shape, self.tensors["x"].dtype)

    @property
    def network(self) -> Network | None:
        """The network; None for one without steps."""
        if not self.steps:
            return None
        names = [step.outputs[0] for step in self.steps]
        outputs = tuple(name for name in names if name == names[-1] or self.rng.random() < 0.1)
        return Network(
            config=VTAConfig(), tensors=self.tensors, steps=tuple(self.steps), inputs=("x",), outputs=outputs,
            arena_bytes=64, constants=np.zeros(0, np.uint8), host_constants=self.constants,
        )  # fmt: skip

    # --- a step -------------------------------------------------------------------------------------------------------

    def _step(self, name: str, values: list[str]) -> bool:
        """Append a step on a random value, if there is one of the operator that was drawn."""
        ops = [*ELEMENTS, Op.MAX_POOL2D, Op.AVG_POOL2D, Op.CONV2D, Op.EXP]
        op = ops[self.rng.integers(len(ops))]
        source = values[-1] if self.rng.random() < 0.7 else values[self.rng.integers(len(values))]
        row = operator(op)
        try:
            inputs, attributes = self._operands(op, row, source, values)
            attrs = made(row.attrs_type, attributes)
            kinds = [TensorType(self.tensors[each].shape, self.tensors[each].dtype) for each in inputs]
            result = row.infer(kinds, attrs)
        except RelayError:
            return False
        assert isinstance(result, TensorType)
        self._add(name, result.shape, result.dtype)
        self.steps.append(HostStep(name, str(op), tuple(inputs), (name,), attributes))
        values.append(name)
        return True

    def _operands(self, op: Op, row: Operator, source: str, values: list[str]) -> tuple[list[str], Mapping[str, Plain]]:
        shape, dtype = self.tensors[source].shape, self.tensors[source].dtype
        if op in (Op.MAX_POOL2D, Op.AVG_POOL2D, Op.CONV2D):
            return self._window(op, source)
        axis = int(self.rng.integers(-len(shape), len(shape)))

        def along(kind: str) -> str:
            return self._constant((shape[axis],), kind)

        match op:
            case Op.BIAS_ADD | Op.PRELU:
                return [source, along(dtype)], {"axis": axis}
            case Op.BATCH_NORM:
                return [source, *(along(dtype) for _ in range(4))], {"axis": axis, "epsilon": float(self.rng.random())}
            case Op.QUANTIZE:
                kind = str(self.rng.choice(["int8", "uint8", "int16", "uint16", "int32"]))
                return [source, *self._scales(shape, axis, kind)], {"out_dtype": kind, "axis": axis}
            case Op.DEQUANTIZE:
                return [source, *self._scales(shape, axis, dtype)], {"axis": axis}
            case Op.RESCALE | Op.QNN_ADD:
                return self._integers(op, source)
            case Op.WHERE:
                return [self._beside(shape, "bool"), source, self._beside(shape, dtype)], {}
            case _ if row.inputs == ("lhs", "rhs"):
                alike = [each for each in values if self.tensors[each].dtype == dtype]
                is_value = self.rng.random() < 0.5
                other = alike[self.rng.integers(len(alike))] if is_value else self._beside(shape, dtype)
                return [source, other] if self.rng.random() < 0.7 else [other, source], {}
            case _:
                return [source], self._parameters(op)

    def _parameters(self, op: Op) -> Mapping[str, Plain]:
        low, high = sorted(map(float, 3 * self.rng.standard_normal(2)))
        match op:
            case Op.CAST:
                return {"dtype": str(self.rng.choice(_CASTS))}
            case Op.CLIP:
                return {
                    "a_min": low if self.rng.random() < 0.8 else "-inf",
                    "a_max": high if self.rng.random() < 0.8 else "inf",
                }
            case Op.LEAKY_RELU:
                return {"alpha": low}
            case Op.HARD_SIGMOID:
                return {"alpha": low, "beta": high}
            case _:
                return {}

    def _integers(self, op: Op, source: str) -> tuple[list[str], Mapping[str, Plain]]:
        shape, shift = self.tensors[source].shape, int(self.rng.integers(0, 32))
        limits: dict[str, Plain] = {"out_min": -100, "out_max": 101, "shift": shift}
        if op is Op.QNN_ADD:
            left, right, addend = (int(each) for each in self.rng.integers(-(1 << 31), 1 << 31, 3))
            other = self._beside(shape, str(self.rng.choice(["int8", "uint8", "int32"])))
            return [source, other], {**limits, "lhs_multiplier": left, "rhs_multiplier": right, "addend": addend}
        bias, narrow, multiplier = (self._beside(shape, "int32") for _ in range(3))
        self.constants[narrow][...] = self.rng.integers(0, 32, self.tensors[narrow].shape)
        self.constants[multiplier][...] >>= int(self.rng.integers(0, 20))
        more = [self._constant(shape, "int8")] if self.rng.random() < 0.5 else []
        zero, factor, offset = (int(each) for each in self.rng.integers(-128, 128, 3))
        return [source, bias, narrow, multiplier, *more], {
            **limits, "zero_point": zero, "residual_multiplier": factor, "residual_zero_point": offset,
            "ties_to_even": bool(self.rng.integers(2)),
        }  # fmt: skip

    def _window(self, op: Op, source: str) -> tuple[list[str], Mapping[str, Plain]]:
        tensor = self.tensors[source]
        if len(tensor.shape) != 4:
            raise RelayError("there is no image")
        attributes: dict[str, Plain] = {
            "strides": self._ints(1, 3, 2), "padding": self._ints(0, 2, 4), "dilation": self._ints(1, 3, 2)
        }  # fmt: skip
        if op is Op.CONV2D:
            channels = tensor.shape[1]
            weight = self._constant((channels, 1, *self._ints(1, 4, 2)), tensor.dtype)
            return [source, weight], {**attributes, "groups": channels}
        attributes |= {"pool_size": self._ints(1, 4, 2), "ceil_mode": bool(self.rng.integers(2))}
        if op is Op.AVG_POOL2D:
            attributes["count_include_pad"] = bool(self.rng.integers(2))
        return [source], attributes

    # --- tensors ------------------------------------------------------------------------------------------------------

    def _ints(self, low: int, high: int, count: int) -> tuple[int, ...]:
        return tuple(int(each) for each in self.rng.integers(low, high, count))

    def _add(self, name: str, shape: tuple[int, ...], dtype: str, home: Home = Home.HOST) -> None:
        self.tensors[name] = Tensor(name, shape, str(dtype), home)

    def _constant(self, shape: tuple[int, ...], dtype: str) -> str:
        name = f"c{len(self.constants)}"
        self.constants[name] = random_array(self.rng, shape, dtype)
        self._add(name, shape, dtype, Home.HOST_CONSTANT)
        return name

    def _beside(self, shape: tuple[int, ...], dtype: str) -> str:
        """Return a constant that broadcasts to ``shape``."""
        rest = shape[len(shape) - int(self.rng.integers(0, len(shape) + 1)) :]
        return self._constant(tuple(1 if self.rng.random() < 0.3 else extent for extent in rest), dtype)

    def _scales(self, shape: tuple[int, ...], axis: int, kind: str) -> list[str]:
        size = () if self.rng.random() < 0.5 else (shape[axis],)
        return [self._constant(size, "float32"), self._constant(size, kind)]
