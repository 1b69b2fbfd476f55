"""Shapes in type relations: broadcasting, axes, agreement. Tests: tests/runtime/executor/operators/test_shapes.py."""

from collections.abc import Sequence

from runtime.executor.operators.operator import Types
from runtime.executor.operators.types import RelayError, Shape, TensorType

__all__ = [
    "broadcast",
    "broadcasts_to",
    "normal_axes",
    "normal_axis",
    "require_dtype",
    "require_rank",
    "same_dtype",
    "whole_float",
]


def broadcast(shapes: Sequence[Shape]) -> Shape:
    """Return the shape that ``shapes`` broadcast to, as numpy does it."""
    rank = max(len(shape) for shape in shapes)
    wide = [(1,) * (rank - len(shape)) + tuple(shape) for shape in shapes]
    result = []
    for column in zip(*wide, strict=True):
        sizes = {size for size in column if size != 1}
        if len(sizes) > 1:
            raise RelayError(f"shapes {' and '.join(str(shape) for shape in shapes)} do not broadcast")
        result.append(sizes.pop() if sizes else 1)
    return tuple(result)


def broadcasts_to(shape: Shape, target: Shape) -> bool:
    """Whether a tensor of ``shape`` broadcasts to ``target`` and does not enlarge it."""
    return len(shape) <= len(target) and all(
        size in (1, extent) for size, extent in zip(reversed(shape), reversed(target), strict=False)
    )


def normal_axis(axis: int, rank: int, what: str = "axis") -> int:
    """Return ``axis``, which may count from the end, as one from 0."""
    if rank == 0:
        raise RelayError(f"{what} {axis} of a scalar, which has no axes")
    if not -rank <= axis < rank:
        raise RelayError(f"{what} is from {-rank} to {rank - 1} for {rank} dimensions, not {axis}")
    return axis % rank


def normal_axes(axes: Sequence[int], rank: int) -> tuple[int, ...]:
    """Return ``axes`` from 0, in their order; raises ``RelayError`` if one comes twice."""
    settled = tuple(normal_axis(axis, rank) for axis in axes)
    if len(set(settled)) < len(settled):
        raise RelayError(f"an axis comes twice in {tuple(axes)}")
    return settled


def same_dtype(types: Types, names: Sequence[str] = ()) -> str:
    """Return the element type that all ``types`` have."""
    dtypes = {each.dtype for each in types}
    if len(dtypes) > 1:
        what = ", ".join(names) if names else "the inputs"
        raise RelayError(f"{what} have elements of one type, not {', '.join(each.dtype for each in types)}")
    return types[0].dtype


def require_rank(given: TensorType, name: str, *ranks: int) -> None:
    """Raise ``RelayError`` unless ``given`` has one of ``ranks`` dimensions."""
    if given.rank not in ranks:
        expected = " or ".join(str(rank) for rank in ranks)
        raise RelayError(f"{name} has {expected} dimensions, not {given.rank}: {given}")


def require_dtype(given: TensorType, name: str, *dtypes: str) -> None:
    """Raise ``RelayError`` unless the elements of ``given`` are of one of ``dtypes``."""
    if given.dtype not in dtypes:
        raise RelayError(f"{name} has elements {' or '.join(dtypes)}, not {given.dtype}")


def whole_float(given: TensorType, name: str) -> None:
    """Raise ``RelayError`` unless ``given`` holds floating point numbers."""
    if not given.dtype.is_float:
        raise RelayError(f"{name} holds floating point numbers, not {given.dtype}")
