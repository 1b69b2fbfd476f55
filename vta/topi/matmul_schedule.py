"""This library's own schedule of matrix products, and the tiles that suit a product best.

A tile of the result stays in the accumulator while blocks of the inner dimension are loaded and added. Some tiles are
worked on in turn (virtual threads): one is loaded while another is multiplied. Neighbouring micro-ops
go to neighbouring accumulators, which lie in different banks: so the ALU finds a free one.
May import ``vta.te``, ``vta.environment``, ``vta.topi``. Tests: tests/vta/topi/test_matmul_schedule.py.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from vta import te
from vta.environment import Environment
from vta.topi import epilogue
from vta.topi.epilogue import Epilogue, Residual
from vta.topi.layer_schedule import LayerSchedule
from vta.topi.layout import blocks
from vta.topi.operator import OperatorError
from vta.topi.sizes import divisors, parts
from vta.topi.tile_cost import TileCost

__all__ = ["MatmulTiles", "choose_tiles", "schedule_matmul"]


_TURNS = ((1, 1), (2, 1), (1, 2), (4, 1), (2, 2), (1, 4))
"""How many tiles below each other, and beside each other, are worked on in turn."""


@dataclass(frozen=True, slots=True)
class MatmulTiles:
    """The extents of one tile in blocks, and how many tiles are worked on in turn: below and beside each other."""

    rows: int
    inner: int
    columns: int
    row_threads: int = 1
    column_threads: int = 1

    def whole(self, rows: int, columns: int) -> tuple[int, int]:
        """Return ``rows`` and ``columns`` of blocks, rounded up to whole tiles."""
        return blocks(rows, self.rows) * self.rows, blocks(columns, self.columns) * self.columns


def schedule_matmul(
    outs: te.Tensor | Sequence[te.Tensor], tiles: MatmulTiles, env: Environment | None = None
) -> te.Schedule:
    """Return a schedule of a sum (N, O, batch, block_out) over (I, block_in), with the epilogue behind it."""
    made = LayerSchedule.of(outs, env)
    result, sums = made.result, made.sums
    b, co, _, _ = result.leaf_iter_vars
    b0, b1 = result.split(b, factor=tiles.rows)
    co0, co1 = result.split(co, factor=tiles.columns)
    result.reorder(b0, co0, b1, co1)
    place = made.take_turns(co0, tiles.column_threads)
    made.take_turns(b0, tiles.row_threads)
    made.compute_tile_in(place)
    x_b, x_co, x_bi, x_ci, k_o, k_i = sums.leaf_iter_vars
    k0, k1 = sums.split(k_o, factor=tiles.inner)
    sums.reorder(k0, x_b, k1, x_co, x_bi, x_ci, k_i)
    made.load_operands_in(k0)
    sums.tensorize(x_bi, made.env.gemm)
    result.pragma(b1, made.env.dma_copy)
    return made.s


def choose_tiles(
    shape: tuple[int, int, int], steps: Epilogue, env: Environment, *, groups: int | None = None, what: str = "Dense"
) -> MatmulTiles:
    """Return the tiles that take the fewest cycles, as far as the estimate knows, for a product.

    ``shape`` counts blocks: rows, inner dimension, columns. If there are ``groups`` of such products, with their rows
    one behind the other, tiles divide each of them. Raises ``OperatorError`` where no tile fits, for ``what``.
    """
    behind = epilogue.append(te.placeholder((1, 1, env.BATCH, env.BLOCK_OUT), env.acc_dtype), steps, env)
    residuals = sum(isinstance(step, Residual) for step in steps)
    cut = parts if groups is None else divisors
    search = _Search(*shape, groups or 1, cut, len(behind.stages), residuals, len(behind.inputs) - residuals)
    costs = {tiles: search.cost(tiles) for tiles in search.candidates()}
    fitting = {tiles: cost for tiles, cost in costs.items() if not cost.excess(env.config)}
    if not fitting:
        raise OperatorError(f"{what}: {costs[MatmulTiles(1, 1, 1)].excess(env.config)}")
    return min(fitting, key=lambda tiles: (fitting[tiles].cycles(env.config), fitting[tiles].steps))


@dataclass(frozen=True, slots=True)
class _Search:
    """The tiles of products in blocks and what they take; ``alu`` operations and so many tensors follow the sums.

    ``cut`` gives the sizes of the tiles' sides.
    """

    rows: int
    inner: int
    columns: int
    groups: int
    cut: Callable[[int], list[int]]
    alu: int
    residuals: int
    channel_values: int

    def candidates(self) -> Iterator[MatmulTiles]:
        """Yield tiles that divide the inner dimension; those of a single product may reach beyond its ends."""
        for rows, inner, columns in product(self.cut(self.rows), divisors(self.inner), self.cut(self.columns)):
            for down, across in _TURNS:
                down_fits = self.groups * blocks(self.rows, rows) % down == 0
                if down_fits and blocks(self.columns, columns) % across == 0:
                    yield MatmulTiles(rows, inner, columns, down, across)

    def cost(self, tiles: MatmulTiles) -> TileCost:
        """Return what ``tiles`` take."""
        outputs = tiles.rows * tiles.columns
        return TileCost(
            tiles=self.groups * blocks(self.rows, tiles.rows) * blocks(self.columns, tiles.columns),
            steps=self.inner // tiles.inner,
            inp=tiles.rows * tiles.inner,
            wgt=tiles.columns * tiles.inner,
            rows=tiles.rows + tiles.columns if tiles.inner < self.inner else 2,
            products=outputs * tiles.inner,
            uops=tiles.inner * tiles.columns + 1,
            outputs=outputs,
            extra=self.residuals * outputs + self.channel_values * tiles.columns,
            alu=self.alu,
            threads=tiles.row_threads * tiles.column_threads,
            stores=tiles.rows if self.columns % tiles.columns else 1,
        )
