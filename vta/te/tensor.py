"""Tensors: what operations produce and read, element by element.

Tests: tests/vta/te/test_tensor.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from isa.errors import VTAError
from vta.tir.dtype import INT32, DType
from vta.tir.expr import Expr, ExprError, ExprLike, IntImm, Operators, ProducerLoad, Range, convert

if TYPE_CHECKING:
    from vta.te.operation import Operation

__all__ = ["Tensor", "TensorError", "TensorSlice", "as_index", "as_range"]


class TensorError(VTAError, ValueError):
    """A tensor that is indexed or declared in a way that has no meaning."""


def as_index(value: ExprLike, what: str) -> Expr:
    """Return a size or index as an int32 expression; numpy and 64-bit integers count like plain ones.

    ``what`` names the value in errors. Raises ``TensorError`` for anything that is not an integer.
    """
    try:
        expr = convert(value)
    except ExprError as error:
        raise TensorError(f"{what}: expected an integer or an integer expression, got {value!r}") from error
    if not expr.dtype.is_int or expr.dtype.lanes != 1:
        raise TensorError(f"{what}: expected an integer or an integer expression, got {value!r} of type {expr.dtype}")
    if expr.dtype == INT32:
        return expr
    if isinstance(expr, IntImm) and not INT32.bounds[0] <= expr.value <= INT32.bounds[1]:
        raise TensorError(f"{what}: {expr.value} does not fit int32, the type of indices")
    return expr.astype(INT32)


def as_range(dom: Range | tuple[ExprLike, ExprLike] | list[ExprLike], what: str) -> Range:
    """Return ``dom``, a ``Range`` or TVM's pair (begin, end), as a range of int32."""
    if isinstance(dom, Range):
        return Range(as_index(dom.min, what), as_index(dom.extent, what))
    if not isinstance(dom, tuple | list) or len(dom) != 2:
        raise TensorError(f"{what}: expected a pair (begin, end) or a Range, got {dom!r}")
    begin, end = as_index(dom[0], what), as_index(dom[1], what)
    if isinstance(begin, IntImm) and isinstance(end, IntImm) and end.value < begin.value:
        raise TensorError(f"{what}: expected (begin, end) with an end that is not before the begin, got {dom!r}")
    return Range(begin, end - begin)


@dataclass(frozen=True, slots=True, eq=False)
class Tensor:
    """Output ``value_index`` of ``op``: a multi-dimensional array of ``dtype``. Tensors compare by identity.

    ``T[i, j]`` (or ``T(i, j)``) is an element; ``T[i]`` with fewer indices is a slice that takes the others later.
    """

    op: Operation
    value_index: int
    shape: tuple[Expr, ...]
    dtype: DType

    @property
    def name(self) -> str:
        """The operation's name; with ``.v1`` and so on where the operation has several outputs."""
        return self.op.name if self.op.num_outputs == 1 else f"{self.op.name}.v{self.value_index}"

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    def __call__(self, *indices: ExprLike) -> Expr:
        """Return the element at ``indices``, one for each dimension."""
        if len(indices) != self.ndim:
            raise TensorError(f"tensor {self.name!r} has {self.ndim} dimensions, but {len(indices)} indices were given")
        return ProducerLoad(self, tuple(as_index(index, f"index of tensor {self.name!r}") for index in indices))

    def __getitem__(self, indices: ExprLike | slice | tuple[ExprLike | slice, ...]) -> TensorSlice:
        """Return the element at ``indices``, or a slice if there are fewer of them than dimensions."""
        return TensorSlice(self, ())[indices]

    def __add__(self, other: Tensor | ExprLike) -> Tensor:
        return _combined("add", self, other)

    def __radd__(self, other: ExprLike) -> Tensor:
        return _combined("add", other, self)

    def __sub__(self, other: Tensor | ExprLike) -> Tensor:
        return _combined("subtract", self, other)

    def __rsub__(self, other: ExprLike) -> Tensor:
        return _combined("subtract", other, self)

    def __mul__(self, other: Tensor | ExprLike) -> Tensor:
        return _combined("multiply", self, other)

    def __rmul__(self, other: ExprLike) -> Tensor:
        return _combined("multiply", other, self)

    def __truediv__(self, other: Tensor | ExprLike) -> Tensor:
        return _combined("divide", self, other)

    def __rtruediv__(self, other: ExprLike) -> Tensor:
        return _combined("divide", other, self)

    def __neg__(self) -> Tensor:
        return _combined("multiply", self, -1)

    def __len__(self) -> int:
        raise TensorError(f"tensor {self.name!r} has no length; its sizes are in .shape")

    def __bool__(self) -> bool:
        raise TensorError(f"tensor {self.name!r} has no truth value while a program is described")

    def __repr__(self) -> str:
        sizes = ", ".join(str(s.value) if isinstance(s, IntImm) else str(s) for s in self.shape)
        return f"Tensor(shape=[{sizes}], op.name={self.op.name}, dtype={self.dtype})"

    def __hash__(self) -> int:
        return id(self)


def _combined(operator: str, a: Tensor | ExprLike, b: Tensor | ExprLike) -> Tensor:
    from vta.te.arithmetic import combined  # computations are made of tensors

    return combined(operator, a, b)


class TensorSlice(Operators):
    """A tensor with its first indices chosen; with all of them, an element that computes like any expression."""

    __slots__ = ("indices", "tensor")

    def __init__(self, tensor: Tensor, indices: tuple[ExprLike | slice, ...]) -> None:
        self.tensor = tensor
        self.indices = indices

    def __getitem__(self, indices: ExprLike | slice | tuple[ExprLike | slice, ...]) -> TensorSlice:
        """Return the slice with ``indices`` appended; parts, ``A[i, 0:16]``, are for calls of tensor intrinsics."""
        more = indices if isinstance(indices, tuple) else (indices,)
        chosen = (*self.indices, *more)
        if len(chosen) > self.tensor.ndim:
            raise TensorError(
                f"tensor {self.tensor.name!r} has {self.tensor.ndim} dimensions, but {len(chosen)} indices were given"
            )
        for index in more:
            if isinstance(index, slice):
                continue
            as_index(index, f"index of tensor {self.tensor.name!r}")
        return TensorSlice(self.tensor, chosen)

    def asexpr(self) -> Expr:
        """Return the element; raises ``TensorError`` if indices are missing."""
        return self.tensor(*self.indices)  # type: ignore[arg-type]  # a part among them is refused

    @property
    def dtype(self) -> DType:
        """The tensor's element type."""
        return self.tensor.dtype
