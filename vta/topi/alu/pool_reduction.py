"""The windows of a pooling reduced on the tensor ALU: one operation a tap, over the outputs whose tap exists.

Three ways, of which the cheapest that fits is taken: all taps at once; rows first, then columns (large windows that
overlap); or in pieces of the window that are loaded one after the other (windows larger than the accumulator).
Tests: tests/vta/topi/alu/test_pool_reduction.py.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum

from vta import te
from vta.environment import Environment
from vta.te.reducer import Reducer
from vta.tir.expr import Expr, IterVar
from vta.topi.alu.alu_operator import element_bytes
from vta.topi.alu.alu_schedule import AluStages
from vta.topi.alu.alu_tiles import Demand, Inner, transfer
from vta.topi.alu.pool_window import PoolAxis
from vta.topi.nn.pad import pad

__all__ = ["Combine", "PoolReduction", "Reduced"]


class Combine(Enum):
    """What becomes of the cells of a window."""

    MAX = "max"
    SUM = "sum"

    @property
    def reducer(self) -> Reducer:
        """The reduction in te."""
        return te.max if self is Combine.MAX else te.sum

    def start(self, dtype: str) -> int:
        """Return what a window starts with: nothing that a cell can be is smaller, or zero."""
        if self is Combine.SUM:
            return 0
        return -128 if dtype == "int8" else -(1 << 31)


@dataclass(frozen=True, slots=True, eq=False)
class Reduced:
    """The reduced windows, and what is computed before them."""

    tensor: te.Tensor
    stages: AluStages


@dataclass(frozen=True, slots=True)
class PoolReduction:
    """Windows along two ``axes`` of packed images, in pieces of ``rows`` times ``columns`` taps.

    ``separable`` reduces the rows first. Both together do not occur.
    """

    combine: Combine
    axes: tuple[PoolAxis, PoolAxis]
    dtype: str
    rows: int
    columns: int
    separable: bool

    @classmethod
    def chosen(cls, env: Environment, combine: Combine, axes: tuple[PoolAxis, PoolAxis], dtype: str) -> "PoolReduction":
        """Return the way that takes the fewest operations, in pieces where the window is too large."""
        room = env.config.acc_depth // 3
        height, width = axes
        columns = _largest_piece(width, room)
        rows = _largest_piece(height, room // ((columns - 1) * width.dilation + 1))
        whole = cls(combine, axes, dtype, height.kernel, width.kernel, separable=False)
        if (rows, columns) != (height.kernel, width.kernel):
            return replace(whole, rows=rows, columns=columns)
        apart = replace(whole, separable=True)
        tile = (1, 1, height.count, width.count)
        return apart if apart._operations(tile) * 5 < whole._operations(tile) * 4 else whole

    @property
    def pieces(self) -> tuple[int, int]:
        """In how many pieces a window is reduced, along height and width."""
        return (self.axes[0].kernel // self.rows, self.axes[1].kernel // self.columns)

    @property
    def _is_whole(self) -> bool:
        return self.pieces == (1, 1)

    # --- stages ------------------------------------------------------------------------------------------------------

    def reduced(self, env: Environment, data: te.Tensor) -> Reduced:
        """Return the windows of ``data``, a packed image, reduced."""
        loaded, stages = self._loaded(env, data)
        if self.separable:
            return self._rows_first(loaded, stages)
        if self._is_whole:
            return self._at_once(loaded, stages)
        return self._in_pieces(loaded, stages)

    def _loaded(self, env: Environment, data: te.Tensor) -> tuple[te.Tensor, AluStages]:
        """Return the image with zeros for pads, widened, as the ALU reads it."""
        height, width = self.axes
        source = data
        inlined: tuple[te.Tensor, ...] = ()
        if height.is_padded or width.is_padded:
            before = [0, 0, height.before, width.before, 0, 0]
            source = pad(data, before, [0, 0, height.beyond, width.beyond, 0, 0], 0, "pad_data")
            if data.dtype == env.acc_dtype:
                return source, AluStages(loads=(source,))
            inlined = (source,)
        elif data.dtype == env.acc_dtype:
            return data, AluStages(direct=(data,))
        cast = te.compute(source.shape, lambda *i: source(*i).astype(env.acc_dtype), name="T_cast", tag="elemwise")
        return cast, AluStages(loads=(cast,), inlined=inlined)

    def _at_once(self, loaded: te.Tensor, stages: AluStages) -> Reduced:
        height, width = self.axes
        dy, dx = te.reduce_axis((0, height.kernel), "dy"), te.reduce_axis((0, width.kernel), "dx")

        def element(b: Expr, c: Expr, i: Expr, j: Expr, bi: Expr, ci: Expr) -> Expr:
            y, x = _place(height, i, dy.var), _place(width, j, dx.var)
            return self._reduce(loaded(b, c, y, x, bi, ci), [dy, dx], [*_exists(height, y), *_exists(width, x)])

        pooled = te.compute(self._shape(loaded), element, name="pool")
        return Reduced(pooled, replace(stages, reductions=(pooled,)))

    def _rows_first(self, loaded: te.Tensor, stages: AluStages) -> Reduced:
        height, width = self.axes
        dy, dx = te.reduce_axis((0, height.kernel), "dy"), te.reduce_axis((0, width.kernel), "dx")
        shape = self._shape(loaded)

        def column(b: Expr, c: Expr, i: Expr, x: Expr, bi: Expr, ci: Expr) -> Expr:
            y = _place(height, i, dy.var)
            return self._reduce(loaded(b, c, y, x, bi, ci), [dy], _exists(height, y))

        columns = te.compute((*shape[:3], loaded.shape[3], *shape[4:]), column, name="pool_rows")

        def element(b: Expr, c: Expr, i: Expr, j: Expr, bi: Expr, ci: Expr) -> Expr:
            x = _place(width, j, dx.var)
            return self._reduce(columns(b, c, i, x, bi, ci), [dx], _exists(width, x))

        pooled = te.compute(shape, element, name="pool")
        return Reduced(pooled, replace(stages, reductions=(columns, pooled)))

    def _in_pieces(self, loaded: te.Tensor, stages: AluStages) -> Reduced:
        height, width = self.axes
        dy, dx = te.reduce_axis((0, self.rows), "dy"), te.reduce_axis((0, self.columns), "dx")
        shape = self._shape(loaded)

        def part(m: Expr, n: Expr, b: Expr, c: Expr, i: Expr, j: Expr, bi: Expr, ci: Expr) -> Expr:
            y, x = _place(height, i, m * self.rows + dy.var), _place(width, j, n * self.columns + dx.var)
            return self._reduce(loaded(b, c, y, x, bi, ci), [dy, dx], [*_exists(height, y), *_exists(width, x)])

        parts = te.compute((*self.pieces, *shape), part, name="pool_pieces")
        my, mx = (te.reduce_axis((0, count), name) for count, name in zip(self.pieces, ("my", "mx"), strict=True))
        pooled = te.compute(shape, lambda *i: self._reduce(parts(my.var, mx.var, *i), [my, mx], []), name="pool")
        return Reduced(pooled, replace(stages, reductions=(pooled,), pieces=(parts,)))

    def _shape(self, loaded: te.Tensor) -> list[Expr | int]:
        height, width = self.axes
        return [*loaded.shape[:2], height.count, width.count, *loaded.shape[4:]]

    def _reduce(self, value: Expr, over: Sequence[IterVar], exists: Sequence[Expr]) -> Expr:
        where = te.all(*exists) if exists else None
        return self.combine.reducer(value, axis=list(over), where=where, init=self.combine.start(self.dtype))

    # --- costs -------------------------------------------------------------------------------------------------------

    def demand(self, env: Environment, extents: Sequence[int], inner: Inner) -> Demand:
        """Return what a tile of the output takes; ``extents`` are those of the packed input."""
        b, co, h, w = inner
        height, width = self.axes
        rows, columns = _needed(height, h, self.rows), _needed(width, w, self.columns)
        pieces = math.prod(self.pieces)
        held = rows * columns + h * w
        if self.separable:
            held += h * columns
        if pieces > 1:
            held += pieces * h * w
        box = (b, co, min(rows, height.size), min(columns, width.size))
        ragged = w < width.count and (width.is_padded or width.count % w != 0)
        load = transfer(box, extents, element_bytes(env, self.dtype), ragged=ragged)
        return Demand(
            elements=b * co * held,
            load=load.times(pieces),
            operations=self._operations(inner),
            kernels=2 + (height.kernel + width.kernel if self.separable else height.kernel * width.kernel),
        )

    def _operations(self, inner: Inner) -> int:
        """Return how many elements the ALU writes for a tile of the output."""
        b, co, h, w = inner
        height, width = self.axes
        fill = 1 if self.combine is Combine.SUM else 2
        if self.separable:
            return b * co * h * (_needed(width, w, width.kernel) * (fill + height.kernel) + w * (fill + width.kernel))
        pieces = math.prod(self.pieces)
        again = pieces * (fill + 1) if pieces > 1 else 0
        return b * co * h * w * (fill + height.kernel * width.kernel + again)


def _place(axis: PoolAxis, window: Expr, tap: Expr) -> Expr:
    """Return the padded image's cell of a window's tap."""
    return window * axis.stride + tap * axis.dilation


def _exists(axis: PoolAxis, place: Expr) -> list[Expr]:
    """Return the conditions under which a padded image's cell is one of the image's."""
    conditions: list[Expr] = []
    if axis.before:
        conditions.append(place >= axis.before)
    if axis.beyond:
        conditions.append(place < axis.before + axis.size)
    return conditions


def _needed(axis: PoolAxis, windows: int, taps: int) -> int:
    """Return how many cells so many neighbouring windows reach over, with so many of their taps."""
    return (windows - 1) * axis.stride + (taps - 1) * axis.dilation + 1


def _largest_piece(axis: PoolAxis, room: int) -> int:
    """Return the most taps, a divisor of the window's, that reach over no more than ``room`` cells."""
    kernel = axis.kernel
    fitting = [n for n in range(1, kernel + 1) if kernel % n == 0 and (n - 1) * axis.dilation + 1 <= room]
    return max(fitting, default=1)
