"""Elements in other places: ``topi.reshape``, ``topi.transpose``, ``topi.concatenate``, ``topi.take``, ...

Tests: tests/vta/topi/cpu/test_rearrange.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from math import prod

from vta import te
from vta.tir import ops
from vta.tir.dtype import DType
from vta.tir.expr import Expr, ExprLike, IntImm, const, convert
from vta.topi.core.operator import OperatorError
from vta.topi.cpu.reductions import axes_of

__all__ = [
    "arange", "concatenate", "expand_dims", "flip", "gather", "one_hot", "repeat", "reshape", "sizes_of", "split",
    "squeeze", "stack", "strided_slice", "take", "tile", "transpose", "where",
]  # fmt: skip


def _injective(shape: Sequence[ExprLike], element: Callable[..., Expr], name: str) -> te.Tensor:
    return te.compute(shape, element, name=name, tag="injective")


def _number(value: ExprLike, what: str) -> int:
    expr = convert(value)
    if not isinstance(expr, IntImm):
        raise OperatorError(f"{what}: expected a number, got {expr}")
    return expr.value


def sizes_of(x: te.Tensor, what: str) -> list[int]:
    """Return the sizes of ``x`` as numbers; ``OperatorError`` of ``topi.what`` where one is none."""
    return [_number(extent, f"topi.{what}: shape of {x.name!r}") for extent in x.shape]


def _from_flat(x: te.Tensor, flat: Expr) -> Expr:
    """Return the element of ``x`` at place ``flat`` in the order of memory."""
    indices: list[Expr] = []
    for extent in reversed(x.shape[1:]):
        indices.insert(0, flat % extent)
        flat = flat // extent
    return x(flat, *indices) if x.ndim else x()


def _flat(indices: Sequence[Expr], shape: Sequence[Expr]) -> Expr:
    total: Expr = const(0)
    for index, extent in zip(indices, shape, strict=True):
        total = total * extent + index
    return total


def reshape(a: te.Tensor, newshape: Sequence[ExprLike]) -> te.Tensor:
    """Return ``a`` in another shape of as many elements; one extent may be -1, for what is left."""
    wanted = [convert(extent) for extent in newshape]
    unknown = [d for d, e in enumerate(wanted) if isinstance(e, IntImm) and e.value == -1]
    if unknown:
        known = prod(_number(e, "topi.reshape") for d, e in enumerate(wanted) if d not in unknown)
        whole = prod(sizes_of(a, "reshape"))
        if len(unknown) > 1 or known == 0 or whole % known:
            raise OperatorError(f"topi.reshape: {whole} elements do not fit shape {[str(e) for e in wanted]}")
        wanted[unknown[0]] = const(whole // known)
    if all(isinstance(e, IntImm) for e in (*wanted, *a.shape)):
        have, want = prod(sizes_of(a, "reshape")), prod(_number(e, "topi.reshape") for e in wanted)
        if have != want:
            raise OperatorError(f"topi.reshape: {have} elements do not fit a shape of {want}")
    return _injective(wanted, lambda *i: _from_flat(a, _flat(i, wanted)), "T_reshape")


def transpose(a: te.Tensor, axes: Sequence[int] | None = None) -> te.Tensor:
    """Return ``a`` with its dimensions in the order ``axes`` (turned round if left out)."""
    order = list(reversed(range(a.ndim))) if axes is None else [int(d) % a.ndim for d in axes]
    if sorted(order) != list(range(a.ndim)):
        raise OperatorError(f"topi.transpose: axes {list(axes or [])} are not the {a.ndim} dimensions, each once")
    return _injective(
        [a.shape[d] for d in order], lambda *i: a(*(i[order.index(d)] for d in range(a.ndim))), "T_transpose"
    )


def expand_dims(a: te.Tensor, axis: int, num_newaxis: int = 1) -> te.Tensor:
    """Return ``a`` with ``num_newaxis`` dimensions of one element more, at ``axis``."""
    place = axis + a.ndim + 1 if axis < 0 else axis
    if not 0 <= place <= a.ndim:
        raise OperatorError(f"topi.expand_dims: axis {axis} is outside {-a.ndim - 1} to {a.ndim}")
    shape = [*a.shape[:place], *[const(1)] * num_newaxis, *a.shape[place:]]
    return _injective(shape, lambda *i: a(*i[:place], *i[place + num_newaxis :]), "T_expand_dims")


def squeeze(a: te.Tensor, axis: int | Sequence[int] | None = None) -> te.Tensor:
    """Return ``a`` without dimensions of one element: those of ``axis``, or all."""
    ones = [d for d, e in enumerate(a.shape) if isinstance(e, IntImm) and e.value == 1]
    gone = ones if axis is None else axes_of("squeeze", a.ndim, axis)
    for d in gone:
        if d not in ones:
            raise OperatorError(f"topi.squeeze: dimension {d} has {a.shape[d]} elements, not one")
    kept = [d for d in range(a.ndim) if d not in gone]

    def element(*i: Expr) -> Expr:
        return a(*(i[kept.index(d)] if d in kept else const(0) for d in range(a.ndim)))

    return _injective([a.shape[d] for d in kept], element, "T_squeeze")


def concatenate(a_tuple: Sequence[te.Tensor], axis: int = 0) -> te.Tensor:
    """Return tensors one after the other along ``axis``; the other dimensions must agree."""
    tensors = list(a_tuple)
    if not tensors:
        raise OperatorError("topi.concatenate: expected a tensor or more")
    [dim] = axes_of("concatenate", tensors[0].ndim, axis)
    for other in tensors[1:]:
        same = other.ndim == tensors[0].ndim and all(
            d == dim or str(x) == str(y) for d, (x, y) in enumerate(zip(other.shape, tensors[0].shape, strict=True))
        )
        if not same or other.dtype != tensors[0].dtype:
            raise OperatorError(f"topi.concatenate: {tensors[0]!r} and {other!r} do not go together along axis {dim}")
    starts = [0]
    for tensor in tensors:
        starts.append(starts[-1] + sizes_of(tensor, "concatenate")[dim])

    def element(*i: Expr) -> Expr:
        def at(tensor: te.Tensor, start: int) -> Expr:
            return tensor(*i[:dim], i[dim] - start, *i[dim + 1 :])

        value = at(tensors[-1], starts[-2])
        for tensor, start, end in reversed(list(zip(tensors[:-1], starts, starts[1:], strict=False))):
            value = ops.if_then_else(i[dim] < end, at(tensor, start), value)
        return value

    shape = [const(starts[-1]) if d == dim else e for d, e in enumerate(tensors[0].shape)]
    return _injective(shape, element, "T_concat")


def stack(a: Sequence[te.Tensor], axis: int = 0) -> te.Tensor:
    """Return tensors of one shape along a new dimension ``axis``."""
    return concatenate([expand_dims(tensor, axis) for tensor in a], axis)


def split(ary: te.Tensor, indices_or_sections: int | Sequence[int], axis: int = 0) -> list[te.Tensor]:
    """Return parts along ``axis``: so many equal ones, or cut before the given indices."""
    [dim] = axes_of("split", ary.ndim, axis)
    size = sizes_of(ary, "split")[dim]
    if isinstance(indices_or_sections, int):
        if indices_or_sections < 1 or size % indices_or_sections:
            raise OperatorError(f"topi.split: {size} elements do not make {indices_or_sections} equal parts")
        cuts = [size // indices_or_sections * k for k in range(1, indices_or_sections)]
    else:
        cuts = [int(cut) for cut in indices_or_sections]
    ends = [0, *cuts, size]
    if any(low >= high for low, high in pairwise(ends)):
        raise OperatorError(f"topi.split: cuts {cuts} do not lie in order between 0 and {size}")
    return [
        _injective(
            [const(high - low) if d == dim else e for d, e in enumerate(ary.shape)],
            lambda *i, low=low: ary(*i[:dim], i[dim] + low, *i[dim + 1 :]),
            "T_split",
        )
        for low, high in pairwise(ends)
    ]


def strided_slice(
    a: te.Tensor,
    begin: Sequence[int],
    end: Sequence[int],
    strides: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
) -> te.Tensor:
    """Return ``a[begin:end:strides]`` in every dimension (or those of ``axes``), with numpy's rules."""
    sizes = sizes_of(a, "strided_slice")
    where = list(range(len(begin))) if axes is None else axes_of("strided_slice", a.ndim, list(axes))
    steps = [1] * len(where) if strides is None else [int(s) for s in strides]
    if not len(where) == len(begin) == len(end) == len(steps) or len(where) > a.ndim:
        raise OperatorError("topi.strided_slice: expected one begin, end and stride for each axis")
    ranges = [range(size) for size in sizes]
    for dim, low, high, step in zip(where, begin, end, steps, strict=True):
        if step == 0:
            raise OperatorError("topi.strided_slice: a stride of 0")
        ranges[dim] = range(sizes[dim])[int(low) : int(high) : step]
        if not ranges[dim]:
            raise OperatorError(f"topi.strided_slice: nothing is left of dimension {dim}")
    return _injective(
        [len(r) for r in ranges],
        lambda *i: a(*(index * r.step + r.start for index, r in zip(i, ranges, strict=True))),
        "T_strided_slice",
    )


def take(a: te.Tensor, indices: te.Tensor, axis: int | None = None, mode: str = "clip") -> te.Tensor:
    """Return the elements, or parts along ``axis``, at ``indices``, limited ("clip") or taken modulo ("wrap")."""
    if mode not in ("clip", "wrap"):
        raise OperatorError(f"topi.take: mode is 'clip' or 'wrap', not {mode!r}; unchecked reads are not done")
    size = convert(prod(sizes_of(a, "take"))) if axis is None else a.shape[axes_of("take", a.ndim, axis)[0]]

    def settled(index: Expr) -> Expr:
        wide = index.astype("int32")
        return ops.max(ops.min(wide, size - 1), 0) if mode == "clip" else ops.floormod(wide, size)

    if axis is None:
        return _injective(indices.shape, lambda *i: _from_flat(a, settled(indices(*i))), "T_take")
    [dim] = axes_of("take", a.ndim, axis)
    shape = [*a.shape[:dim], *indices.shape, *a.shape[dim + 1 :]]

    def element(*i: Expr) -> Expr:
        inner = i[dim : dim + indices.ndim]
        return a(*i[:dim], settled(indices(*inner)), *i[dim + indices.ndim :])

    return _injective(shape, element, "T_take")


def gather(data: te.Tensor, axis: int, indices: te.Tensor) -> te.Tensor:
    """Return for every place of ``indices`` the element of ``data`` with that index along ``axis``."""
    [dim] = axes_of("gather", data.ndim, axis)
    if indices.ndim != data.ndim:
        raise OperatorError(f"topi.gather: indices have {indices.ndim} dimensions, the data {data.ndim}")
    last = data.shape[dim] - 1

    def element(*i: Expr) -> Expr:
        place = ops.max(ops.min(indices(*i).astype("int32"), last), 0)
        return data(*i[:dim], place, *i[dim + 1 :])

    return _injective(indices.shape, element, "T_gather")


def where(condition: te.Tensor, x: te.Tensor, y: te.Tensor) -> te.Tensor:
    """Return elements of ``x`` where ``condition`` is not zero, else of ``y``; one shape."""
    shapes = {", ".join(map(str, t.shape)) for t in (condition, x, y)}
    if len(shapes) != 1 or x.dtype != y.dtype:
        raise OperatorError("topi.where: condition and values must have one shape, and the values one type")

    def element(*i: Expr) -> Expr:
        test = condition(*i)
        holds = test if test.dtype.kind == "bool" else (test != 0).asexpr()
        return ops.select(holds, x(*i), y(*i))

    return te.compute(x.shape, element, name="T_where", tag="elemwise")


def repeat(a: te.Tensor, repeats: int, axis: int) -> te.Tensor:
    """Return ``a`` with every element ``repeats`` times along ``axis``."""
    [dim] = axes_of("repeat", a.ndim, axis)
    shape = [e * repeats if d == dim else e for d, e in enumerate(a.shape)]
    return _injective(shape, lambda *i: a(*i[:dim], i[dim] // repeats, *i[dim + 1 :]), "T_repeat")


def tile(a: te.Tensor, reps: Sequence[int]) -> te.Tensor:
    """Return ``a`` repeated as a whole, ``reps`` times in each dimension."""
    times = [1] * (a.ndim - len(reps)) + [int(r) for r in reps]
    lead = len(times) - a.ndim
    extents = [const(1)] * lead + list(a.shape)
    shape = [e * r for e, r in zip(extents, times, strict=True)]
    return _injective(shape, lambda *i: a(*(x % e for x, e in zip(i[lead:], a.shape, strict=True))), "T_tile")


def flip(a: te.Tensor, axis: int = 0) -> te.Tensor:
    """Return ``a`` turned round along ``axis``."""
    [dim] = axes_of("flip", a.ndim, axis)
    return _injective(a.shape, lambda *i: a(*i[:dim], a.shape[dim] - 1 - i[dim], *i[dim + 1 :]), "T_flip")


def one_hot(
    indices: te.Tensor, on_value: float, off_value: float, depth: int, axis: int = -1, dtype: str = "float32"
) -> te.Tensor:
    """Return ``on_value`` at the places that ``indices`` name along a new dimension, else ``off_value``."""
    place = axis + indices.ndim + 1 if axis < 0 else axis
    on, off = const(on_value, dtype), const(off_value, dtype)
    shape = [*indices.shape[:place], const(depth), *indices.shape[place:]]

    def element(*i: Expr) -> Expr:
        named = indices(*i[:place], *i[place + 1 :])
        return ops.select((named == i[place].astype(named.dtype)).asexpr(), on, off)

    return _injective(shape, element, "T_one_hot")


def arange(start: float, stop: float | None = None, step: float = 1, dtype: str = "float32") -> te.Tensor:
    """Return the numbers from ``start`` (0 if only one is given) to before ``stop``."""
    first, end = (0, start) if stop is None else (start, stop)
    count = -int(-(end - first) // step)
    if count < 1:
        raise OperatorError(f"topi.arange: there is no number from {first} to {end} in steps of {step}")
    kind = DType(dtype)
    return _injective([count], lambda i: const(first, kind) + i.astype(kind) * const(step, kind), "T_arange")
