"""Random valid programs: every opcode, memory, pad, stride and loop, modules overlapping wherever they may.

``random_program(rng, config)`` builds a stand-alone ``Program``. Accesses of two modules to the same elements
or DRAM bytes are ordered by tokens, other instructions are not; tokens are also sent and taken at random.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from isa.config import VTAConfig
from isa.encoding import encode_uop
from isa.instructions import (
    FUSED,
    Alu,
    AluOpcode,
    Finish,
    Gemm,
    Instruction,
    Load,
    MemoryId,
    MicroOp,
    Module,
    Store,
)
from isa.program import MemoryImage, MemorySegment, OutputRegion, Program
from tests.support.isa.random_memory import Accesses, Indices, random_bytes
from tests.support.runtime.token_planner import QUEUES, TokenPlanner

__all__ = ["random_program"]

_Entry = TypeVar("_Entry")

ARENA_BYTES = 1 << 17
STEPS_AT_MOST = 96
"""Tensor operations of one instruction, so that thousands of programs take seconds."""


def random_program(
    rng: np.random.Generator, config: VTAConfig, *, length: int | None = None, arena_bytes: int = ARENA_BYTES
) -> Program:
    """Return a valid program of about ``length`` instructions (a random number by default) over an arena of DRAM."""
    builder = _Builder(rng, config, arena_bytes)
    for _ in range(int(rng.integers(4, 48)) if length is None else length):
        builder.one_instruction()
        builder.random_tokens()
    builder.probe()
    return builder.finish()


@dataclass(frozen=True, slots=True)
class _Kernel:
    """Micro-ops that lie in the on-chip buffer from ``base`` on."""

    base: int
    uops: tuple[MicroOp, ...]


class _Builder:
    def __init__(self, rng: np.random.Generator, config: VTAConfig, arena_bytes: int = ARENA_BYTES) -> None:
        self.rng = rng
        self.arena_bytes = arena_bytes
        self.config = config
        self.plan = TokenPlanner(self._nop)
        self.base = 4096 * int(rng.integers(1, 4))
        self.uop_base = self.base + self.arena_bytes
        self.uop_image: list[int] = []
        self.kernels: list[_Kernel] = []
        self.sram = {
            MemoryId.INP: Accesses(config.inp_depth, ("write", "read")),
            MemoryId.WGT: Accesses(config.wgt_depth, ("write", "read")),
            MemoryId.ACC: Accesses(config.acc_depth, ("write", "read")),
        }
        self.dram = Accesses(self.arena_bytes, ("load", "compute", "store"))

    # --- choices -----------------------------------------------------------------------------------------------------

    def _chance(self, probability: float) -> bool:
        return bool(self.rng.random() < probability)

    def _int(self, low: int, high: int) -> int:
        """Return a number from ``low`` to ``high``, both included."""
        return int(self.rng.integers(low, high + 1))

    def _pick(self, high: int) -> int:
        """Return an index from 0 to ``high``; the ends and small numbers come often."""
        choice = self._int(0, 5)
        if choice == 0:
            return high
        return self._int(0, high if choice < 3 else min(high, 24))

    def _one_of(self, entries: Iterable[_Entry]) -> _Entry:
        """Return one of the entries, each as often as the others."""
        choices = list(entries)
        return choices[self._int(0, len(choices) - 1)]

    def _memory(self) -> MemoryId:
        memories = [MemoryId.INP, MemoryId.WGT, MemoryId.ACC]
        if self.config.inp_width == 8:
            memories.append(MemoryId.ACC_8BIT)
        return self._one_of(memories)

    def _nop(self, module: Module) -> Instruction:
        sram_base, y_size, first = self._int(0, 65535), self._int(0, 3), self._chance(0.5)
        match module:
            case Module.LOAD:
                memory = MemoryId.INP if first else MemoryId.WGT
                return Load(memory=memory, sram_base=sram_base, y_size=y_size)
            case Module.COMPUTE:
                memory = MemoryId.UOP if first else MemoryId.ACC
                return Load(memory=memory, sram_base=sram_base, y_size=y_size)
            case Module.STORE:
                return Store(memory=self._one_of(MemoryId), sram_base=sram_base, y_size=y_size)

    def random_tokens(self) -> None:
        """Send and take tokens that nothing needs."""
        for queue in QUEUES:
            if self._chance(0.06):
                self.plan.push(queue)
            if self.plan.outstanding(queue) and self._chance(0.15):
                self.plan.pop(queue)

    def one_instruction(self) -> None:
        choice = self._int(0, 19)
        if choice < 7:
            self.load(self._memory())
        elif choice < 11:
            self.gemm()
        elif choice < 15:
            self.alu()
        elif choice < 18:
            self.store()
        elif choice == 18:
            self.plan.emit(self._no_work())
        else:
            self.plan.emit(self._nop(self._one_of(Module)))

    def _no_work(self) -> Instruction:
        """Return an instruction with a zero extent among otherwise random fields."""
        config = self.config
        if self._chance(0.4):
            extent = self._int(1, 9)
            x_size, y_size = (extent, 0) if self._chance(0.5) else (0, extent)
            load = Load(memory=self._memory(), sram_base=self._int(0, 65535), x_size=x_size, y_size=y_size)
            return replace(load, y_pad_0=self._int(0, 15), x_pad_0=self._int(0, 15), x_pad_1=self._int(0, 15))
        begin = self._int(0, config.uop_depth - 1)
        outer, inner, uops = self._int(1, 5), self._int(1, 5), self._int(-min(2, begin), 0)
        if self._chance(0.6):
            outer, inner, uops = (0, inner, 1) if self._chance(0.5) else (outer, 0, 1)
        factor = self._int(0, config.acc_depth - 1)
        gemm = Gemm(uop_bgn=begin, uop_end=begin + uops, iter_out=outer, iter_in=inner, dst_factor_in=factor)
        if self._chance(0.5):
            return replace(gemm, reset=self._chance(0.3))
        return Alu(
            alu_opcode=self._one_of(AluOpcode),
            uop_bgn=begin,
            uop_end=begin + uops,
            iter_out=outer,
            iter_in=inner,
            dst_factor_in=factor,
        )

    # --- memory instructions -----------------------------------------------------------------------------------------

    def _rows(self, elem_bytes: int, *, most: int) -> tuple[int, int, int, int, Indices]:
        """Choose dram_base, y_size, x_size and x_stride inside the arena; also return the byte offsets touched."""
        first = -(-self.base // elem_bytes)
        count = (self.base + self.arena_bytes) // elem_bytes - first
        x_size = self._int(1, min(8, most, count))
        y_size = self._int(1, min(4, most // x_size))
        stride = self._int(0, x_size) if self._chance(0.15) else x_size + self._int(0, 5)
        if (y_size - 1) * stride + x_size > count:
            y_size = 1
        start = self._pick(count - (y_size - 1) * stride - x_size)
        elements = start + (np.arange(y_size)[:, None] * stride + np.arange(x_size)).ravel()
        offsets = (first + elements[:, None]) * elem_bytes + np.arange(elem_bytes) - self.base
        return first + start, y_size, x_size, stride, offsets.ravel()

    def load(self, memory: MemoryId) -> None:
        """Load a padded tile into ``memory``."""
        depth = self.config.depth(memory)
        dram_base, y_size, x_size, stride, touched = self._rows(self.config.elem_bytes(memory), most=depth)
        pads = [0, 0, 0, 0]
        for side in self.rng.permutation(4).tolist():
            trial = list(pads)
            trial[side] = self._int(0, 15 if self._chance(0.1) else 2) * self._chance(0.4)
            if (trial[0] + y_size + trial[1]) * (trial[2] + x_size + trial[3]) <= depth:
                pads = trial
        count = (pads[0] + y_size + pads[1]) * (pads[2] + x_size + pads[3])
        sram_base = self._pick(depth - count)
        load = Load(
            memory=memory,
            sram_base=sram_base,
            dram_base=dram_base,
            y_size=y_size,
            x_size=x_size,
            x_stride=stride,
            y_pad_0=pads[0],
            y_pad_1=pads[1],
            x_pad_0=pads[2],
            x_pad_1=pads[3],
        )
        written = np.arange(sram_base, sram_base + count)
        pad = MemoryId.ACC if memory == MemoryId.ACC_8BIT else memory
        reader = Module.COMPUTE if load.module == Module.LOAD else Module.STORE
        self.plan.require(load.module, reader, self.sram[pad].latest("read", written))
        self.plan.require(load.module, Module.STORE, self.dram.latest("store", touched))
        index = self.plan.emit(load)
        self.sram[pad].record("write", written, index)
        self.dram.record("load" if load.module == Module.LOAD else "compute", touched, index)

    def store(self) -> None:
        """Store a tile of the accumulator."""
        config = self.config
        dram_base, y_size, x_size, stride, touched = self._rows(config.out_elem_bytes, most=config.acc_depth)
        sram_base = self._pick(config.acc_depth - y_size * x_size)
        read = np.arange(sram_base, sram_base + y_size * x_size)
        self.plan.require(Module.STORE, Module.COMPUTE, self.sram[MemoryId.ACC].latest("write", read))
        self.plan.require(Module.STORE, Module.COMPUTE, self.dram.latest("compute", touched))
        self.plan.require(Module.STORE, Module.LOAD, self.dram.latest("load", touched))
        index = self.plan.emit(
            Store(sram_base=sram_base, dram_base=dram_base, y_size=y_size, x_size=x_size, x_stride=stride)
        )
        self.sram[MemoryId.ACC].record("read", read, index)
        self.dram.record("store", touched, index)

    # --- compute instructions ----------------------------------------------------------------------------------------

    def _kernel(self, source_depth: int) -> _Kernel:
        """Return micro-ops whose indices are in range, loading new ones half of the time."""
        usable = [k for k in self.kernels if all(uop.src < source_depth for uop in k.uops)]
        if usable and self._chance(0.5):
            kernel = usable[self._int(0, len(usable) - 1)]
            if self._chance(0.5):
                return kernel
            begin = self._int(0, len(kernel.uops) - 1)
            return _Kernel(kernel.base + begin, kernel.uops[begin:])
        config = self.config
        count = self._int(1, min(6, config.uop_depth))
        uops = tuple(
            MicroOp(
                dst=self._pick(config.acc_depth - 1),
                src=self._pick(source_depth - 1),
                wgt=self._pick(config.wgt_depth - 1),
            )
            for _ in range(count)
        )
        base = self._pick(config.uop_depth - count)
        self.kernels = [k for k in self.kernels if k.base + len(k.uops) <= base or base + count <= k.base]
        self.kernels.append(_Kernel(base, uops))
        self.plan.emit(
            Load(
                memory=MemoryId.UOP,
                sram_base=base,
                dram_base=self.uop_base // 4 + len(self.uop_image),
                y_size=1,
                x_size=count,
                x_stride=self._int(0, 65535),
            )
        )
        self.uop_image += [encode_uop(uop, config) for uop in uops]
        return self.kernels[-1]

    def _extents(self, uops: int) -> tuple[int, int]:
        most = STEPS_AT_MOST // uops
        outer = self._int(1, min(6, most))
        return outer, self._int(1, max(1, min(16, most // outer)))

    def _unread(self, depth: int, factors: tuple[int, int, Indices]) -> tuple[int, int, Indices]:
        """Sometimes replace the factors of an operand that is not read: its indices may then leave the buffer."""
        if self._chance(0.7):
            return factors
        return self._int(0, depth - 1), self._int(0, depth - 1), factors[2]

    def _factors(self, uops: Indices, extents: tuple[int, int], depth: int) -> tuple[int, int, Indices]:
        """Choose the outer and inner factor of an operand; also return its index at every step."""
        room = depth - 1 - int(uops.max())
        factors = []
        for extent in extents:
            most = depth - 1 if extent == 1 else room // (extent - 1)
            factor = self._int(0, 1) if self._chance(0.3) else self._pick(most)
            factor = min(factor, most)
            if extent > 1:
                room -= factor * (extent - 1)
            factors.append(factor)
        outer, inner = factors
        steps = np.arange(extents[0])[:, None, None] * outer + np.arange(extents[1])[:, None] * inner + uops
        return outer, inner, steps.ravel()

    def gemm(self) -> None:
        """Multiply, or reset."""
        config = self.config
        reset = self._chance(0.2)
        depthwise = config.depthwise_taps > 0 and self._chance(0.5)
        inputs = config.inp_depth - (config.depthwise_taps - 1 if depthwise else 0)
        kernel = self._kernel(inputs)
        extents = self._extents(len(kernel.uops))
        dst_out, dst_in, dst = self._factors(np.array([u.dst for u in kernel.uops]), extents, config.acc_depth)
        src_out, src_in, src = self._factors(np.array([u.src for u in kernel.uops]), extents, inputs)
        if depthwise:
            src = (src[:, None] + np.arange(config.depthwise_taps)).ravel()
        wgt_out, wgt_in, wgt = self._factors(np.array([u.wgt for u in kernel.uops]), extents, config.wgt_depth)
        self.plan.require(Module.COMPUTE, Module.STORE, self.sram[MemoryId.ACC].latest("read", dst))
        if reset:
            src_out, src_in, _ = self._unread(config.inp_depth, (src_out, src_in, src))
            wgt_out, wgt_in, _ = self._unread(config.wgt_depth, (wgt_out, wgt_in, wgt))
        else:
            self.plan.require(Module.COMPUTE, Module.LOAD, self.sram[MemoryId.INP].latest("write", src))
            self.plan.require(Module.COMPUTE, Module.LOAD, self.sram[MemoryId.WGT].latest("write", wgt))
        index = self.plan.emit(
            Gemm(
                reset=reset,
                depthwise=depthwise,
                uop_bgn=kernel.base,
                uop_end=kernel.base + len(kernel.uops),
                iter_out=extents[0],
                iter_in=extents[1],
                dst_factor_out=dst_out,
                dst_factor_in=dst_in,
                src_factor_out=src_out,
                src_factor_in=src_in,
                wgt_factor_out=wgt_out,
                wgt_factor_in=wgt_in,
            )
        )
        self.sram[MemoryId.ACC].record("write", dst, index)
        if not reset:
            self.sram[MemoryId.INP].record("read", src, index)
            self.sram[MemoryId.WGT].record("read", wgt, index)

    def _immediate(self) -> int:
        match self._int(0, 4):
            case 0:
                return self._int(-40, 40)
            case 1:
                return (-32768, -32767, -1, 0, 1, 32767)[self._int(0, 5)]
            case 2:
                return self._int(-9, 9)
            case _:
                return self._int(-32768, 32767)

    def alu(self) -> None:
        """One of the operations, with an immediate or two tensors."""
        fused = self.config.fused_alu > 0 and self._chance(0.4)
        use_imm = not fused and self._chance(0.5)
        kernel = self._kernel(self.config.acc_depth - fused)
        extents = self._extents(len(kernel.uops))
        depth = self.config.acc_depth
        dst_out, dst_in, dst = self._factors(np.array([u.dst for u in kernel.uops]), extents, depth)
        src_out, src_in, src = self._factors(np.array([u.src for u in kernel.uops]), extents, depth - fused)
        if use_imm:
            src_out, src_in, src = self._unread(depth, (src_out, src_in, src))
        self.plan.require(Module.COMPUTE, Module.STORE, self.sram[MemoryId.ACC].latest("read", dst))
        index = self.plan.emit(
            Alu(
                alu_opcode=self._one_of(list(FUSED) if fused else AluOpcode),
                fused=fused,
                use_imm=use_imm,
                imm=self._immediate() if use_imm or self._chance(0.8 if fused else 0.2) else 0,
                uop_bgn=kernel.base,
                uop_end=kernel.base + len(kernel.uops),
                iter_out=extents[0],
                iter_in=extents[1],
                dst_factor_out=dst_out,
                dst_factor_in=dst_in,
                src_factor_out=src_out,
                src_factor_in=src_in,
            )
        )
        self.sram[MemoryId.ACC].record("write", dst, index)

    # --- the end -----------------------------------------------------------------------------------------------------

    def probe(self) -> None:
        """Store some accumulators whole: their low bits, then shifted, until all 32 bits have been seen."""
        config = self.config
        count = min(8, config.acc_depth, self.arena_bytes // (8 * config.out_elem_bytes))
        for _ in range(2):
            self.store()
        first = -(-self.base // config.out_elem_bytes)
        base = self._pick(config.acc_depth - count)
        self.kernels = [k for k in self.kernels if k.base > 0]
        word = encode_uop(MicroOp(dst=base, src=base), config)
        where = np.arange(base, base + count)
        self.plan.emit(Load(memory=MemoryId.UOP, dram_base=self._append_uop(word), y_size=1, x_size=1))
        for part in range(32 // config.out_width):
            place = first + (part % 4) * count
            touched = np.arange(place * config.out_elem_bytes, (place + count) * config.out_elem_bytes) - self.base
            self.plan.require(Module.STORE, Module.COMPUTE, self.sram[MemoryId.ACC].latest("write", where))
            self.plan.require(Module.STORE, Module.COMPUTE, self.dram.latest("compute", touched))
            self.plan.require(Module.STORE, Module.LOAD, self.dram.latest("load", touched))
            index = self.plan.emit(Store(sram_base=base, dram_base=place, y_size=1, x_size=count, x_stride=1))
            self.sram[MemoryId.ACC].record("read", where, index)
            self.plan.require(Module.COMPUTE, Module.STORE, index)
            shift = Alu(alu_opcode=AluOpcode.SHR, use_imm=True, imm=config.out_width, uop_end=1)
            shift = replace(shift, iter_in=count, dst_factor_in=min(1, count - 1), src_factor_in=min(1, count - 1))
            index = self.plan.emit(shift)
            self.sram[MemoryId.ACC].record("write", where, index)

    def _append_uop(self, word: int) -> int:
        """Add a micro-op to the image; return its dram_base."""
        self.uop_image.append(word)
        return self.uop_base // 4 + len(self.uop_image) - 1

    def finish(self) -> Program:
        """Append FINISH, which sometimes pops, and return the program."""
        for queue in ((Module.LOAD, Module.COMPUTE), (Module.STORE, Module.COMPUTE)):
            if self.plan.outstanding(queue) and self._chance(0.5):
                self.plan.pop(queue)
        self.plan.emit(Finish())
        segment = MemorySegment(address=self.base, data=random_bytes(self.rng, self.arena_bytes), name="arena")
        output = OutputRegion(name="arena", address=self.base, dtype="uint8", shape=(self.arena_bytes,))
        return Program(
            config=self.config,
            instructions=tuple(self.plan.instructions),
            uops=tuple(self.uop_image),
            uop_base=self.uop_base,
            memory=MemoryImage(segments=(segment,), outputs=(output,)),
        )
