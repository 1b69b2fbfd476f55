"""Random runtime calls far outside of what one instruction holds, and what numpy makes of them, step by step.

Loads have pads beyond 15, empty tiles and strides beyond 16 bits; kernels have up to five loops, negative strides,
repeated accumulators and immediates of 32 bits; stores have gaps. Modules wait for each other before every step that is
another module's, so the order of the calls is the order of their effects.
"""

import itertools
import random
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from isa.instructions import AluOpcode, MemoryId, Module
from runtime.queue.uop_kernel import KernelError
from runtime.session import Session
from tests.support.compiler.convolution import fill
from tests.support.isa.alu_judge import judge_lanes

__all__ = ["WideCalls"]

Array = npt.NDArray[np.int64]
SLOTS = 40
"""Elements of each scratchpad that a program uses."""


@dataclass(frozen=True, slots=True)
class _Stored:
    first: int
    x_size: int
    y_size: int
    stride: int
    values: npt.NDArray[np.int8]


class WideCalls:
    """A program of ``length`` random steps: ``run`` makes the calls and follows them, ``check`` compares."""

    def __init__(self, session: Session, seed: int, length: int) -> None:
        self.session, self.queue, self.length = session, session.queue, length
        self._rng = random.Random(seed)
        c = session.config
        self._shapes = {
            MemoryId.INP: (c.batch, c.block_in),
            MemoryId.WGT: (c.block_out, c.block_in),
            MemoryId.ACC: (c.batch, c.block_out),
        }
        self._stride = self._rng.choice([3, 5, 70000])
        numbers = np.random.default_rng(seed)
        self._data = {}
        for memory, shape in self._shapes.items():
            rows = 3 * self._stride_of(memory) + 8
            low, dtype = (-(1 << 31), np.int32) if memory is MemoryId.ACC else (-128, np.int8)
            self._data[memory] = numbers.integers(low, -low, (rows, *shape), dtype=dtype)
        self.buffers = {memory: fill(session, array) for memory, array in self._data.items()}
        self.out = session.memory.alloc(length * SLOTS * c.out_elem_bytes)
        self._pads: dict[MemoryId, Array] = {
            memory: np.zeros((SLOTS, *shape), np.int64) for memory, shape in self._shapes.items()
        }
        self.stored: list[_Stored] = []

    def _stride_of(self, memory: MemoryId) -> int:
        return self._stride if memory is MemoryId.INP else min(self._stride, 4)

    def run(self) -> None:
        """Make the calls, the final synchronise included."""
        self._last: Module | None = None
        with self.session.program():
            for memory in self._pads:
                self._enter(memory)
                self.queue.load_buffer_2d(
                    self.buffers[memory],
                    0,
                    x_size=0,
                    y_size=0,
                    x_stride=0,
                    y_pad_0=SLOTS,
                    x_pad_1=1,
                    sram_base=0,
                    memory=memory,
                )
            for number in range(self.length):
                self._rng.choice([self._load, self._gemm, self._alu, self._store])(number)
            self.queue.synchronize()

    def check(self) -> int:
        """Assert that what was stored is right; return how many elements were."""
        shape = self._shapes[MemoryId.ACC]
        raw = self.session.memory.read(self.out, 0, self.out.nbytes)
        found = np.frombuffer(raw, np.int8).reshape(-1, *shape)
        for tile in self.stored:
            rows = tile.values.reshape(tile.y_size, tile.x_size, *shape)
            for y in range(tile.y_size):
                first = tile.first + y * tile.stride
                np.testing.assert_array_equal(found[first : first + tile.x_size], rows[y])
        return sum(tile.x_size * tile.y_size for tile in self.stored)

    def _load(self, _number: int) -> None:
        rng = self._rng
        memory = rng.choice(list(self._pads))
        stride, offset, base = self._stride_of(memory), rng.randrange(4), rng.randrange(5)
        while True:
            x, y = rng.randrange(4), rng.randrange(4)
            left, right, top, bottom = (rng.choice([0, 0, 1, 2, 16, 17]) for _ in range(4))
            width, height = left + x + right, top + y + bottom
            if base + width * height <= SLOTS:
                break
        self._enter(memory)
        self.queue.load_buffer_2d(
            self.buffers[memory],
            offset,
            x_size=x,
            y_size=y,
            x_stride=stride,
            x_pad_0=left,
            y_pad_0=top,
            x_pad_1=right,
            y_pad_1=bottom,
            sram_base=base,
            memory=memory,
        )
        tile = np.zeros((height, width, *self._shapes[memory]), np.int64)
        for row, column in np.ndindex(y, x):
            tile[top + row, left + column] = self._data[memory][offset + row * stride + column]
        self._pads[memory][base : base + width * height] = tile.reshape(-1, *self._shapes[memory])

    def _gemm(self, number: int) -> None:
        reset = self._rng.random() < 0.3
        loops, uops = self._nest(1 if reset else 3)
        self._enter(MemoryId.UOP)
        self.queue.push_gemm(number, lambda: self._describe(loops, uops, 0, reset, 0, False, 0))
        acc = self._pads[MemoryId.ACC]
        for dst, src, wgt in _visits(loops, uops):
            product = self._pads[MemoryId.INP][src] @ self._pads[MemoryId.WGT][wgt].T if not reset else 0
            acc[dst] = 0 if reset else (acc[dst] + product).astype(np.int32)

    def _alu(self, number: int) -> None:
        rng = self._rng
        opcode = rng.choice(list(AluOpcode))
        use_imm = opcode is AluOpcode.SHR or rng.random() < 0.6
        size = rng.choice([40, 1 << 31] if opcode is not AluOpcode.ADD else [40, 1 << 20])
        imm = rng.randrange(-size, size)
        loops, uops = self._nest(1 if use_imm else 2)
        self._enter(MemoryId.UOP)
        try:
            self.queue.push_alu(number, lambda: self._describe(loops, uops, 1, False, opcode, use_imm, imm))
        except KernelError:
            # Only these have a form for large immediates; others are refused, and nothing happens.
            if opcode in (AluOpcode.ADD, AluOpcode.MUL, AluOpcode.SHR) or not use_imm:
                raise
            return
        acc = self._pads[MemoryId.ACC]
        for dst, src, _ in _visits(loops, uops):
            acc[dst] = judge_lanes(opcode, acc[dst], imm if use_imm else acc[src])

    def _store(self, number: int) -> None:
        rng = self._rng
        x, y = rng.randrange(1, 4), rng.randrange(1, 4)
        stride, base = rng.choice([x, x + 2, SLOTS // 2]), rng.randrange(SLOTS - x * y)
        if (y - 1) * stride + x > SLOTS:
            return
        self._enter(MemoryId.OUT)
        self.queue.store_buffer_2d(base, MemoryId.OUT, self.out, number * SLOTS, x_size=x, y_size=y, x_stride=stride)
        values = self._pads[MemoryId.ACC][base : base + x * y].astype(np.int8)
        self.stored.append(_Stored(number * SLOTS, x, y, stride, values))

    def _nest(self, columns: int) -> tuple[list[tuple[int, ...]], list[tuple[int, ...]]]:
        """Return loops and micro-ops whose first ``columns`` indices stay inside of what the program uses."""
        rng = self._rng
        while True:
            loops = [(rng.randrange(1, 4), *(rng.randrange(-2, 4) for _ in range(3))) for _ in range(rng.randrange(6))]
            uops = [tuple(rng.randrange(SLOTS) for _ in range(3)) for _ in range(rng.randrange(1, 4))]
            if all(0 <= index < SLOTS for visit in _visits(loops, uops) for index in visit[:columns]):
                return loops, uops

    def _describe(
        self,
        loops: list[tuple[int, ...]],
        uops: list[tuple[int, ...]],
        mode: int,
        reset: bool,
        opcode: int,
        use_imm: bool,
        imm: int,
    ) -> None:
        for loop in loops:
            self.queue.uop_loop_begin(*loop)
        for dst, src, wgt in uops:
            self.queue.uop_push(mode, reset, dst, src, wgt, opcode, use_imm, imm)
        for _ in loops:
            self.queue.uop_loop_end()

    def _enter(self, memory: MemoryId) -> None:
        """Let the module that works on ``memory`` wait for everything before."""
        module = {MemoryId.INP: Module.LOAD, MemoryId.WGT: Module.LOAD, MemoryId.OUT: Module.STORE}.get(
            memory, Module.COMPUTE
        )
        last, self._last = self._last, module
        if last is None or last is module:
            return
        path = [last, module] if abs(last - module) == 1 else [last, Module.COMPUTE, module]
        for source, target in itertools.pairwise(path):
            self.queue.dep_push(source, target)
            self.queue.dep_pop(source, target)


def _visits(loops: list[tuple[int, ...]], uops: list[tuple[int, ...]]) -> Iterator[list[int]]:
    """Yield dst, src and wgt of every micro-op of every iteration, in order."""
    for trip in itertools.product(*(range(loop[0]) for loop in loops)):
        for uop in uops:
            yield [uop[i] + sum(t * loop[i + 1] for t, loop in zip(trip, loops, strict=True)) for i in range(3)]
