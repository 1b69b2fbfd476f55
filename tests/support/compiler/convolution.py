"""The hand-written convolution of ``docs/runtime.md``: runtime calls whose tokens run ahead of each other."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from isa.instructions import AluOpcode, MemoryId, Module
from runtime.memory.device_memory import Allocation
from runtime.session import Session
from tests.support.hw.streams import gemm_kernel

__all__ = ["Convolution", "fill", "read"]

LOAD, COMPUTE, STORE = Module.LOAD, Module.COMPUTE, Module.STORE


def fill(session: Session, array: npt.NDArray[np.generic]) -> Allocation:
    block = session.memory.alloc(array.nbytes)
    session.memory.write(block, 0, array.tobytes())
    return block


def read(session: Session, block: Allocation, dtype: str) -> npt.NDArray[np.generic]:
    return np.frombuffer(session.memory.read(block, 0, block.nbytes), dtype)


class Convolution:
    """A 1x1 convolution of four pixels, ``steps`` input blocks and one output block for each virtual thread."""

    def __init__(self, session: Session, threads: int, steps: int = 2) -> None:
        rng = np.random.default_rng(2)
        self.queue = session.queue
        self.threads = threads
        self.steps = steps
        self.inp = rng.integers(-128, 128, (steps, 4, 16), dtype=np.int8)
        self.wgt = rng.integers(-128, 128, (threads, steps, 16, 16), dtype=np.int8)
        self.buffers = [fill(session, self.inp), fill(session, self.wgt), session.memory.alloc(threads * 64)]

    @property
    def expected(self) -> npt.NDArray[np.int8]:
        """What numpy says; ``buffers[2]`` holds it afterwards."""
        sums = np.einsum("kpi,vkoi->vpo", self.inp.astype(np.int32), self.wgt.astype(np.int32))
        return (sums >> 8).astype(np.int8)

    def push(self, kind: str, thread: int) -> None:
        signature = thread.to_bytes(4, "little")
        if kind == "shift":
            self.queue.push_alu(kind, self._shift(thread), signature)
            return
        reset = kind == "reset"
        uop = (4 * thread, 0, 0) if reset else (4 * thread, 4 * thread, thread)
        loop = (4, 1, 0, 0) if reset else (4, 1, 1, 0)
        self.queue.push_gemm(kind, gemm_kernel(self.queue, uop, reset=reset, loop=loop), signature)

    def _shift(self, thread: int) -> Callable[[], None]:
        def record() -> None:
            self.queue.uop_loop_begin(4, 1, 1, 0)
            self.queue.uop_push(1, False, 4 * thread, 4 * thread, 0, AluOpcode.SHR, True, 8)
            self.queue.uop_loop_end()

        return record

    def calls(self) -> None:
        """Make the calls, the final synchronise included."""
        queue, threads = self.queue, range(self.threads)
        for _ in threads:
            queue.dep_push(STORE, COMPUTE)
        for thread in threads:
            queue.dep_pop(STORE, COMPUTE)
            self.push("reset", thread)
            queue.dep_push(COMPUTE, LOAD)
        for step in range(self.steps):
            for thread in threads:
                self._load(step, thread)
            for thread in threads:
                queue.dep_pop(LOAD, COMPUTE)
                self.push("gemm", thread)
                queue.dep_push(COMPUTE, LOAD)
        for _ in threads:
            queue.dep_pop(COMPUTE, LOAD)
        for thread in threads:
            self.push("shift", thread)
            queue.dep_push(COMPUTE, STORE)
        for thread in threads:
            queue.dep_pop(COMPUTE, STORE)
            queue.store_buffer_2d(4 * thread, MemoryId.OUT, self.buffers[2], 4 * thread, x_size=4, y_size=1, x_stride=4)
            queue.dep_push(STORE, COMPUTE)
        for _ in threads:
            queue.dep_pop(STORE, COMPUTE)
        queue.synchronize()

    def _load(self, step: int, thread: int) -> None:
        queue, (inp, wgt, _) = self.queue, self.buffers
        queue.dep_pop(COMPUTE, LOAD)
        queue.load_buffer_2d(inp, 4 * step, x_size=4, y_size=1, x_stride=4, sram_base=4 * thread, memory=MemoryId.INP)
        queue.load_buffer_2d(
            wgt, self.steps * thread + step, x_size=1, y_size=1, x_stride=1, sram_base=thread, memory=MemoryId.WGT
        )
        queue.dep_push(LOAD, COMPUTE)
