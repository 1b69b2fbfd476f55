"""What a choice of tiles takes of the scratchpads and of the hardware's time.

Tests: tests/vta/auto_scheduler/test_nest_work.py.
"""

from dataclasses import dataclass, field
from functools import cached_property
from math import ceil, prod

from vta import te
from vta.auto_scheduler.accumulators import Taken, taken
from vta.auto_scheduler.gathers import gaps_of
from vta.auto_scheduler.nest import Level, Load, Nest
from vta.auto_scheduler.nest_tiles import NestTiles
from vta.auto_scheduler.products import extent_of
from vta.auto_scheduler.regions import Box
from vta.topi.alu.alu_operator import element_bytes
from vta.topi.alu.alu_tiles import TransferCost, transfer
from vta.topi.core.memory_port import bus_of
from vta.topi.core.sizes import sizes
from vta.topi.tiling import Bus, Footprint, Price, Work

__all__ = ["Layout"]

_INSTRUCTION_BYTES = 16
_INSTRUCTION = 8
"""What an instruction costs beside its work, about."""

_RUN = 0.25
"""What a run of neighbouring bytes costs beside these, about."""

_CLASHES = 1 / 7
"""The part of the ALU's cycles that a load of bytes loses beside it: one in each round of three elements."""

_RAGGED = 1.15
"""How much longer tiles take of which some are smaller than the others, about."""

_SLACK = 4
"""Accumulators for temporaries of the ALU's stages."""


@dataclass(frozen=True)
class Layout:
    """``tiles`` without copies, on the ``nest``."""

    nest: Nest
    tiles: NestTiles
    bus: Bus = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "bus", bus_of(self.nest.env))

    @cached_property
    def _loads(self) -> list[tuple[Load, Box]]:
        whole, step = (self.nest.boxes(self.tiles, step=step) for step in (False, True))
        return [
            (load, (step if load.level is Level.STEP else whole)[load.tensor]) for load in self.nest.loads(self.tiles)
        ]

    @cached_property
    def taken(self) -> Taken:
        """What a tile takes of the accumulator and the ALU."""
        parts = self.nest.parts
        alone = frozenset({*(product.tensor for product in parts.products), *parts.loads, *parts.direct})
        boxes = self.nest.boxes(self.tiles, step=False)
        return taken(parts.computed, alone, parts.output, boxes, self.nest.in_place)

    def footprint(self, rotate_tiles: int, rotate_steps: tuple[int, ...]) -> Footprint:
        """Return what the scratchpads hold with copies."""
        held = {True: 0, False: 0}
        for load, box in self._loads:
            match load.level:
                case Level.STEP:
                    own = rotate_steps[load.readers[0]]
                    copies = own if own > 1 else rotate_tiles
                case Level.TILE:
                    copies = rotate_tiles
                case Level.RESIDENT:
                    copies = 1
            held[load.is_data] += prod(box[:-2]) * copies
        kernels = [self.nest.kernel(number, self.tiles).uops for number in range(len(self.nest.parts.products))]
        return Footprint(
            inp=held[True],
            wgt=held[False],
            acc=self.taken.elements * rotate_tiles + _SLACK,
            uops=max(kernels, default=1),
        )

    def _beats(self, load: Load) -> tuple[int, int]:
        """Return the cycles of the bus and the instructions that an operand takes."""
        config = self.nest.env.config
        size = config.inp_elem_bytes if load.is_data else config.wgt_elem_bytes
        boxes = self.nest.boxes(self.tiles, step=load.level is Level.STEP)
        *gaps, gap = gaps_of(load.tensor)[:-2]
        if max((*gaps, gap)) > 1:
            box = boxes[load.tensor][:-2]
            rows = prod(box[:-1])
            runs, instructions = (prod(box), rows) if gap > 1 else (rows, prod(box[:-2]))
            return self.bus.beats(prod(box), size, runs), instructions
        source = self.nest.parts.source_of(load.tensor)
        box = boxes[source][:-2]
        cost = transfer(box, sizes(source)[:-2], size, ragged=False)
        return self.bus.beats(prod(box), size, cost.runs), max(1, cost.instructions)

    def work(self) -> Work:
        """Return what a launch does."""
        nest, tiles = self.nest, self.tiles
        parts, config = nest.parts, nest.env.config
        boxes = nest.boxes(tiles, step=False)
        counts = nest.trips(tiles)
        places = [prod(boxes[product.tensor][:-2]) for product in parts.products]
        steps = [prod(nest.step_trips(number, tiles)) for number in range(len(places))]
        sums = [prod(map(extent_of, product.sums)) for product in parts.products]
        total = sum(steps)
        read = weights = resident = 0
        instructions = resident_instructions = 0
        for load, _ in self._loads:
            beats, count = self._beats(load)
            match load.level:
                case Level.STEP:
                    times = steps[load.readers[0]]
                case Level.TILE:
                    times = 1
                case Level.RESIDENT:
                    resident += beats
                    resident_instructions += count
                    continue
            read += beats * times
            instructions += count * times
            weights += 0 if load.is_data else beats * times
        output = prod(tiles.sides)
        stored = transfer(tiles.sides, parts.outer, config.out_elem_bytes, ragged=False)
        kernels = [nest.kernel(number, tiles) for number in range(len(places))]
        return Work(
            tiles=prod(counts),
            steps=total,
            tile_copies=1,
            step_copies=1,
            load=ceil(read / total),
            load_instructions=max(1, ceil(instructions / total)),
            weights=weights // total,
            blocks=tiles.sides[1] if len(tiles.sides) > 1 else 1,
            gemm=ceil(sum(place * each for place, each in zip(places, sums, strict=True)) / total),
            alu=self.taken.operations,
            epilogue_load=sum(self._epilogue_beats(tensor) for tensor in (*parts.loads, *parts.direct)),
            store=self.bus.beats(output, config.out_elem_bytes),
            accumulators=sum(places),
            resident_load=resident,
            resident_loads=prod(counts[place] for place in tiles.resident) if resident else 0,
            resident_instructions=max(1, resident_instructions),
            uops=max(kernel.uops for kernel in kernels),
            stages=max(1, self.taken.stages),
            store_instructions=max(1, stored.instructions),
            run=kernels[-1].run,
        )

    @property
    def _is_ragged(self) -> bool:
        """Whether some tiles are smaller than the others, and windows are reduced in these."""
        parts = self.nest.parts
        reduced = any(stage.op.reduce_axis for stage in parts.stages if stage not in self.nest.in_place)
        return reduced and any(extent % side for extent, side in zip(parts.outer, self.tiles.sides, strict=True))

    def _epilogue_beats(self, tensor: te.Tensor) -> int:
        """Return the cycles in which what a stage of the ALU reads is loaded."""
        env = self.nest.env
        source = self.nest.parts.source_of(tensor)
        box = self.nest.boxes(self.tiles, step=False)[source]
        return self.bus.beats(prod(box[:-2]), element_bytes(env, str(source.dtype)))

    def alone(self, copies: int) -> Price:
        """Return what a launch takes in which the ALU works alone, in tiles with ``copies`` of their memory.

        Loads are written to the banks that the ALU does not write to in the same cycle, so they lose some cycles beside
        it; instructions are fetched by the bus that loads use.
        """
        nest, env = self.nest, self.nest.env
        parts, boxes = nest.parts, nest.boxes(self.tiles, step=False)
        moved = TransferCost()
        for tensor in (*parts.loads, *parts.direct):
            source = parts.source_of(tensor)
            box, extents = boxes[source][:-2], sizes(source)[:-2]
            moved += transfer(box, extents, element_bytes(env, str(source.dtype)))
        stored = transfer(self.tiles.sides, parts.outer, env.OUT_ELEM_BYTES)
        work = self.taken.operations
        tiles = prod(nest.trips(self.tiles))
        whole = prod(parts.outer) / (tiles * prod(self.tiles.sides))
        kernels = self.taken.stages + 2 * len([stage for stage in parts.stages if stage.op.reduce_axis])
        fetched = (moved.instructions + stored.instructions + kernels) * _INSTRUCTION_BYTES / self.bus.beat_bytes
        load = whole * (moved.size / self.bus.beat_bytes + moved.runs * _RUN) + work * whole * _CLASHES + fetched
        operations = work * whole + kernels * _INSTRUCTION
        store = whole * (stored.size / self.bus.beat_bytes + stored.runs * _RUN) + stored.instructions * _INSTRUCTION
        whole_tile = load + operations + store + 2 * self.bus.latency
        if self._is_ragged:  # the host runs some loops around several instructions, and takes more of these
            load, operations = load * _RAGGED, operations * _RAGGED
        pace = whole_tile if copies == 1 else max(load, operations, store, whole_tile / copies)
        return Price(
            cycles=round(whole_tile + (tiles - 1) * pace),
            load=round(tiles * whole * moved.size / self.bus.beat_bytes),
            gemm=0,
            alu=round(tiles * whole * work),
            store=round(tiles * whole * stored.size / self.bus.beat_bytes),
        )
