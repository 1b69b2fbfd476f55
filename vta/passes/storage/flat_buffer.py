"""Where the elements of a multi-dimensional buffer lie in one-dimensional memory.

Tests: tests/vta/passes/storage/test_storage_flatten.py and the rest of tests/vta/passes/storage.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from isa.config import VTAConfig
from isa.origin import Origin
from vta.arith.simplify import Analyzer
from vta.passes.errors import PassError
from vta.passes.memory_info import find_memory
from vta.tir.buffer import Buffer
from vta.tir.expr import Expr, IntImm, Range, const

__all__ = ["FlatBuffer", "FlattenError", "flat_argument", "flat_region"]

_ZERO = IntImm(0)
_LARGEST = (1 << 31) - 1


class FlattenError(PassError):
    """A buffer that does not lie in memory as the program says."""


@dataclass(frozen=True, slots=True, eq=False)
class FlatBuffer:
    """A buffer and its one-dimensional form.

    The element at ``mins`` has offset ``base`` in ``buffer``; ``strides`` lead to the others.
    """

    buffer: Buffer
    mins: tuple[Expr, ...]
    strides: tuple[Expr, ...]
    base: Expr = _ZERO

    def offset(self, indices: Sequence[Expr], origin: Origin | None = None) -> Expr:
        """Return the element offset of ``indices``, not simplified; ``origin`` is where they come from."""
        if len(indices) != len(self.strides):
            raise FlattenError(
                f"buffer {self.buffer.name!r} is accessed with a wrong number of indices",
                expected=str(len(self.strides)),
                got=str(len(indices)),
                origin=origin,
            )
        total = self.base
        for index, low, stride in zip(indices, self.mins, self.strides, strict=True):
            total = total + (index - low) * stride
        return total


def _check_size(buffer: Buffer, factors: Sequence[Expr], origin: Origin | None = None) -> None:
    """Refuse a constant number of elements that indices, which are int32, cannot count."""
    sizes = [factor.value for factor in factors if isinstance(factor, IntImm)]
    if len(sizes) == len(factors) and prod(sizes) > _LARGEST:
        raise FlattenError(
            f"buffer {buffer.name!r}",
            expected=f"at most {_LARGEST} elements, because indices are int32",
            got=f"{prod(sizes)} elements ({' x '.join(map(str, sizes))})",
            hint="split the tensor into several",
            origin=origin,
        )


def flat_argument(buffer: Buffer) -> FlatBuffer:
    """Return the form of a buffer that the function is given: all of it, with its own strides and offset."""
    _check_size(buffer, buffer.shape)
    count: Expr = const(1)
    for extent, stride in zip(buffer.shape, buffer.element_strides, strict=True):
        count = count + (extent - 1) * stride if buffer.strides else count * extent
    count = buffer.elem_offset + count
    flat = replace(buffer, shape=(Analyzer().simplify(count),), strides=(), elem_offset=_ZERO)
    return FlatBuffer(flat, tuple(_ZERO for _ in buffer.shape), buffer.element_strides, buffer.elem_offset)


def flat_region(
    buffer: Buffer,
    bounds: Sequence[Range],
    alignment: Mapping[int, tuple[int, int]],
    config: VTAConfig,
    analyzer: Analyzer,
    origin: Origin | None = None,
) -> FlatBuffer:
    """Return the form of the region ``bounds`` of ``buffer``, allocated by itself.

    ``alignment`` gives (factor, offset) by dimension: the stride becomes the next number that is offset modulo factor.
    ``origin`` is the stage that fills it. Raises ``FlattenError`` for a region that is too large to index.
    """
    extents = [analyzer.simplify(bound.extent) for bound in bounds]
    _check_size(buffer, extents, origin)
    strides: list[Expr] = []
    step: Expr = const(1)
    for dim in reversed(range(len(extents))):
        if dim in alignment:
            factor, offset = alignment[dim]
            step = step + (factor + offset - step % factor) % factor
        step = analyzer.simplify(step)
        strides.append(step)
        step = step * extents[dim]
    memory = find_memory(config, buffer.scope)
    flat = replace(
        buffer,
        shape=(analyzer.simplify(step),),
        strides=(),
        elem_offset=_ZERO,
        data_alignment=memory.lanes if memory else buffer.data_alignment,
    )
    return FlatBuffer(flat, tuple(analyzer.simplify(bound.min) for bound in bounds), tuple(reversed(strides)))
