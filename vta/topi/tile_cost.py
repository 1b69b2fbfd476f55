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


@dataclass(frozen=True, slots=True, kw_only=True)
class TileCost:
    """``tiles`` tiles of the result, each of which is accumulated in ``steps`` steps.

    A step loads ``inp`` and ``wgt`` elements in ``rows`` rows and multiplies ``products`` pairs of elements, with a
    kernel of ``uops`` micro-ops. A tile has ``outputs`` elements; ``extra`` elements beside them hold what the epilogue
    reads, which does ``alu`` operations on every element. ``threads`` tiles are on the chip at once.
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
        """Return the cycles that the layer takes, about, with a 64-bit memory that answers at once."""
        data = self.inp * config.inp_elem_bytes + self.wgt * config.wgt_elem_bytes
        load = data / _BEAT_BYTES + self.rows * _ROW_CYCLES + 2 * _INSTRUCTION_CYCLES
        multiply = self.products + _INSTRUCTION_CYCLES
        reads = self.extra * config.acc_elem_bytes / _BEAT_BYTES
        finish = max(reads, self.alu * (self.outputs + _INSTRUCTION_CYCLES))
        store = self.outputs * config.out_elem_bytes / _BEAT_BYTES + _INSTRUCTION_CYCLES
        micro_ops = self.uops * self.threads * config.uop_elem_bytes / _BEAT_BYTES
        if self.threads == 1:
            return micro_ops + self.tiles * (self.steps * (load + multiply) + self.outputs + finish + store)
        busiest = max(
            self.tiles * self.steps * load,
            self.tiles * (self.steps * multiply + self.outputs),
            self.tiles * finish,
            self.tiles * store,
        )
        return micro_ops + busiest + load + self.tiles / self.threads * (finish + store)
