"""The host's operators in a network: activations into the accelerator's layout and out of it, and those of the table.

``prepared`` checks a step before anything of it runs: its attributes, and that what it makes is what the network says,
so that a damaged file can neither take more memory than its tensors have nor fail halfway.
Tests: tests/runtime/executor/test_host_operators.py.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from isa.errors import VTAError
from runtime.executor import layouts
from runtime.executor.network import HostStep, Network, NetworkError, Tensor
from runtime.executor.operators.attribute_values import made
from runtime.executor.operators.foreign import OnnxNodeAttrs, foreign_session
from runtime.executor.operators.names import Op
from runtime.executor.operators.operator import Results
from runtime.executor.operators.table import operator
from runtime.executor.operators.types import RelayError, TensorType, TupleType, Type

__all__ = ["LAYOUT_OPERATORS", "Prepared", "prepared"]

Array: TypeAlias = npt.NDArray[np.generic]
Prepared: TypeAlias = Callable[[Sequence[Array]], Sequence[Array]]
"""A step that has been checked: from its input arrays to its output arrays."""

_MOST_AROUND = 64
"""A folded image may have so many times the elements of what it is made of and gives."""


@dataclass(frozen=True, slots=True)
class _Pack:
    """(N, C, ...) in blocks of the accelerator's sizes."""

    batch: int
    block: int

    def result(self, data: TensorType) -> tuple[int, ...]:
        """Return the shape that comes of ``data``."""
        if data.rank < 2:
            raise RelayError(f"what is packed has images and channels, not {data.rank} dimensions")
        images, channels, *rest = data.shape
        return (-(-images // self.batch), -(-channels // self.block), *rest, self.batch, self.block)

    def run(self, array: Array) -> Array:
        """Return the packed array."""
        return layouts.packed(array, batch=self.batch, block=self.block)


@dataclass(frozen=True, slots=True)
class _Unpack:
    """The first images and channels of a packed activation."""

    images: int
    channels: int

    def result(self, data: TensorType) -> tuple[int, ...]:
        """Return the shape that comes of ``data``."""
        if data.rank < 4:
            raise RelayError(f"what is unpacked has four dimensions or more, not {data.rank}")
        outer, inner, *rest, batch, block = data.shape
        if outer * batch < self.images or inner * block < self.channels:
            raise RelayError(f"a tensor of shape {data.shape} has no {self.images} images of {self.channels} channels")
        return (self.images, self.channels, *rest)

    def run(self, array: Array) -> Array:
        """Return the unpacked array."""
        return layouts.unpacked(array, images=self.images, channels=self.channels)


@dataclass(frozen=True, slots=True)
class _Fold:
    """Places of a window as channels, packed."""

    extents: tuple[int, int]
    factors: tuple[int, int]
    gaps: tuple[int, int]
    dilation: tuple[int, int]
    pads: tuple[int, int]
    batch: int
    block: int
    fill: int

    def result(self, data: TensorType) -> tuple[int, ...]:
        """Return the shape that comes of ``data``."""
        if data.rank != 4:
            raise RelayError(f"what is folded is images of four dimensions, not {data.rank}")
        if min(self.pads) < 0 or not -128 <= self.fill <= 127:
            raise RelayError(f"pads {self.pads} are from 0, and fill {self.fill} is an int8")
        images, channels, *image = data.shape
        lanes = prod(self.factors) * channels
        shape = (-(-images // self.batch), -(-lanes // self.block), *self.extents, self.batch, self.block)
        around = (
            images
            * channels
            * prod(
                (extent - 1) * gap + (factor - 1) * step + 1
                for extent, gap, factor, step in zip(self.extents, self.gaps, self.factors, self.dilation, strict=True)
            )
        )
        if around > _MOST_AROUND * (prod(data.shape) + prod(shape)):
            raise RelayError(f"its windows reach over {around} elements, and the image has {prod(image)} a channel")
        return shape

    def run(self, array: Array) -> Array:
        """Return the folded array."""
        return layouts.folded(
            array, extents=self.extents, factors=self.factors, gaps=self.gaps, dilation=self.dilation, pads=self.pads,
            batch=self.batch, block=self.block, fill=self.fill,
        )  # fmt: skip


LAYOUT_OPERATORS: Mapping[str, type[_Pack | _Unpack | _Fold]] = {"fold": _Fold, "pack": _Pack, "unpack": _Unpack}
"""What is no operator of a graph."""


def prepared(step: HostStep, network: Network) -> Prepared:
    """Return what does ``step``; raises ``NetworkError`` naming it unless it makes what ``network`` says."""
    where = f"step {step.node!r}"
    try:
        says = tuple(_type_of(network.tensor(name)) for name in step.outputs)
        result, run = _found(step, [_type_of(network.tensor(name)) for name in step.inputs])
    except RelayError as error:
        raise NetworkError(f"{where}, {step.operator}: {error}") from None
    except KeyError:
        raise NetworkError(f"{where} needs operator {step.operator!r}, which is not here") from None
    makes = result.fields if isinstance(result, TupleType) else (result,)
    if makes != says:
        raise NetworkError(
            f"{where}, {step.operator}, makes {', '.join(map(str, makes))}, and the network says "
            f"{', '.join(map(str, says)) or 'nothing'}"
        )
    return _guarded(run, where, step.operator)


def _type_of(tensor: Tensor) -> TensorType:
    return TensorType(tensor.shape, tensor.dtype)


def _found(step: HostStep, given: Sequence[TensorType]) -> tuple[Type, Callable[[Sequence[Array]], Results]]:
    """Return the type of what a step makes, and what makes it."""
    if step.operator in LAYOUT_OPERATORS:
        return _layout(step, given)
    names = {str(op): op for op in Op}
    definition = operator(names[step.operator])
    attrs = made(definition.attrs_type, step.attributes)
    if isinstance(attrs, OnnxNodeAttrs):
        foreign_session(attrs.model)  # says at once whether it can be run
    return definition.infer(given, attrs), lambda arrays: definition.evaluate(arrays, attrs)


def _layout(step: HostStep, given: Sequence[TensorType]) -> tuple[Type, Callable[[Sequence[Array]], Results]]:
    kind = made(LAYOUT_OPERATORS[step.operator], step.attributes)
    if len(given) != 1:
        raise RelayError(f"it takes one tensor, not {len(given)}")
    for name, value in step.attributes.items():
        if name not in ("pads", "fill") and not all(size >= 1 for size in np.ravel(np.array(value, object))):
            raise RelayError(f"{name} is from 1, not {value}")
    return TensorType(kind.result(given[0]), given[0].dtype), lambda arrays: kind.run(arrays[0])


def _guarded(run: Callable[[Sequence[Array]], Results], where: str, name: str) -> Prepared:
    """Return ``run``, giving a sequence; what has no result for the numbers at hand is told in a sentence."""

    def call(arrays: Sequence[Array]) -> Sequence[Array]:
        try:
            result = run(arrays)
        except VTAError as error:
            raise NetworkError(f"{where}, {name}: {error}") from None
        return result if isinstance(result, tuple) else (result,)

    return call
