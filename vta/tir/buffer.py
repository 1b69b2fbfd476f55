"""Buffers: a piece of memory seen as a tensor, and views into it that tensor intrinsics declare.

Tests: tests/vta/tir/test_buffer.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntFlag
from functools import reduce
from operator import mul
from typing import TYPE_CHECKING, ClassVar

from vta.tir.dtype import HANDLE, INT32, DType
from vta.tir.expr import (
    EQ,
    BufferLoad,
    Builtin,
    Call,
    Cast,
    Expr,
    ExprError,
    ExprLike,
    IntImm,
    Max,
    PointerType,
    Ramp,
    Select,
    Var,
    binary,
    const,
    convert,
)

if TYPE_CHECKING:
    from vta.tir.regions import BufferRegion
    from vta.tir.stmt import BufferStore

__all__ = ["Access", "Buffer", "decl_buffer", "is_global", "size_variable"]


class Access(IntFlag):
    """How an access pointer is used."""

    READ = 1
    WRITE = 2


class Scope(str):
    """The name of a memory. TVM asks a buffer for it by a call: ``buffer.scope()`` is the name as well."""

    __slots__ = ()

    def __call__(self) -> str:
        """Return the name."""
        return str(self)


def is_global(scope: str) -> bool:
    """Whether ``scope`` is DRAM, which the host can address too."""
    return scope in ("", "global")


def size_variable(extent: Expr) -> Var | None:
    """Return the variable that an extent is, also one of another type of integers; None for anything else."""
    inner = extent.value if isinstance(extent, Cast) else extent
    return inner if isinstance(inner, Var) and inner.dtype.is_int else None


@dataclass(frozen=True, slots=True, eq=False)
class Buffer:
    """A tensor of ``shape`` at ``data[elem_offset]``; row-major unless ``strides`` (in elements) say otherwise.

    ``scope`` names the memory ("global", "local.acc_buffer", ...). ``data_alignment`` and ``offset_factor`` (in
    elements) are what a tensor intrinsic demands of the region it is bound to. Buffers compare by identity.
    """

    name: str
    data: Var
    dtype: DType
    shape: tuple[Expr, ...]
    strides: tuple[Expr, ...] = ()
    elem_offset: Expr = IntImm(0)  # noqa: RUF009  # an immutable node
    scope: str = "global"
    data_alignment: int = 64
    offset_factor: int = 1

    READ: ClassVar[Access] = Access.READ
    WRITE: ClassVar[Access] = Access.WRITE

    def __post_init__(self) -> None:
        object.__setattr__(self, "scope", Scope(self.scope))

    def __hash__(self) -> int:
        return id(self)

    def __eq__(self, other: object) -> bool:
        return self is other

    def same_as(self, other: object) -> bool:
        """Whether ``other`` is this very buffer."""
        return self is other

    def __getitem__(self, indices: ExprLike | slice | tuple[ExprLike | slice, ...]) -> BufferLoad | BufferRegion:
        """Return the element at ``indices``; where one is a slice, ``2:6``, the region."""
        from vta.tir.regions import region_at  # regions are of buffers

        given = indices if isinstance(indices, tuple) else (indices,)
        if any(isinstance(index, slice) for index in given):
            return region_at(self, given)
        return self.load(*given)  # type: ignore[arg-type]  # there is no slice among them

    def vload(self, begin: ExprLike | Sequence[ExprLike], dtype: str | None = None) -> BufferLoad:
        """Return the element at ``begin``, or with a vector type that many elements side by side."""
        return BufferLoad(self, self._vector_indices(begin, dtype))

    def vstore(self, begin: ExprLike | Sequence[ExprLike], value: ExprLike) -> BufferStore:
        """Return the statement that stores ``value``, a number or a vector of numbers, from ``begin`` on."""
        from vta.tir.stmt import BufferStore  # statements are about buffers

        stored = convert(value, self.dtype if isinstance(value, int | float) else None)
        return BufferStore(self, stored, self._vector_indices(begin, stored.dtype))

    def _vector_indices(self, begin: ExprLike | Sequence[ExprLike], dtype: str | None) -> tuple[Expr, ...]:
        kind = self.dtype if dtype is None else DType(dtype)
        if kind.element != self.dtype.element or kind.lanes % self.dtype.lanes:
            raise ExprError(f"buffer {self.name!r} holds {self.dtype}; it cannot be read or written as {kind}")
        given = begin if isinstance(begin, Sequence) and not isinstance(begin, str) else (begin,)
        indices = tuple(convert(index) for index in given)
        self.offset_of(indices)
        lanes = kind.lanes // self.dtype.lanes
        return indices if lanes == 1 else (*indices[:-1], Ramp(indices[-1], const(1, indices[-1].dtype), lanes))

    @property
    def element_strides(self) -> tuple[Expr, ...]:
        """Strides in elements, row-major ones computed from the shape."""
        if self.strides:
            return self.strides
        result: list[Expr] = []
        step: Expr = const(1)
        for extent in reversed(self.shape):
            result.append(step)
            step = step * extent
        return tuple(reversed(result))

    def offset_of(self, indices: Sequence[ExprLike]) -> Expr:
        """Return the element offset of ``indices`` from ``data``."""
        if len(indices) != len(self.shape):
            raise ExprError(f"buffer {self.name!r} has {len(self.shape)} dimensions, not {len(indices)}")
        offset = self.elem_offset
        for index, stride in zip(indices, self.element_strides, strict=True):
            offset = offset + convert(index) * stride
        return offset

    def _reach(self) -> Expr:
        """Return the elements from the first one to the end: whole rows of the dimension that reaches furthest.

        Where strides are not constants that is taken to be the first one, as in TVM.
        """
        if not self.strides or not self.shape:
            return reduce(mul, self.shape, const(1))
        rows = [stride * extent for stride, extent in zip(self.strides, self.shape, strict=True)]
        known = all(isinstance(row, IntImm) for row in rows)
        return reduce(lambda a, b: binary(Max, a, b), rows) if known else rows[0]

    def access_ptr(
        self,
        access_mask: str | int,
        ptr_type: str = "handle",
        content_lanes: int = 1,
        offset: ExprLike = 0,
    ) -> Expr:
        """Return the intrinsic for "a pointer to this buffer", which lowering turns into an address or an SRAM index.

        ``access_mask`` is "r", "w", "rw" or the ``Access`` bits; ``ptr_type`` "handle" asks for an address, an integer
        type for the element index; ``content_lanes`` counts lanes of one unit; ``offset`` is in elements. The extent
        reaches from there to the end of the buffer, gaps between strided rows (and after the last one) included.
        """
        if isinstance(access_mask, str):
            if not access_mask or set(access_mask) - {"r", "w"}:
                raise ExprError(f"access_mask is 'r', 'w' or 'rw', not {access_mask!r}")
            access_mask = sum({"r": Access.READ, "w": Access.WRITE}[c] for c in set(access_mask))
        extent: Expr = self._reach() - convert(offset)
        annotation = Call(self.dtype.with_lanes(content_lanes), Builtin.TYPE_ANNOTATION)
        start = self.elem_offset + convert(offset)
        if content_lanes > 1:
            start, extent = start // content_lanes, extent // content_lanes
        args = (annotation, self.data, start, extent, IntImm(int(access_mask), INT32))
        return Call(DType(ptr_type), Builtin.ACCESS_PTR, args)

    def load(self, *indices: ExprLike) -> BufferLoad:
        """Return the element at ``indices``."""
        self.offset_of(indices)
        return BufferLoad(self, tuple(convert(i) for i in indices))


def decl_buffer(
    shape: ExprLike | Sequence[ExprLike],
    dtype: str = "float32",
    name: str = "buffer",
    data: Var | None = None,
    strides: Sequence[ExprLike] | None = None,
    elem_offset: ExprLike | None = None,
    scope: str = "",
    data_alignment: int = -1,
    offset_factor: int = 0,
    buffer_type: str = "",
) -> Buffer:
    """Declare a buffer, TVM's signature; ``offset_factor`` without ``elem_offset`` makes the offset a variable.

    With the ``buffer_type`` "auto_broadcast", a dimension of size 1 may be walked over: all its elements are the one.
    """
    kind = DType(dtype)
    if buffer_type not in ("", "default", "auto_broadcast"):
        raise ExprError(f"decl_buffer: expected the buffer_type 'auto_broadcast' or '', got {buffer_type!r}")
    sizes = shape if isinstance(shape, Sequence) and not isinstance(shape, str) else (shape,)
    memory = scope or "global"
    if elem_offset is None:
        elem_offset = Var(f"{name}_elem_offset") if offset_factor else IntImm(0)
    dims = tuple(convert(s) for s in sizes)
    steps = tuple(convert(s) for s in strides) if strides else ()
    return Buffer(
        name=name,
        data=data if data is not None else Var(name, HANDLE, PointerType(kind, memory)),
        dtype=kind,
        shape=dims,
        strides=_broadcast_strides(dims) if buffer_type == "auto_broadcast" and not steps else steps,
        elem_offset=convert(elem_offset),
        scope=memory,
        data_alignment=data_alignment if data_alignment > 0 else 64,
        offset_factor=offset_factor or 1,
    )


def _broadcast_strides(shape: tuple[Expr, ...]) -> tuple[Expr, ...]:
    """Return the strides of rows one after the other, 0 where a dimension has size 1."""
    result: list[Expr] = []
    step: Expr = const(1)
    for size in reversed(shape):
        single = binary(EQ, size, const(1, size.dtype))
        result.append(Select(single, const(0, step.dtype), step) if not isinstance(single, IntImm) else step)
        step = step * size
    return tuple(reversed(result))
