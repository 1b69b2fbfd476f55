"""What a tiled layer takes on the accelerator: elements of every scratchpad, and cycles.

May import ``isa.config``. Tests: tests/vta/topi/test_tile_cost.py.
"""

from dataclasses import dataclass

from isa.config import VTAConfig

__all__ = ["TileCost"]

_BEAT_BYTES = 8
_INSTRUCTION_CYCLES = 12
"""What an instruction costs beside its work, about: fetch, token, latency of the pipelines."""
_ROW_CYCLES = 1
"""What a row of a two-dimensional transfer costs beside its bytes, about."""

_CLEARED = 4
"""Accumulators that are cleared in a cycle."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TileCost:
    """``tiles`` tiles of the result, each of which is accumulated in ``steps`` steps.

    A step loads ``inp`` and ``wgt`` elements in ``rows`` rows and multiplies ``products`` pairs of elements, with a
    kernel of ``uops`` micro-ops. A tile has ``outputs`` elements; ``extra`` elements beside them hold what the epilogue
    reads, which does ``alu`` operations on every element, and ``stores`` instructions store them. ``threads`` tiles are
    on the chip at once.
    """

    tiles: int
    steps: int
    inp: int
    wgt: int
    rows: int
    products: int
    uops: int
    outputs: int
    extra: int
    alu: int
    threads: int
    stores: int = 1

    def excess(self, config: VTAConfig) -> str:
        """Return which scratchpad is too small, and by how much; "" if all are large enough."""
        needs = {
            "input": (self.inp * self.threads, config.inp_depth),
            "weight": (self.wgt * self.threads, config.wgt_depth),
            "accumulator": ((self.outputs + self.extra) * self.threads, config.acc_depth),
            "micro-op": (self.uops, config.uop_depth),
        }
        for memory, (need, limit) in needs.items():
            if need > limit:
                return f"the tiles need {need} elements of the {memory} buffer, which holds {limit}"
        return ""

    def cycles(self, config: VTAConfig) -> float:
        """Return the cycles that the layer takes, about, with a 64-bit memory that answers at once.

        The tiles that are on the chip at once go through their steps in turn: a step takes what the busiest part of the
        accelerator needs for all of them, but at least what one of them needs to load and multiply. After the last
        step, a tile is finished, stored, cleared and loaded again, while the others are multiplied.
        """
        turns, overhead = self.threads, _INSTRUCTION_CYCLES
        data = self.inp * config.inp_elem_bytes + self.wgt * config.wgt_elem_bytes
        load = data / _BEAT_BYTES + self.rows * _ROW_CYCLES + 2 * overhead
        multiply = self.products + overhead
        reads = self.extra * config.acc_elem_bytes / _BEAT_BYTES
        finish = reads + self.alu * (self.outputs + overhead)
        store = self.outputs * config.out_elem_bytes / _BEAT_BYTES + self.stores * overhead
        clear = self.outputs / _CLEARED + overhead
        step = max(turns * load, turns * multiply, load + multiply)
        last = max(turns * max(load, multiply, finish, store), multiply + finish + store + clear + load)
        rounds = -(-self.tiles // turns)
        micro_ops = self.uops * turns * config.uop_elem_bytes / _BEAT_BYTES
        return micro_ops + rounds * ((self.steps - 1) * step + last) + (turns - 1) * max(multiply, finish)
