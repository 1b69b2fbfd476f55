"""Sorted elements: ``topi.sort``, ``topi.argsort``, ``topi.topk``, ``topi.searchsorted``.

Sorting merges runs of growing length, so equal elements keep their order; what is no number comes last.
Tests: tests/vta/topi/cpu/test_ordering.py.
"""

from __future__ import annotations

from math import prod

from vta import te
from vta.tir import ir_builder, math_ops, ops
from vta.tir.buffer import Buffer
from vta.tir.expr import Expr, const
from vta.tir.stmt import Stmt
from vta.topi.core.operator import OperatorError
from vta.topi.cpu.rearrange import sizes_of
from vta.topi.cpu.reductions import axes_of

__all__ = ["argsort", "searchsorted", "sort", "topk"]


def argsort(
    data: te.Tensor,
    valid_count: te.Tensor | None = None,
    axis: int = -1,
    is_ascend: bool = True,
    dtype: str = "float32",
) -> te.Tensor:
    """Return the places along ``axis`` of the elements in order; equal ones keep theirs."""
    if valid_count is not None:
        raise OperatorError("topi.argsort: valid_count is not done; sort all elements, and take the first ones")
    places = _places("argsort", data, axis, ascending=bool(is_ascend))
    return te.compute(data.shape, lambda *i: places(*i).astype(dtype), name="T_argsort", tag="elemwise")


def sort(data: te.Tensor, axis: int = -1, is_ascend: bool = True) -> te.Tensor:
    """Return the elements in order along ``axis``."""
    return _taken(data, _places("sort", data, axis, ascending=bool(is_ascend)), axis, None)


def topk(
    data: te.Tensor, k: int = 1, axis: int = -1, ret_type: str = "both", is_ascend: bool = False, dtype: str = "int64"
) -> te.Tensor | list[te.Tensor]:
    """Return the ``k`` largest elements along ``axis`` (smallest with ``is_ascend``), their places, or both; 0: all."""
    [dim] = axes_of("topk", data.ndim, axis)
    size = sizes_of(data, "topk")[dim]
    count = size if k < 1 else k
    if ret_type not in ("both", "values", "indices"):
        raise OperatorError(f"topi.topk: ret_type is 'both', 'values' or 'indices', not {ret_type!r}")
    if count > size:
        raise OperatorError(f"topi.topk: expected at most the {size} elements of dimension {dim}, got k={k}")
    places = _places("topk", data, axis, ascending=bool(is_ascend))
    values = _taken(data, places, axis, count)
    indices = te.compute(values.shape, lambda *i: places(*i).astype(dtype), name="T_topk_indices", tag="injective")
    if ret_type == "both":
        return [values, indices]
    return values if ret_type == "values" else indices


def _taken(data: te.Tensor, places: te.Tensor, axis: int, count: int | None) -> te.Tensor:
    """Return the elements of ``data`` at the first ``count`` of ``places`` along ``axis``."""
    [dim] = axes_of("sort", data.ndim, axis)
    shape = [const(count) if count is not None and d == dim else e for d, e in enumerate(data.shape)]
    return te.compute(shape, lambda *i: data(*i[:dim], places(*i), *i[dim + 1 :]), name="T_sorted", tag="injective")


def _places(name: str, data: te.Tensor, axis: int, *, ascending: bool) -> te.Tensor:
    """Return int32 places of the elements in order."""
    [dim] = axes_of(name, data.ndim, axis)
    sizes = sizes_of(data, name)
    rows, length, columns = prod(sizes[:dim]), sizes[dim], prod(sizes[dim + 1 :])

    def body(source: Buffer, target: Buffer) -> Stmt:
        ib = ir_builder.create()
        values, out = ib.buffer_ptr(source), ib.buffer_ptr(target)
        with ib.for_range(0, rows, "row", kind="parallel") as row, ib.for_range(0, columns, "column") as column:
            runs = _MergeSort(ib, values, row * (length * columns) + column, columns, ascending=ascending)
            order = runs.sorted(length)
            with ib.for_range(0, length, "place") as place:
                out[row * (length * columns) + place * columns + column] = order[place]
        return ib.get()

    made = te.extern(
        [data.shape], [data], lambda ins, outs: body(ins[0], outs[0]), name=f"{data.name}_order", dtype="int32"
    )
    assert isinstance(made, te.Tensor)
    return made


class _MergeSort:
    """Writes the statements that put the places of a row of elements in order."""

    def __init__(
        self, ib: ir_builder.IRBuilder, values: ir_builder.BufferVar, first: Expr, step: int, *, ascending: bool
    ) -> None:
        self.ib, self.values, self.first, self.step, self.ascending = ib, values, first, step, ascending

    def sorted(self, length: int) -> ir_builder.BufferVar:
        """Write the sort; return the memory with the places."""
        order, spare = (self.ib.allocate("int32", (length,), name, scope="local") for name in ("order", "spare"))
        with self.ib.for_range(0, length, "i") as i:
            order[i] = i
        width = 1
        while width < length:
            self._merge_runs(order, spare, length, width)
            order, spare, width = spare, order, 2 * width
        return order

    def _merge_runs(self, order: ir_builder.BufferVar, merged: ir_builder.BufferVar, length: int, width: int) -> None:
        ib = self.ib
        heads = ib.allocate("int32", (2,), "heads", scope="local")
        with ib.for_range(0, -(-length // (2 * width)), "pair") as pair:
            start = pair * (2 * width)
            middle, end = ops.min(start + width, length), ops.min(start + 2 * width, length)
            heads[0], heads[1] = start, middle
            with ib.for_range(0, ops.min(2 * width, length - start), "k") as k:
                second = ops.if_then_else(
                    heads[0] >= middle,
                    const(1, "bool"),
                    ops.if_then_else(heads[1] >= end, const(0, "bool"), self._before(order, heads[1], heads[0])),
                )
                with ib.if_scope(second):
                    merged[start + k] = order[heads[1]]
                    heads[1] = heads[1] + 1
                with ib.else_scope():
                    merged[start + k] = order[heads[0]]
                    heads[0] = heads[0] + 1

    def _before(self, order: ir_builder.BufferVar, a: Expr, b: Expr) -> Expr:
        """Whether the element that ``a`` names comes before that of ``b``, not only as early."""
        x, y = (self.values[self.first + order[place] * self.step] for place in (a, b))
        less = x < y if self.ascending else x > y
        if not x.dtype.is_float:
            return less
        return ops.any(less, ops.all(math_ops.isnan(y), ~math_ops.isnan(x)))


def searchsorted(
    sorted_sequence: te.Tensor, values: te.Tensor, right: bool = False, out_dtype: str = "int64"
) -> te.Tensor:
    """Return where in a sorted sequence values belong: before what is equal, or (``right``) after it.

    The sequence has one dimension, or as many as the values, whose rows then belong to its rows.
    """
    length = sizes_of(sorted_sequence, "searchsorted")[-1]
    if sorted_sequence.ndim > 1 and [*map(str, sorted_sequence.shape[:-1])] != [*map(str, values.shape[:-1])]:
        raise OperatorError(f"topi.searchsorted: rows of {values!r} do not go with rows of {sorted_sequence!r}")
    rows, columns = prod(sizes_of(values, "searchsorted")[:-1]), sizes_of(values, "searchsorted")[-1]

    def body(sequence: Buffer, wanted: Buffer, target: Buffer) -> Stmt:
        ib = ir_builder.create()
        elements, keys, out = ib.buffer_ptr(sequence), ib.buffer_ptr(wanted), ib.buffer_ptr(target)
        with ib.for_range(0, rows, "row") as row, ib.for_range(0, columns, "column") as column:
            first = row * length if sorted_sequence.ndim > 1 else const(0)
            key = keys[row * columns + column]
            ends = ib.allocate("int32", (2,), "ends", scope="local")
            ends[0], ends[1] = const(0), const(length)
            with ib.for_range(0, length.bit_length(), "step"), ib.if_scope(ends[0] < ends[1]):
                middle = (ends[0] + ends[1]) // 2
                before = elements[first + middle] <= key if right else elements[first + middle] < key
                probe = ib.allocate("int32", (1,), "probe", scope="local")
                probe[0] = middle
                with ib.if_scope(before):
                    ends[0] = probe[0] + 1
                with ib.else_scope():
                    ends[1] = probe[0]
            out[row * columns + column] = ends[0].astype(out_dtype)
        return ib.get()

    made = te.extern(
        [values.shape],
        [sorted_sequence, values],
        lambda ins, outs: body(ins[0], ins[1], outs[0]),
        name="searchsorted",
        dtype=out_dtype,
    )
    assert isinstance(made, te.Tensor)
    return made
