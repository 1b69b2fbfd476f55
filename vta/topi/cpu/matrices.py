"""Products by index letters, triangles, diagonals, grids: ``topi.einsum``, ``tensordot``, ``trilu``, ``meshgrid``, ...

Tests: tests/vta/topi/cpu/test_matrices.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce as fold

from vta import te
from vta.tir import ops
from vta.tir.expr import Expr, IntImm, IterVar, const
from vta.topi.core.operator import OperatorError
from vta.topi.cpu.rearrange import sizes_of
from vta.topi.cpu.reductions import axes_of

__all__ = [
    "adv_index", "collapse_sum", "einsum", "elemwise_sum", "matrix_set_diag", "meshgrid", "ndarray_size", "shape",
    "sliding_window", "tensordot", "trilu", "unravel_index",
]  # fmt: skip


def einsum(subscripts: str, *operand: te.Tensor) -> te.Tensor:
    """Return the sums of products that ``subscripts`` name, as numpy's: ``einsum("ij,jk->ik", a, b)``."""
    text = subscripts.replace(" ", "")
    left, arrow, right = text.partition("->")
    words = left.split(",")
    letters = left.replace(",", "")
    if "." in text or not letters.isalpha() or (right and not right.isalpha()):
        raise OperatorError(f"topi.einsum: expected letters such as 'ij,jk->ik', got {subscripts!r}")
    result = right if arrow else "".join(sorted(c for c in set(letters) if letters.count(c) == 1))
    if len(words) != len(operand) or any(len(w) != t.ndim for w, t in zip(words, operand, strict=False)):
        raise OperatorError(f"topi.einsum: {subscripts!r} does not go with {', '.join(map(repr, operand))}")
    extents: dict[str, Expr] = {}
    for word, tensor in zip(words, operand, strict=True):
        for letter, extent in zip(word, tensor.shape, strict=True):
            if str(extents.setdefault(letter, extent)) != str(extent):
                raise OperatorError(f"topi.einsum: {letter!r} has {extents[letter]} and {extent} elements")
    if len(set(result)) != len(result) or set(result) - set(letters):
        raise OperatorError(f"topi.einsum: the result {result!r} takes each letter of {left!r} once at most")
    walks = {c: te.reduce_axis((0, extents[c]), c) for c in extents if c not in result}

    def element(*indices: Expr) -> Expr:
        places: dict[str, Expr | IterVar] = {**dict(zip(result, indices, strict=True)), **walks}
        factors = [t(*(places[c] for c in word)) for word, t in zip(words, operand, strict=True)]
        value = fold(lambda a, b: a * b, factors)
        return te.sum(value, axis=list(walks.values())) if walks else value

    return te.compute([extents[c] for c in result], element, name="T_einsum", tag="matmul")


def tensordot(a: te.Tensor, b: te.Tensor, axes: int | Sequence[int] | Sequence[Sequence[int]] = 2) -> te.Tensor:
    """Return the sums of products over the last ``axes`` of ``a`` and the first of ``b``, or over the named ones."""
    if isinstance(axes, int):
        mine, theirs = list(range(a.ndim - axes, a.ndim)), list(range(axes))
    else:
        pair = [[side] if isinstance(side, int) else [int(d) for d in side] for side in axes]
        mine, theirs = ([d % t.ndim for d in side] for side, t in zip(pair, (a, b), strict=True))
    if len(mine) != len(theirs) or any(str(a.shape[x]) != str(b.shape[y]) for x, y in zip(mine, theirs, strict=True)):
        raise OperatorError(f"topi.tensordot: axes {axes!r} of {a!r} and {b!r} do not go together")
    walks = [te.reduce_axis((0, a.shape[d]), f"k{d}") for d in mine]
    kept_a = [d for d in range(a.ndim) if d not in mine]
    kept_b = [d for d in range(b.ndim) if d not in theirs]

    def element(*i: Expr) -> Expr:
        at_a = {**dict(zip(kept_a, i, strict=False)), **dict(zip(mine, walks, strict=True))}
        at_b = {**dict(zip(kept_b, i[len(kept_a) :], strict=True)), **dict(zip(theirs, walks, strict=True))}
        value = a(*(at_a[d] for d in range(a.ndim))) * b(*(at_b[d] for d in range(b.ndim)))
        return te.sum(value, axis=walks) if walks else value

    extents = [*(a.shape[d] for d in kept_a), *(b.shape[d] for d in kept_b)]
    return te.compute(extents, element, name="T_tensordot", tag="matmul")


def trilu(data: te.Tensor, k: int | te.Tensor, upper: bool) -> te.Tensor:
    """Return the matrices with zeros below (``upper``) or above diagonal ``k``."""

    def element(*i: Expr) -> Expr:
        row, column = i[-2], i[-1]
        shift = (k() if k.ndim == 0 else k(0)) if isinstance(k, te.Tensor) else const(k)
        away = (column - row).astype(shift.dtype)
        return ops.select(away >= shift if upper else away <= shift, data(*i), const(0, data.dtype))

    return te.compute(data.shape, element, name="T_trilu", tag="elemwise")


def matrix_set_diag(
    data: te.Tensor, diagonal: te.Tensor, k: int | tuple[int, int] = 0, align: str = "RIGHT_LEFT"
) -> te.Tensor:
    """Return matrices with ``diagonal`` in place of diagonal ``k``, or of those from the first to the second one.

    Several diagonals are rows, the highest one first; shorter ones lie at the side that ``align`` says for those above
    and below.
    """
    low, high = (k, k) if isinstance(k, int) else k
    sides = align.split("_")
    if len(sides) != 2 or set(sides) - {"LEFT", "RIGHT"} or low > high:
        raise OperatorError(f"topi.matrix_set_diag: diagonals {k!r} and align {align!r} mean nothing")
    rows, columns = sizes_of(data, "matrix_set_diag")[-2:]

    def length(d: Expr) -> Expr:
        return ops.min(columns - ops.max(d, 0), rows - ops.max(-d, 0))

    longest = sizes_of(diagonal, "matrix_set_diag")[-1]

    def element(*i: Expr) -> Expr:
        row, column = i[-2], i[-1]
        d = column - row
        place = column - ops.max(d, 0)
        if low != high:
            above, below = (const(0) if side == "LEFT" else longest - length(d) for side in sides)
            shift = ops.select(d > 0, above, below)
            if "LEFT" in sides:
                shift = ops.select((d == 0).asexpr(), const(0), shift)
            place = place + shift
        own = diagonal(*i[:-2], place) if low == high else diagonal(*i[:-2], high - d, place)
        return ops.if_then_else(ops.all(d >= low, d <= high), own, data(*i))

    return te.compute(data.shape, element, name="T_matrix_set_diag", tag="injective")


def meshgrid(a_tuple: Sequence[te.Tensor], indexing: str = "ij") -> list[te.Tensor]:
    """Return the coordinates of a grid over rows of numbers: the first one's along dimension 0 ("ij") or 1 ("xy")."""
    if indexing not in ("ij", "xy"):
        raise OperatorError(f"topi.meshgrid: indexing is 'ij' or 'xy', not {indexing!r}")
    order = list(range(len(a_tuple)))
    if indexing == "xy" and len(order) > 1:
        order[:2] = [1, 0]
    extents = [a_tuple[d].shape[0] if a_tuple[d].ndim else const(1) for d in order]

    def along(tensor: te.Tensor, dim: int) -> te.Tensor:
        return te.compute(
            extents, lambda *i: tensor(i[dim]) if tensor.ndim else tensor(), name="T_meshgrid", tag="injective"
        )

    return [along(tensor, order.index(k)) for k, tensor in enumerate(a_tuple)]


def unravel_index(indices: te.Tensor, shape: te.Tensor) -> te.Tensor:  # TVM's name
    """Return the coordinates, in a first dimension, of places in the order of memory of a tensor of shape ``shape``."""
    [rank] = sizes_of(shape, "unravel_index")

    def element(*i: Expr) -> Expr:
        rest, result = indices(*i[1:]), const(0, indices.dtype)
        for d in reversed(range(rank)):
            size = shape(const(d)).astype(indices.dtype)
            own = ops.floormod(rest, size) if d else rest
            rest = ops.floordiv(rest, size)
            result = ops.select((i[0] == d).asexpr(), own, result)
        return result

    return te.compute((rank, *indices.shape), element, name="T_unravel_index", tag="injective")


def shape(array: te.Tensor, dtype: str = "int32") -> te.Tensor:
    """Return the sizes of a tensor."""

    def element(i: Expr) -> Expr:
        result = const(0, dtype)
        for d, extent in enumerate(array.shape):
            result = ops.select((i == d).asexpr(), extent.astype(dtype), result)
        return result

    return te.compute((array.ndim,), element, name="T_shape", tag="injective")


def ndarray_size(array: te.Tensor, dtype: str = "int32") -> te.Tensor:
    """Return how many elements a tensor has."""
    count = fold(lambda a, b: a * b, array.shape, const(1))
    return te.compute((), lambda: count.astype(dtype), name="T_ndarray_size", tag="injective")


def sliding_window(data: te.Tensor, axis: int, window_shape: Sequence[int], strides: Sequence[int]) -> te.Tensor:
    """Return all windows over the dimensions from ``axis`` on: places first, then what is in them."""
    [first] = axes_of("sliding_window", data.ndim, axis)
    sizes = sizes_of(data, "sliding_window")
    if len(window_shape) != data.ndim - first or len(strides) != len(window_shape):
        raise OperatorError(f"topi.sliding_window: expected {data.ndim - first} window sizes and strides")
    counts = [(size - w) // s + 1 for size, w, s in zip(sizes[first:], window_shape, strides, strict=True)]
    if min(counts) < 1:
        raise OperatorError(f"topi.sliding_window: windows {list(window_shape)} do not fit {sizes[first:]}")

    def element(*i: Expr) -> Expr:
        places, inner = i[first : first + len(counts)], i[first + len(counts) :]
        return data(*i[:first], *(p * int(s) + w for p, s, w in zip(places, strides, inner, strict=True)))

    extents = [*sizes[:first], *counts, *map(int, window_shape)]
    return te.compute(extents, element, name="T_sliding_window", tag="injective")


def elemwise_sum(xs: Sequence[te.Tensor]) -> te.Tensor:
    """Return the sum of tensors of one shape."""
    if not xs or any([*map(str, x.shape)] != [*map(str, xs[0].shape)] for x in xs):
        raise OperatorError("topi.elemwise_sum: expected tensors of one shape")
    return te.compute(
        xs[0].shape, lambda *i: fold(lambda a, b: a + b, [x(*i) for x in xs]), name="T_elemwise_sum", tag="elemwise"
    )


def adv_index(data: te.Tensor, indices: Sequence[te.Tensor]) -> te.Tensor:
    """Return the parts of ``data`` whose first indices are the elements of ``indices``, repeated to one shape.

    Indices are limited to the tensor.
    """
    rank = max(t.ndim for t in indices)
    extents: list[Expr] = [const(1)] * rank
    for tensor in indices:
        for d, extent in enumerate(tensor.shape, rank - tensor.ndim):
            one = isinstance(extent, IntImm) and extent.value == 1
            known = extents[d]
            if not (one or (isinstance(known, IntImm) and known.value == 1) or str(known) == str(extent)):
                raise OperatorError(f"topi.adv_index: indices of {known} and {extent} elements do not go together")
            extents[d] = known if one else extent

    def place(tensor: te.Tensor, i: Sequence[Expr], last: Expr) -> Expr:
        own = i[rank - tensor.ndim : rank]
        at = [const(0) if str(e) == "1" else x for x, e in zip(own, tensor.shape, strict=True)]
        return ops.max(ops.min(tensor(*at).astype("int32"), last), 0)

    def element(*i: Expr) -> Expr:
        where = [place(t, i, data.shape[d] - 1) for d, t in enumerate(indices)]
        return data(*where, *i[rank:])

    return te.compute([*extents, *data.shape[len(indices) :]], element, name="T_adv_index", tag="injective")


def collapse_sum(data: te.Tensor, target_shape: Sequence[int]) -> te.Tensor:
    """Return the sums over the dimensions that repeating a tensor of ``target_shape`` to ``data`` would repeat."""
    sizes, wanted = sizes_of(data, "collapse_sum"), [int(e) for e in target_shape]
    extra = len(sizes) - len(wanted)
    if extra < 0 or any(w not in (1, s) for w, s in zip(wanted, sizes[max(extra, 0) :], strict=False)):
        raise OperatorError(f"topi.collapse_sum: a tensor of shape {wanted} cannot be repeated to {sizes}")
    walked = [d for d in range(len(sizes)) if d < extra or (wanted[d - extra] == 1 and sizes[d] != 1)]
    walks = {d: te.reduce_axis((0, sizes[d]), f"k{d}") for d in walked}

    def element(*i: Expr) -> Expr:
        places = [walks[d] if d in walks else i[d - extra] for d in range(len(sizes))]
        return te.sum(data(*places), axis=list(walks.values())) if walks else data(*places)

    return te.compute(wanted, element, name="T_collapse_sum", tag="comm_reduce")
