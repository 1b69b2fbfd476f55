"""The compute stage alone: instructions, tokens, memory and store reads, which stall at random.

``ComputeRig`` runs instructions on the stage (in native code) and on the reference interpreter, from the same contents
of scratchpads and DRAM, and compares all accumulators.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np

from hw.compute.stage import ComputeStage
from hw.sim import CompiledDesign, compile_design
from isa.config import VTAConfig
from isa.encoding import encode, encode_uop
from isa.instructions import Deps, Finish, Instruction, Load, MemoryId, MicroOp
from isa.machine.hardware_config import HardwareConfig
from isa.reference import Reference, pack
from tests.support.hw.accumulator_places import bank, place
from tests.support.isa.random_memory import random_bytes
from tests.support.isa.random_programs import ARENA_BYTES, _Builder

__all__ = [
    "COMPUTE_CONFIGS",
    "EDGE_CONFIGS",
    "ComputeRig",
    "Ints",
    "MemoryPort",
    "Stalls",
    "Trace",
    "load_uops",
    "random_bits",
    "random_compute_program",
    "uop_image",
]

Ints = np.ndarray[tuple[int, ...], np.dtype[np.int32]]

COMPUTE_CONFIGS: dict[str, VTAConfig] = {
    "block4": VTAConfig(
        log_block=2, log_uop_buff_size=8, log_inp_buff_size=8, log_wgt_buff_size=9, log_acc_buff_size=10
    ),
    "batch2": VTAConfig(
        log_batch=1, log_block=2, log_uop_buff_size=8, log_inp_buff_size=8, log_wgt_buff_size=9, log_acc_buff_size=10
    ),
    "in8out2": VTAConfig(
        log_block_in=3,
        log_block_out=1,
        log_uop_buff_size=7,
        log_inp_buff_size=8,
        log_wgt_buff_size=8,
        log_acc_buff_size=9,
    ),
    "in2out4_int4": VTAConfig(
        log_inp_width=2,
        log_wgt_width=2,
        log_block_in=1,
        log_block_out=2,
        log_uop_buff_size=7,
        log_inp_buff_size=6,
        log_wgt_buff_size=7,
        log_acc_buff_size=8,
    ),
    "mixed_widths": VTAConfig(
        log_inp_width=1,
        log_wgt_width=0,
        log_block=3,
        log_uop_buff_size=7,
        log_inp_buff_size=5,
        log_wgt_buff_size=7,
        log_acc_buff_size=7,
    ),
}
"""Small configurations that differ in everything the stage depends on."""

EDGE_CONFIGS: dict[str, VTAConfig] = {
    "one_element_each": VTAConfig(
        log_block=2, log_uop_buff_size=2, log_inp_buff_size=2, log_wgt_buff_size=4, log_acc_buff_size=4
    ),
    "one_lane": VTAConfig(
        log_block=0, log_uop_buff_size=4, log_inp_buff_size=3, log_wgt_buff_size=3, log_acc_buff_size=5
    ),
    "deep": VTAConfig(log_block=1, log_uop_buff_size=9, log_inp_buff_size=9, log_wgt_buff_size=9, log_acc_buff_size=14),
}
"""The smallest that are legal, and one with as many accumulators as there may be."""


@dataclass(slots=True)
class Trace:
    """What happened, by cycle from the first one in which an instruction was offered."""

    starts: list[int] = field(default_factory=list)
    g2l: list[int] = field(default_factory=list)
    g2s: list[int] = field(default_factory=list)
    causes: list[int] = field(default_factory=list)
    finish: int = -1


@dataclass(frozen=True, slots=True)
class Stalls:
    """How often, of 100 cycles, something is not there; and how many cycles memory takes."""

    insn: int = 0
    tokens: int = 0
    memory: int = 0
    store: int = 0
    latency: int = 1


NO_STALLS = Stalls()


@cache
def _design(config: VTAConfig, hardware: HardwareConfig) -> CompiledDesign:
    return compile_design(ComputeStage(config, hardware))


def random_bits(rng: np.random.Generator, shape: tuple[int, ...], width: int) -> Ints:
    """Return random two's-complement numbers of ``width`` bits, extremes more often than others."""
    low, high = -(1 << (width - 1)), (1 << (width - 1)) - 1
    values = rng.integers(low, high + 1, shape)
    extreme = rng.random(shape) < 0.2
    return np.where(extreme, rng.choice([low, high, 0, -1], shape), values).astype(np.int32)


class MemoryPort:
    """DRAM behind one ReadClient: bursts in order, one beat a cycle, ``latency`` cycles after the command at least."""

    def __init__(self, design: CompiledDesign, name: str, memory: bytes, beat_bytes: int) -> None:
        self.design = design
        self.name = name
        self.memory = memory
        self.beat_bytes = beat_bytes
        self.beats: deque[tuple[int, int]] = deque()
        self.offered = False
        self.wait = 0
        self.waits: list[int] = []

    def drive(self, rng: np.random.Generator, stalls: Stalls, cycle: int) -> None:
        """Set the inputs of this cycle; what is offered stays until it is taken."""
        design, name = self.design, self.name
        ready = int(len(self.beats) < 512 and rng.integers(100) >= stalls.memory)
        design.poke(f"{name}__cmd__ready", ready)
        if not self.offered:
            here = bool(self.beats) and self.beats[0][0] <= cycle
            self.offered = here and int(rng.integers(100)) >= stalls.memory
        design.poke(f"{name}__data__valid", int(self.offered))
        if self.offered:
            design.poke(f"{name}__data__payload", self.beats[0][1])

    def sample(self, stalls: Stalls, cycle: int) -> None:
        """Take part in the transfers of this cycle."""
        design, name = self.design, self.name
        if self.offered and design.peek(f"{name}__data__ready"):
            self.beats.popleft()
            self.offered = False
            self.waits.append(self.wait)
            self.wait = 0
        self.wait += self.offered
        if design.peek(f"{name}__cmd__valid") and design.peek(f"{name}__cmd__ready"):
            payload = design.peek(f"{name}__cmd__payload")
            addr_width = 32
            addr, beats = payload & ((1 << addr_width) - 1), payload >> addr_width
            assert 1 <= beats <= 256, beats
            assert addr % self.beat_bytes == 0, addr
            assert addr // 4096 == (addr + beats * self.beat_bytes - 1) // 4096, (addr, beats)
            for index in range(beats):
                start = addr + index * self.beat_bytes
                word = int.from_bytes(
                    self.memory[start : start + self.beat_bytes].ljust(self.beat_bytes, b"\0"), "little"
                )
                last = int(index == beats - 1) << (8 * self.beat_bytes)
                self.beats.append((cycle + stalls.latency + index, word | last))


class ComputeRig:
    """Runs instructions on the stage and compares with the reference."""

    def __init__(
        self,
        config: VTAConfig,
        *,
        seed: int,
        stalls: Stalls = NO_STALLS,
        hardware: HardwareConfig | None = None,
        memory: bytes = b"",
    ) -> None:
        self.config = config
        self.hardware = hardware or HardwareConfig()
        self.stalls = stalls
        self.rng = np.random.default_rng(seed)
        self.memory = memory
        self.design = _design(config, self.hardware)
        self.design.reset()
        self.reference = Reference(config, np.frombuffer(memory, np.uint8).copy())
        self.reference.inp[:] = random_bits(self.rng, self.reference.inp.shape, config.inp_width)
        self.reference.wgt[:] = random_bits(self.rng, self.reference.wgt.shape, config.wgt_width)
        self.inp = _windows(_words(self.reference.inp, config.inp_width), config)
        self.wgt = _words(self.reference.wgt, config.wgt_width)
        beat = self.hardware.beat_bytes
        self.ports = [MemoryPort(self.design, name, memory, beat) for name in ("uop_dma", "acc_dma")]
        self.cycle = 0
        self.store_queue: deque[int] = deque()
        self.stored: list[int] = []
        self._store_offered = False
        self._insn_offered = False

    def run(
        self, instructions: Sequence[Instruction], *, last: Finish | None = None, max_cycles: int = 200_000
    ) -> Trace:
        """Execute instructions and a FINISH on both; ``Trace`` has the cycles of the stage."""
        for instruction in instructions:
            self.reference.step(instruction)
        words = deque(encode(instruction, self.config) for instruction in (*instructions, last or Finish()))
        trace = Trace()
        start = self.cycle
        tokens = {"l2g": 0, "s2g": 0}
        while trace.finish < 0:
            assert self.cycle - start < max_cycles, f"no finish, {len(words)} words left"
            self._cycle(words, trace, start, tokens)
        return trace

    def _cycle(self, words: deque[int], trace: Trace, start: int, tokens: dict[str, int]) -> None:
        design, rng, stalls = self.design, self.rng, self.stalls
        now = self.cycle - start
        if not self._insn_offered:
            self._insn_offered = bool(words) and int(rng.integers(100)) >= stalls.insn
        design.poke("insn__valid", int(self._insn_offered))
        if words:
            design.poke("insn__payload", words[0])
        for name in tokens:
            if tokens[name] == 0:
                tokens[name] = int(rng.integers(100) >= stalls.tokens)
            design.poke(f"{name}_available", int(tokens[name] > 0))
        for port in self.ports:
            port.drive(rng, stalls, self.cycle)
        self._drive_store()
        if design.peek("insn__ready") and self._insn_offered:
            words.popleft()
            self._insn_offered = False
            trace.starts.append(now)
        for name in tokens:
            if design.peek(f"{name}_pop"):
                assert tokens[name] > 0
                tokens[name] -= 1
        for port in self.ports:
            port.sample(stalls, self.cycle)
        self._sample_store()
        for pushes, name in ((trace.g2l, "g2l_push"), (trace.g2s, "g2s_push")):
            if design.peek(name):
                pushes.append(now)
        trace.causes.append(design.peek("cause"))
        if design.peek("finish"):
            trace.finish = now
        reads = [
            (name, table, design.peek(f"{name}_read__address"))
            for name, table in (("inp", self.inp), ("wgt", self.wgt))
        ]
        enabled = design.peek("inp_read__enable")
        design.step()
        self.cycle += 1
        for name, table, address in reads:
            if enabled:
                design.poke(f"{name}_read__data", table[address])

    def _drive_store(self) -> None:
        if not self._store_offered:
            self._store_offered = bool(self.store_queue) and int(self.rng.integers(100)) >= self.stalls.store
        self.design.poke("store_read__address__valid", int(self._store_offered))
        if self.store_queue:
            self.design.poke("store_read__address__payload", self.store_queue[0])
        self.design.poke("store_read__data__ready", int(self.rng.integers(100) >= self.stalls.store))

    def _sample_store(self) -> None:
        design = self.design
        if self._store_offered and design.peek("store_read__address__ready"):
            self.store_queue.popleft()
            self._store_offered = False
        if design.peek("store_read__data__valid") and design.peek("store_read__data__ready"):
            self.stored.append(design.peek("store_read__data__payload"))

    def read_all(self) -> list[int]:
        """Read every tile through the store port; nothing else may be going on."""
        self.stored.clear()
        self.store_queue.extend(range(self.config.acc_depth))
        trace = Trace()
        while len(self.stored) < self.config.acc_depth:
            self._cycle(deque(), trace, self.cycle, {"l2g": 0, "s2g": 0})
            assert len(trace.causes) < 100 * self.config.acc_depth
        return list(self.stored)

    def accumulators(self) -> Ints:
        """Return the contents of the banks, in the shape of the reference's."""
        config = self.config
        bits = min(2, config.log_acc_depth)
        banks = [self.design.memory(f"accumulator.bank_{index}.memory") for index in range(1 << bits)]
        tiles = []
        for address in range(config.acc_depth):
            memory = banks[bank(place(address, config.log_acc_depth), config.log_acc_depth)]
            tiles.append(np.frombuffer(memory[address >> bits].tobytes(), "<i4"))
        return np.array(tiles).reshape(self.reference.acc.shape)

    @property
    def waits(self) -> dict[str, list[int]]:
        """For each port, the cycles that each beat was offered before it was taken."""
        return {port.name: port.waits for port in self.ports}

    def check(self) -> None:
        """Compare accumulators, and what a store would read."""
        np.testing.assert_array_equal(self.accumulators(), self.reference.acc)
        expected = _words(self.reference.acc, self.config.out_width)
        assert self.read_all() == expected


def _words(elements: Ints, width: int) -> list[int]:
    """Return each element of a scratchpad as one number."""
    packed = pack(elements, width).reshape(len(elements), -1)
    return [int.from_bytes(row.tobytes(), "little") for row in packed]


def _windows(words: list[int], config: VTAConfig) -> list[int]:
    """Return what a read of each input element gives: it, and those of the other taps after it."""
    taps = range(1, config.depthwise_taps)
    return [
        word | sum(words[(at + tap) % len(words)] << tap * config.inp_elem_bits for tap in taps)
        for at, word in enumerate(words)
    ]


def random_compute_program(
    rng: np.random.Generator, config: VTAConfig, *, length: int = 30
) -> tuple[list[Instruction], bytes]:
    """Return random instructions of the compute module, and the DRAM that they read."""
    builder = _Builder(rng, config)
    for _ in range(length):
        choice = int(rng.integers(10))
        if choice < 2:
            builder.load(MemoryId.ACC)
        elif choice < 3 and config.inp_width == 8:
            builder.load(MemoryId.ACC_8BIT)
        elif choice < 6:
            builder.gemm()
        elif choice < 9:
            builder.alu()
        else:
            builder.plan.emit(builder._no_work())
    instructions = [i for i in builder.plan.instructions if i.module.name == "COMPUTE"]
    instructions = [replace(i, deps=Deps(**_random_flags(rng))) for i in instructions]
    image = bytearray(builder.uop_base + 4 * len(builder.uop_image) + 64)
    image[: builder.base] = rng.bytes(builder.base)
    image[builder.base : builder.base + ARENA_BYTES] = random_bytes(rng, ARENA_BYTES)
    words = np.array(builder.uop_image, "<u4").tobytes()
    image[builder.uop_base : builder.uop_base + len(words)] = words
    return instructions, bytes(image)


def _random_flags(rng: np.random.Generator) -> dict[str, bool]:
    return {name: bool(rng.random() < 0.2) for name in ("pop_prev", "pop_next", "push_prev", "push_next")}


def uop_image(uops: Sequence[MicroOp], config: VTAConfig) -> bytes:
    """Return micro-ops as they lie in DRAM."""
    return np.array([encode_uop(uop, config) for uop in uops], "<u4").tobytes()


def load_uops(count: int, *, at: int = 0, first: int = 0) -> Load:
    """Return the LOAD of ``count`` micro-ops from the beginning of DRAM."""
    return Load(memory=MemoryId.UOP, sram_base=at, dram_base=first, y_size=1, x_size=count)
