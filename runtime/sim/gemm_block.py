"""The inner loops of GEMM: a block of accumulator rows that stays in registers while a reduction runs over it.

A block takes ``steps`` consecutive steps of one loop (each with an accumulator element of its own) and adds, for
each, the products of ``count`` steps of a reduction loop. Where the steps share their weights, every weight vector
is loaded once for the whole block. Tests: ``tests/runtime/sim/test_gemm.py``.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from llvmlite import ir

from runtime.sim.dot_unit import GROUP_BYTES
from runtime.sim.emit import I32, Emitter, Num, Variable, vector
from runtime.sim.geometry import Geometry

__all__ = ["PARAMETERS", "Block", "block_shapes", "emit_block"]

PARAMETERS = ("arena", "dst", "src", "wgt", "dst_step", "src_step", "wgt_step", "count", "src_next", "wgt_next")
"""Parameters of a block: elements of the first product, what the next step adds to them, the reduction's trip
count, and what its next trip adds."""

_MAX_STEPS = 8
_MAX_OWN_WEIGHTS = 4
_LATENCY = 4
_MAX_PRODUCTS = 64


@dataclass(frozen=True, slots=True)
class Block:
    """The shape of a block: ``steps`` taken at once, with the same weights if ``shared`` or weights of their own.

    ``rows`` batch rows and ``vectors`` vectors of output lanes are in registers at once; loops cover the others.
    ``parts`` independent sums hide the latency of a single one.
    """

    steps: int
    shared: bool
    rows: int
    vectors: int
    parts: int


def block_shapes(geometry: Geometry) -> tuple[tuple[Block, ...], tuple[Block, ...]]:
    """Return the blocks for shared weights and for weights of their own, each from most steps to one."""
    budget = geometry.unit.accumulators
    vectors = min(geometry.config.block_out // geometry.lanes, budget // 2)
    rows = min(geometry.config.batch, budget // vectors)
    most = min(_MAX_STEPS, budget // (rows * vectors))

    def block(steps: int, shared: bool) -> Block:
        parts = max(1, min(_LATENCY // (steps * rows * vectors), geometry.groups))
        return Block(steps, shared, rows, vectors, parts)

    single = block(1, True)
    shared = [block(steps, True) for steps in (8, 4, 2) if steps <= most]
    own = [block(_MAX_OWN_WEIGHTS, False)] if most >= _MAX_OWN_WEIGHTS else []
    return (*shared, single), (*own, single)


def emit_block(module: Any, geometry: Geometry, block: Block) -> Any:
    """Write the function of one block; it expects indices in range and returns nothing."""
    kind = "shared" if block.shared else "own"
    emit = Emitter(module, f"gemm_{kind}_{block.steps}", PARAMETERS)
    config = geometry.config
    vectors = config.block_out // geometry.lanes // block.vectors
    with emit.loop(config.batch // block.rows) as row, emit.loop(vectors) as lane:
        _BlockWriter(emit, geometry, block, row * block.rows, lane * block.vectors).write()
    return emit.finish()


@dataclass(frozen=True, slots=True)
class _BlockWriter:
    """Writes the code for one range of batch rows and output lanes."""

    emit: Emitter
    geometry: Geometry
    block: Block
    first_row: Num
    first_vector: Num

    def write(self) -> None:
        """Load the accumulators, run the reduction, store them."""
        emit, block = self.emit, self.block
        kind = vector(self.geometry.lanes, I32)
        zero = ir.Constant(kind, [0] * kind.count)
        arguments = emit.arguments
        sums = {key: emit.vector_variable(kind) for key in self._sums()}
        excess = [emit.vector_variable(kind) for _ in range(block.vectors)]
        for (step, row, lane, part), total in sums.items():
            total.set(zero if part else emit.load(self._accumulator(step, row, lane), kind, 4))
        for total in excess:
            total.set(zero)
        with emit.loop(arguments["count"]) as trip:
            src = arguments["src"] + trip * arguments["src_next"]
            wgt = arguments["wgt"] + trip * arguments["wgt_next"]
            self._emit_products(sums, src, wgt)
            if self.geometry.unit.offset:
                self._emit_excess(sums, excess, wgt)
        for step, row, lane in {key[:3]: None for key in sums}:
            total = sums[step, row, lane, 0].get()
            for part in range(1, block.parts):
                total = emit.builder.add(total, sums[step, row, lane, part].get())
            if block.shared and self.geometry.unit.offset:
                total = emit.builder.sub(total, excess[lane].get())
            emit.store(self._accumulator(step, row, lane), total, 4)

    def _sums(self) -> Iterator[tuple[int, int, int, int]]:
        block = self.block
        for step in range(block.steps):
            for row in range(block.rows):
                for lane in range(block.vectors):
                    for part in range(block.parts):
                        yield step, row, lane, part

    def _emit_products(self, sums: dict[tuple[int, int, int, int], Variable], src: Num, wgt: Num) -> None:
        block, groups = self.block, self.geometry.groups
        unrolled = groups
        while unrolled > block.parts and unrolled * block.steps * block.rows * block.vectors > _MAX_PRODUCTS:
            unrolled //= 2
        with self.emit.loop(groups, step=unrolled) as group:
            for offset in range(unrolled):
                self._emit_group(sums, src, wgt, group + offset, offset % block.parts)

    def _emit_group(
        self, sums: dict[tuple[int, int, int, int], Variable], src: Num, wgt: Num, group: Num, part: int
    ) -> None:
        emit, block, unit = self.emit, self.block, self.geometry.unit
        weights: list[Any] = []
        for step in range(block.steps):
            if step == 0 or not block.shared:
                weights = self._weights(wgt + emit.arguments["wgt_step"] * step, group)
            for row in range(block.rows):
                activations = emit.load(self._activations(src, step, row, group), I32)
                for lane in range(block.vectors):
                    total = sums[step, row, lane, part]
                    total.set(unit.multiply_add(emit, total.get(), activations, weights[lane]))

    def _emit_excess(self, sums: dict[tuple[int, int, int, int], Variable], excess: list[Variable], wgt: Num) -> None:
        emit, block = self.emit, self.block
        kind = vector(self.geometry.lanes, I32)
        for step in range(1 if block.shared else block.steps):
            element = wgt + emit.arguments["wgt_step"] * step
            begin = emit.arguments["arena"] + self.geometry.excess_at + element * self.geometry.acc_row
            for lane in range(block.vectors):
                loaded = emit.load(begin + (self.first_vector + lane) * (kind.count * 4), kind, 4)
                if block.shared:
                    excess[lane].set(emit.builder.add(excess[lane].get(), loaded))
                    continue
                for row in range(block.rows):
                    total = sums[step, row, lane, 0]
                    total.set(emit.builder.sub(total.get(), loaded))

    def _weights(self, element: Num, group: Num) -> list[Any]:
        """Return the weight vectors of one group."""
        emit, geometry = self.emit, self.geometry
        kind = vector(geometry.lanes, I32)
        begin = emit.arguments["arena"] + geometry.wgt_at + element * geometry.wgt_elem
        row = begin + group * (geometry.config.block_out * GROUP_BYTES)
        lanes = [self.first_vector + lane for lane in range(self.block.vectors)]
        return [emit.load(row + lane * (kind.count * 4), kind, 4) for lane in lanes]

    def _activations(self, src: Num, step: int, row: int, group: Num) -> Num:
        """Return the address of one group of one input row."""
        geometry = self.geometry
        element = src + self.emit.arguments["src_step"] * step
        begin = self.emit.arguments["arena"] + geometry.inp_at + element * geometry.inp_elem
        return begin + (self.first_row + row) * geometry.inp_row + group * GROUP_BYTES

    def _accumulator(self, step: int, row: int, lane: int) -> Num:
        """Return the address of one vector of the accumulator."""
        geometry, arguments = self.geometry, self.emit.arguments
        element = arguments["dst"] + arguments["dst_step"] * step
        begin = arguments["arena"] + geometry.acc_at + element * geometry.acc_elem
        in_row = (self.first_vector + lane) * (geometry.lanes * 4)
        return begin + (self.first_row + row) * geometry.acc_row + in_row
