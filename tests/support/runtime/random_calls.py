"""Random sequences of runtime calls whose modules wait for each other wherever they share data.

A program works on a few accumulators, inputs and weights, and stores what it has computed; ``expected`` is what numpy
makes of the same steps. Several tokens are on their way at once where modules run ahead.
"""

import itertools
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from isa.instructions import AluOpcode, MemoryId, Module
from runtime.session import Session
from tests.support.compiler.convolution import fill
from tests.support.isa.alu_judge import judge_lanes

__all__ = ["RandomCalls"]

SLOTS = 4
"""Scratchpad elements of each kind that a program uses."""


class RandomCalls:
    """A program of ``length`` steps drawn from ``seed``, for a configuration with inputs and weights of 8 bits."""

    def __init__(self, session: Session, seed: int, length: int) -> None:
        self.session, self.queue, self.config = session, session.queue, session.config
        self._rng = random.Random(seed)
        numbers = np.random.default_rng(seed)
        c = self.config
        self._inp = numbers.integers(-128, 128, (SLOTS, c.batch, c.block_in), dtype=np.int8)
        self._wgt = numbers.integers(-128, 128, (SLOTS, c.block_out, c.block_in), dtype=np.int8)
        self._acc = numbers.integers(-(1 << 31), 1 << 31, (SLOTS, c.batch, c.block_out), dtype=np.int32)
        self._data: dict[MemoryId, npt.NDArray[Any]] = {
            MemoryId.INP: self._inp,
            MemoryId.WGT: self._wgt,
            MemoryId.ACC: self._acc,
        }
        self.buffers = {memory: fill(session, array) for memory, array in self._data.items()}
        self.out = session.memory.alloc(length * c.out_elem_bytes)
        self.arguments = [*self.buffers.values(), self.out]
        self._script = [self._rng.randrange(1 << 30) for _ in range(length)]
        self.stores = 0

    def calls(self) -> None:
        """Make the calls, the final synchronise included."""
        self._last: Module | None = None
        self.stores = 0
        for memory in self._data:
            self._load(memory, range(SLOTS), range(SLOTS))
        for number, draw in enumerate(self._script):
            self._step(number, random.Random(draw))
        self.queue.synchronize()

    def expected(self) -> npt.NDArray[np.int8]:
        """Return the stored elements, by number of the store."""
        inp, wgt, acc = (self._data[memory].astype(np.int64) for memory in self._data)
        found = []
        for draw in self._script:
            rng = random.Random(draw)
            kind = rng.randrange(5)
            dst, src, third = (rng.randrange(SLOTS) for _ in range(3))
            if kind == 0:
                memory = rng.choice(list(self._data))
                target = {MemoryId.INP: inp, MemoryId.WGT: wgt, MemoryId.ACC: acc}[memory]
                target[dst] = self._data[memory][src]
            elif kind == 1:
                acc[dst] += inp[src] @ wgt[third].T
            elif kind == 2:
                acc[dst] = judge_lanes(rng.choice(list(AluOpcode)), acc[dst], rng.randrange(-30, 30))
            elif kind == 3:
                acc[dst] = judge_lanes(AluOpcode.ADD, acc[dst], acc[src])
            else:
                found.append(acc[dst].astype(np.int8))
            acc = acc.astype(np.int32).astype(np.int64)
        return np.array(found, np.int8).reshape(-1, self.config.batch, self.config.block_out)

    def _step(self, number: int, rng: random.Random) -> None:
        kind = rng.randrange(5)
        dst, src, third = (rng.randrange(SLOTS) for _ in range(3))
        if kind == 0:
            self._load(rng.choice(list(self._data)), [dst], [src])
        elif kind == 1:
            self._enter(Module.COMPUTE)
            self.queue.push_gemm(number, self._kernel(0, dst, src, third, 0, False, 0))
        elif kind == 2:
            self._enter(Module.COMPUTE)
            opcode, imm = rng.choice(list(AluOpcode)), rng.randrange(-30, 30)
            self.queue.push_alu(number, self._kernel(1, dst, dst, 0, opcode, True, imm))
        elif kind == 3:
            self._enter(Module.COMPUTE)
            self.queue.push_alu(number, self._kernel(1, dst, src, 0, AluOpcode.ADD, False, 0))
        else:
            self._enter(Module.STORE)
            self.queue.store_buffer_2d(dst, MemoryId.OUT, self.out, self.stores, x_size=1, y_size=1, x_stride=1)
            self.stores += 1

    def _kernel(
        self, mode: int, dst: int, src: int, wgt: int, opcode: int, use_imm: bool, imm: int
    ) -> Callable[[], None]:
        return lambda: self.queue.uop_push(mode, False, dst, src, wgt, opcode, use_imm, imm)

    def _load(self, memory: MemoryId, targets: "range | list[int]", sources: "range | list[int]") -> None:
        self._enter(Module.COMPUTE if memory is MemoryId.ACC else Module.LOAD)
        self.queue.load_buffer_2d(
            self.buffers[memory],
            sources[0],
            x_size=len(sources),
            y_size=1,
            x_stride=1,
            sram_base=targets[0],
            memory=memory,
        )

    def _enter(self, module: Module) -> None:
        """Let ``module`` wait for everything before; load and store wait for each other through compute."""
        last, self._last = self._last, module
        if last is None or last is module:
            return
        path = [last, module] if abs(last - module) == 1 else [last, Module.COMPUTE, module]
        for source, target in itertools.pairwise(path):
            self.queue.dep_push(source, target)
            self.queue.dep_pop(source, target)
