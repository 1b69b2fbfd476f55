"""Elements put where indices say, and running sums: ``topi.scatter``, ``scatter_nd``, ``cumsum``, ``strided_set``, ...

An index below 0 counts from the end; one outside of its dimension ends the call with an error.
Tests: tests/vta/topi/cpu/test_scatters.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from vta import te
from vta.tir import ir_builder, ops
from vta.tir.buffer import Buffer
from vta.tir.expr import Expr, ExprLike, const
from vta.tir.stmt import Stmt
from vta.topi.core.operator import OperatorError
from vta.topi.cpu.rearrange import reshape, sizes_of
from vta.topi.cpu.reductions import axes_of

__all__ = [
    "cumprod", "cumsum", "gather_nd", "invert_permutation", "scatter", "scatter_add", "scatter_nd", "sparse_to_dense",
    "strided_set",
]  # fmt: skip

_Combine = Callable[[Expr, Expr], Expr]


def _made(
    name: str,
    shape: Sequence[ExprLike],
    inputs: Sequence[te.Tensor],
    dtype: str,
    body: Callable[[list[Buffer], Buffer], Stmt],
) -> te.Tensor:
    made = te.extern([tuple(shape)], inputs, lambda ins, outs: body(ins, outs[0]), name=name, dtype=dtype)
    assert isinstance(made, te.Tensor)
    return made


def _copied(ib: ir_builder.IRBuilder, source: ir_builder.BufferVar, target: ir_builder.BufferVar, count: int) -> None:
    with ib.for_range(0, count, "i") as i:
        target[i] = source[i]


def _settled(ib: ir_builder.IRBuilder, name: str, index: Expr, size: int) -> Expr:
    """Write a check of ``index``; return it, from 0 on."""
    wide = index.astype("int32") if index.dtype.bits < 32 else index
    ib.assert_stmt(ops.all(wide >= -size, wide < size), f"topi.{name}: an index is outside of {-size} to {size - 1}")
    return ops.select(wide < 0, wide + size, wide).astype("int32")


def scatter(data: te.Tensor, indices: te.Tensor, updates: te.Tensor, axis: int = 0) -> te.Tensor:
    """Return ``data`` with each update at its place, of which ``indices`` give the index along ``axis``."""
    return _scattered("scatter", data, indices, updates, axis, lambda _, new: new)


def scatter_add(data: te.Tensor, indices: te.Tensor, updates: te.Tensor, axis: int = 0) -> te.Tensor:
    """Return ``data`` with each update added at its place, see ``scatter``."""
    return _scattered("scatter_add", data, indices, updates, axis, lambda old, new: old + new)


def _scattered(
    name: str, data: te.Tensor, indices: te.Tensor, updates: te.Tensor, axis: int, combine: _Combine
) -> te.Tensor:
    [dim] = axes_of(name, data.ndim, axis)
    sizes, many = sizes_of(data, name), sizes_of(updates, name)
    fits = all(m <= s for d, (m, s) in enumerate(zip(many, sizes, strict=False)) if d != dim)
    if sizes_of(indices, name) != many or len(many) != len(sizes) or not fits or updates.dtype != data.dtype:
        raise OperatorError(f"topi.{name}: {indices!r} and {updates!r} do not go with {data!r} along axis {dim}")

    def body(ins: list[Buffer], target: Buffer) -> Stmt:
        ib = ir_builder.create()
        source, places, news, out = (ib.buffer_ptr(b) for b in (*ins, target))
        _copied(ib, source, out, prod(sizes))
        with ib.for_range(0, prod(many), "i") as i:
            where = _unravelled(i, many)
            where[dim] = _settled(ib, name, places[i], sizes[dim])
            flat = _flat(where, sizes)
            out[flat] = combine(out[flat], news[i])
        return ib.get()

    return _made(f"T_{name}", data.shape, [data, indices, updates], data.dtype, body)


def _unravelled(flat: Expr, sizes: Sequence[int]) -> list[Expr]:
    result: list[Expr] = []
    for size in reversed(sizes):
        result.insert(0, flat % size)
        flat = flat // size
    return result


def _flat(indices: Sequence[Expr], sizes: Sequence[int]) -> Expr:
    total: Expr = const(0)
    for index, size in zip(indices, sizes, strict=True):
        total = total * size + index
    return total


_MODES: dict[str, _Combine] = {
    "update": lambda _, new: new, "add": lambda old, new: old + new, "mul": lambda old, new: old * new,
    "min": lambda old, new: ops.min(old, new), "max": lambda old, new: ops.max(old, new),
}  # fmt: skip


def scatter_nd(data: te.Tensor, indices: te.Tensor, updates: te.Tensor, mode: str = "update") -> te.Tensor:
    """Return ``data`` with the updates at the places whose coordinates are the first dimension of ``indices``."""
    if mode not in _MODES:
        raise OperatorError(f"topi.scatter_nd: mode is one of {', '.join(_MODES)}, not {mode!r}")
    sizes, (depth, *many) = sizes_of(data, "scatter_nd"), sizes_of(indices, "scatter_nd")
    if depth > len(sizes) or sizes_of(updates, "scatter_nd") != [*many, *sizes[depth:]] or updates.dtype != data.dtype:
        raise OperatorError(f"topi.scatter_nd: {indices!r} and {updates!r} do not go with {data!r}")
    count, part = prod(many), prod(sizes[depth:])

    def body(ins: list[Buffer], target: Buffer) -> Stmt:
        ib = ir_builder.create()
        source, places, news, out = (ib.buffer_ptr(b) for b in (*ins, target))
        _copied(ib, source, out, prod(sizes))
        with ib.for_range(0, count, "i") as i:
            where = [_settled(ib, "scatter_nd", places[i + d * count], sizes[d]) for d in range(depth)]
            first = _flat(where, sizes[:depth]) * part
            with ib.for_range(0, part, "j") as j:
                out[first + j] = _MODES[mode](out[first + j], news[i * part + j])
        return ib.get()

    return _made("T_scatter_nd", data.shape, [data, indices, updates], data.dtype, body)


def gather_nd(a: te.Tensor, indices: te.Tensor, batch_dims: int = 0) -> te.Tensor:
    """Return the parts of ``a`` whose coordinates are the first dimension of ``indices``, after ``batch_dims`` shared.

    Coordinates are limited to the tensor.
    """
    depth, *many = sizes_of(indices, "gather_nd")
    if batch_dims + depth > a.ndim or batch_dims > len(many):
        raise OperatorError(f"topi.gather_nd: {depth} coordinates after {batch_dims} dimensions are too many for {a!r}")
    rest = a.shape[batch_dims + depth :]

    def element(*i: Expr) -> Expr:
        own, inner = i[: len(many)], i[len(many) :]
        where = []
        for d in range(depth):
            last = a.shape[batch_dims + d] - 1
            where.append(ops.max(ops.min(indices(const(d), *own).astype("int32"), last), 0))
        return a(*own[:batch_dims], *where, *inner)

    return te.compute([*map(const, many), *rest], element, name="T_gather_nd", tag="injective")


def sparse_to_dense(
    sparse_indices: te.Tensor, output_shape: Sequence[int], sparse_values: te.Tensor, default_value: float = 0
) -> te.Tensor:
    """Return a tensor of ``default_value`` with values at places: one number, a row of them, or rows of coordinates."""
    shape = [int(size) for size in output_shape]
    places = sparse_indices
    if places.ndim < 2:
        places = reshape(places, (1, -1) if places.ndim else (1, 1))
    elif places.ndim == 2:
        places = te.compute(places.shape[::-1], lambda i, j: sparse_indices(j, i), name="T_coordinates")
    else:
        raise OperatorError(f"topi.sparse_to_dense: expected at most two dimensions of indices, got {places.ndim}")
    if sizes_of(places, "sparse_to_dense")[0] != len(shape):
        raise OperatorError(f"topi.sparse_to_dense: {sparse_indices!r} has no coordinates in a shape of {shape}")
    count, kind = places.shape[1], sparse_values.dtype
    one = sparse_values.ndim == 0
    values = te.compute((count,), lambda i: sparse_values() if one else sparse_values(i), name="T_values")
    dense = te.compute(shape, lambda *_: const(default_value, kind), name="T_dense", tag="elemwise")
    return scatter_nd(dense, places, values)


def cumsum(
    data: te.Tensor, axis: int | None = None, dtype: str | None = None, exclusive: bool | None = None
) -> te.Tensor:
    """Return running sums along ``axis`` (of all elements in a row if left out), the first element's or (exclusive) 0
    first."""
    return _running("cumsum", data, axis, dtype, exclusive, 0, lambda old, new: old + new)


def cumprod(
    data: te.Tensor, axis: int | None = None, dtype: str | None = None, exclusive: bool | None = None
) -> te.Tensor:
    """Return running products, see ``cumsum``."""
    return _running("cumprod", data, axis, dtype, exclusive, 1, lambda old, new: old * new)


def _running(
    name: str,
    data: te.Tensor,
    axis: int | None,
    dtype: str | None,
    exclusive: bool | None,
    start: int,
    combine: _Combine,
) -> te.Tensor:
    flat = reshape(data, (-1,)) if axis is None else data
    [dim] = axes_of(name, flat.ndim, 0 if axis is None else axis)
    sizes, kind = sizes_of(flat, name), dtype or flat.dtype
    rows, length, columns = prod(sizes[:dim]), sizes[dim], prod(sizes[dim + 1 :])

    def body(ins: list[Buffer], target: Buffer) -> Stmt:
        ib = ir_builder.create()
        source, out = ib.buffer_ptr(ins[0]), ib.buffer_ptr(target)
        with ib.for_range(0, rows, "row", kind="parallel") as row, ib.for_range(0, columns, "column") as column:
            total = ib.allocate(str(kind), (1,), "total", scope="local")
            total[0] = const(start, kind)
            with ib.for_range(0, length, "k") as k:
                place = row * (length * columns) + k * columns + column
                if exclusive:
                    out[place] = total[0]
                total[0] = combine(total[0], source[place].astype(kind))
                if not exclusive:
                    out[place] = total[0]
        return ib.get()

    return _made(f"T_{name}", flat.shape, [flat], str(kind), body)


def invert_permutation(data: te.Tensor) -> te.Tensor:
    """Return for every number from 0 on where it stands in ``data``, which holds each once."""
    [size] = sizes_of(data, "invert_permutation")

    def body(ins: list[Buffer], target: Buffer) -> Stmt:
        ib = ir_builder.create()
        source, out = ib.buffer_ptr(ins[0]), ib.buffer_ptr(target)
        with ib.for_range(0, size, "i") as i:
            out[_settled(ib, "invert_permutation", source[i], size)] = i.astype(data.dtype)
        return ib.get()

    return _made("T_invert_permutation", data.shape, [data], data.dtype, body)


def strided_set(
    a: te.Tensor, v: te.Tensor, begin: Sequence[int], end: Sequence[int], strides: Sequence[int] | None = None
) -> te.Tensor:
    """Return ``a`` with ``v`` in place of the elements that ``a[begin:end:strides]`` names."""
    steps = [1] * len(begin) if strides is None else [int(s) for s in strides]
    if len(begin) != a.ndim or len(end) != a.ndim or len(steps) != a.ndim or v.ndim != a.ndim or 0 in steps:
        raise OperatorError(f"topi.strided_set: expected a begin, an end and a stride for each dimension of {a!r}")
    ranges = [
        range(size)[slice(int(b), int(e), s)]
        for size, b, e, s in zip(sizes_of(a, "strided_set"), begin, end, steps, strict=True)
    ]
    if sizes_of(v, "strided_set") != [len(r) for r in ranges] or v.dtype != a.dtype:
        raise OperatorError(f"topi.strided_set: {v!r} does not fit the {[len(r) for r in ranges]} elements")

    def element(*i: Expr) -> Expr:
        inside: list[Expr] = []
        places: list[Expr] = []
        for index, r in zip(i, ranges, strict=True):
            low, high, step = min(r), max(r), abs(r.step)
            away = index - low if r.step > 0 else high - index
            inside += [index >= low, index <= high, (away % step == 0).asexpr()]
            places.append(away // step)
        return ops.if_then_else(ops.all(*inside), v(*places), a(*i))

    if not all(ranges):
        return te.compute(a.shape, lambda *i: a(*i), name="T_strided_set", tag="injective")
    return te.compute(a.shape, element, name="T_strided_set", tag="injective")
