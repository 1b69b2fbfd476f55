"""This library's own schedule of matrix products, and the tiles that suit a product best.

A tile of the result stays in the accumulator while blocks of the inner dimension are loaded and added. Two tiles are
worked on in turn (virtual threads), so that one's data are loaded while the other's are multiplied.
May import ``vta.te``, ``vta.environment``, ``vta.topi``. Tests: tests/vta/topi/test_matmul_schedule.py.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from vta import te
from vta.environment import Environment
from vta.topi.epilogue import Appended
from vta.topi.layer_schedule import LayerSchedule
from vta.topi.operator import OperatorError
from vta.topi.sizes import sizes

__all__ = ["MatmulTiles", "TilesError", "choose_tiles", "schedule_matmul"]

_BEAT_BYTES = 8
_INSTRUCTION_CYCLES = 12
"""What an instruction costs beside its work, about: fetch, token, latency of the pipelines."""


class TilesError(OperatorError):
    """Tiles that do not fit the accelerator's memories, or that do not divide the operator."""


@dataclass(frozen=True, slots=True)
class MatmulTiles:
    """The extents of one tile in blocks, and how many tiles are worked on in turn (1 or 2), over rows or columns."""

    rows: int
    inner: int
    columns: int
    row_threads: int = 1
    column_threads: int = 1

    @property
    def threads(self) -> int:
        """How many tiles are on the chip at once."""
        return self.row_threads * self.column_threads


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
    sums.reorder(k0, x_b, x_co, k1, x_bi, x_ci, k_i)
    made.load_operands_in(k0)
    sums.tensorize(x_bi, made.env.gemm)
    result.pragma(b1, made.env.dma_copy)
    return made.s


def choose_tiles(rows: int, inner: int, columns: int, appended: Appended, env: Environment) -> MatmulTiles:
    """Return the tiles that take the fewest cycles, as far as the estimate knows, for a product of so many blocks."""
    problem = _Problem(rows, inner, columns, appended, env)
    fitting = [tiles for tiles in problem.candidates() if not problem.excess(tiles)]
    if not fitting:
        smallest = MatmulTiles(1, 1, 1)
        raise TilesError(f"a product of {rows} x {inner} x {columns} blocks: {problem.excess(smallest)}")
    return min(fitting, key=lambda tiles: (problem.cycles(tiles), problem.steps(tiles)))


@dataclass(frozen=True, slots=True)
class _Problem:
    """A product in blocks, and what its tiles take."""

    rows: int
    inner: int
    columns: int
    appended: Appended
    env: Environment

    def candidates(self) -> Iterator[MatmulTiles]:
        """Yield all tiles that divide the product."""
        for rows, inner, columns in product(_divisors(self.rows), _divisors(self.inner), _divisors(self.columns)):
            yield MatmulTiles(rows, inner, columns)
            if self.rows // rows % 2 == 0:
                yield MatmulTiles(rows, inner, columns, row_threads=2)
            if self.columns // columns % 2 == 0:
                yield MatmulTiles(rows, inner, columns, column_threads=2)

    def excess(self, tiles: MatmulTiles) -> str:
        """Return which memory ``tiles`` do not fit into; "" if they fit."""
        config = self.env.config
        needs = {
            "input": (tiles.rows * tiles.inner, config.inp_depth),
            "weight": (tiles.columns * tiles.inner, config.wgt_depth),
            "accumulator": (tiles.rows * tiles.columns + self._extra(tiles), config.acc_depth),
        }
        for memory, (need, limit) in needs.items():
            if need * tiles.threads > limit:
                return f"tiles need {need * tiles.threads} elements of the {memory} buffer, which holds {limit}"
        return ""

    def _extra(self, tiles: MatmulTiles) -> int:
        """Return how many accumulators hold what the epilogue reads."""
        return sum((1 if sizes(t)[0] == 1 else tiles.rows) * tiles.columns for t in self.appended.inputs)

    def steps(self, tiles: MatmulTiles) -> int:
        """Return how many blocks of the inner dimension are loaded and multiplied, over all tiles."""
        return self._tiles(tiles) * (self.inner // tiles.inner)

    def _tiles(self, tiles: MatmulTiles) -> int:
        return (self.rows // tiles.rows) * (self.columns // tiles.columns)

    def cycles(self, tiles: MatmulTiles) -> float:
        """Return the cycles that the product takes, about, with a 64-bit memory that answers at once."""
        config, outputs = self.env.config, tiles.rows * tiles.columns
        data = tiles.rows * tiles.inner * config.inp_elem_bytes + tiles.columns * tiles.inner * config.wgt_elem_bytes
        load = data / _BEAT_BYTES + 2 * _INSTRUCTION_CYCLES
        multiply = outputs * tiles.inner + _INSTRUCTION_CYCLES
        reads = self._extra(tiles) * config.acc_elem_bytes / _BEAT_BYTES
        finish = max(reads, len(self.appended.stages) * (outputs + _INSTRUCTION_CYCLES))
        store = outputs * config.out_elem_bytes / _BEAT_BYTES + _INSTRUCTION_CYCLES
        count, steps = self._tiles(tiles), self.inner // tiles.inner
        if tiles.threads == 1:
            return count * (steps * (load + multiply) + outputs + finish + store)
        busiest = max(count * steps * load, count * (steps * multiply + outputs), count * finish, count * store)
        return busiest + load + count / tiles.threads * (finish + store)


def _divisors(number: int) -> list[int]:
    return [d for d in range(1, number + 1) if number % d == 0]
