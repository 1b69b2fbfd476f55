"""The reference interpreter: what every program means, in numpy, one instruction after the other in program order.

It is meant to be read, with ``isa/alu_semantics.py`` for the operations of the ALU. Every engine must give the results
of this one for every valid program (`docs/isa.md`). Tests: ``tests/isa/test_reference_*.py``.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import assert_never

import numpy as np
import numpy.typing as npt

from isa.alu_semantics import alu_operation, fused_operation
from isa.bounds import index_text, outside_text, sram_text
from isa.bulk import encode_all
from isa.config import VTAConfig
from isa.encoding import DecodingError, EncodingError, decode, decode_uop
from isa.errors import VTAError
from isa.instructions import Alu, Finish, Gemm, Instruction, Load, MemoryId, Store
from isa.program import Program

__all__ = ["Counts", "InterpreterError", "Reference", "execute"]

Indices = npt.NDArray[np.int64]
Int32 = npt.NDArray[np.int32]
Bytes = npt.NDArray[np.uint8]


class InterpreterError(VTAError, RuntimeError):
    """An instruction that cannot be executed; the message names its index, the value and the limit."""


@dataclass(slots=True)
class Counts:
    """Bytes moved between DRAM and each scratchpad (padding is not moved) and tensor operations; upstream's names."""

    inp_load_nbytes: int = 0
    wgt_load_nbytes: int = 0
    acc_load_nbytes: int = 0
    uop_load_nbytes: int = 0
    out_store_nbytes: int = 0
    gemm_counter: int = 0
    alu_counter: int = 0


@dataclass(frozen=True, slots=True)
class Uops:
    """Columns of micro-op fields."""

    dst: Indices
    src: Indices
    wgt: Indices


class Reference:
    """A machine: four scratchpads, DRAM (``memory[address]`` is a byte) and counters.

    Scratchpads hold numbers: ``inp`` (depth, batch, block_in), ``wgt`` (depth, block_out, block_in), ``acc`` (depth,
    batch, block_out), all int32, and ``uop`` 32-bit words. They start as zeros and stay as they are from one ``run`` to
    the next. With ``skip_execution``, only micro-op loads do their work; the counters count everything. No access may
    lie below ``first_address``. An instruction that fails has been counted, and has written nothing.
    """

    def __init__(
        self, config: VTAConfig, memory: Bytes, *, skip_execution: bool = False, first_address: int = 0
    ) -> None:
        self.config = config
        self.memory = memory
        self.skip_execution = skip_execution
        self.first_address = first_address
        self.counts = Counts()
        self.uop = np.zeros(config.uop_depth, np.uint32)
        self.inp = np.zeros((config.inp_depth, config.batch, config.block_in), np.int32)
        self.wgt = np.zeros((config.wgt_depth, config.block_out, config.block_in), np.int32)
        self.acc = np.zeros((config.acc_depth, config.batch, config.block_out), np.int32)
        self._index = 0  # of the instruction at hand, for messages

    def run(self, program: Program | Sequence[int]) -> Counts:
        """Execute a program, or a sequence of 128-bit words, up to its FINISH; return the counters.

        A program's micro-ops and memory image must lie in ``memory`` already (``execute`` sees to that).
        """
        stream = self._legal(program)
        for index, entry in enumerate(stream):
            self._index = index
            instruction = self._decode(entry) if isinstance(entry, int) else entry
            if isinstance(instruction, Finish):
                break
            self.step(instruction)
        return self.counts

    def step(self, instruction: Instruction) -> None:
        """Execute one instruction."""
        match instruction:
            case Load():
                self._load(instruction)
            case Store():
                self._store(instruction)
            case Gemm():
                self._gemm(instruction)
            case Alu():
                self._alu(instruction)
            case Finish():
                pass
            case _:
                assert_never(instruction)

    # --- LOAD and STORE ----------------------------------------------------------------------------------------------

    def _load(self, load: Load) -> None:
        if load.x_size == 0 or load.y_size == 0:
            return
        elem_bytes = self.config.elem_bytes(load.memory)
        self._count_load(load.memory, load.y_size * load.x_size * elem_bytes)
        if self.skip_execution and load.memory != MemoryId.UOP:
            return
        width = load.x_pad_0 + load.x_size + load.x_pad_1
        height = load.y_pad_0 + load.y_size + load.y_pad_1
        sram = self._sram_slice(load.memory, load.sram_base, width * height)
        tile = np.zeros((height, width, elem_bytes), np.uint8)
        for y in range(load.y_size):
            dram = self._dram_slice(load.dram_base + y * load.x_stride, load.x_size, elem_bytes)
            row = tile[load.y_pad_0 + y, load.x_pad_0 : load.x_pad_0 + load.x_size]
            row[:] = self.memory[dram].reshape(load.x_size, elem_bytes)
        match load.memory:
            case MemoryId.UOP:
                self.uop[sram] = tile.reshape(-1).view("<u4")
            case MemoryId.INP:
                self.inp[sram] = unpack(tile, self.config.inp_width).reshape(self.inp[sram].shape)
            case MemoryId.WGT:
                self.wgt[sram] = unpack(tile, self.config.wgt_width).reshape(self.wgt[sram].shape)
            case MemoryId.ACC:
                self.acc[sram] = unpack(tile, self.config.acc_width).reshape(self.acc[sram].shape)
            case MemoryId.ACC_8BIT:
                self.acc[sram] = unpack(tile, 8).reshape(self.acc[sram].shape)
            case MemoryId.OUT:
                raise self._error("LOAD: memory OUT cannot be loaded, only stored")
            case _:
                assert_never(load.memory)

    def _store(self, store: Store) -> None:
        if store.x_size == 0 or store.y_size == 0:
            return
        elem_bytes = self.config.elem_bytes(MemoryId.OUT)
        self.counts.out_store_nbytes += store.y_size * store.x_size * elem_bytes
        if self.skip_execution:
            return
        sram = self._sram_slice(MemoryId.OUT, store.sram_base, store.y_size * store.x_size)
        rows = self._stored(sram).reshape(store.y_size, -1)
        starts = [store.dram_base + y * store.x_stride for y in range(store.y_size)]
        for dram, row in zip(
            [self._dram_slice(start, store.x_size, elem_bytes) for start in starts], rows, strict=True
        ):
            self.memory[dram] = row

    def _stored(self, sram: slice) -> Bytes:
        """Return the bytes that a store of accumulator elements writes."""
        return pack(self.acc[sram], self.config.out_width)

    def _count_load(self, memory: MemoryId, nbytes: int) -> None:
        match memory:
            case MemoryId.UOP:
                self.counts.uop_load_nbytes += nbytes
            case MemoryId.INP:
                self.counts.inp_load_nbytes += nbytes
            case MemoryId.WGT:
                self.counts.wgt_load_nbytes += nbytes
            case MemoryId.ACC | MemoryId.ACC_8BIT | MemoryId.OUT:
                self.counts.acc_load_nbytes += nbytes
            case _:
                assert_never(memory)

    # --- GEMM and ALU ------------------------------------------------------------------------------------------------

    def _gemm(self, gemm: Gemm) -> None:
        count = gemm.iter_out * gemm.iter_in * max(0, gemm.uop_end - gemm.uop_bgn)
        self.counts.gemm_counter += 0 if gemm.reset else count
        if self.skip_execution or count == 0:
            return
        uops = self._uops(gemm.uop_bgn, gemm.uop_end)
        self._check("accumulator", uops.dst, gemm, gemm.dst_factor_out, gemm.dst_factor_in, self.config.acc_depth)
        if not gemm.reset:
            last_tap = uops.src + (self.config.depthwise_taps - 1 if gemm.depthwise else 0)
            self._check("input", last_tap, gemm, gemm.src_factor_out, gemm.src_factor_in, self.config.inp_depth)
            self._check("weight", uops.wgt, gemm, gemm.wgt_factor_out, gemm.wgt_factor_in, self.config.wgt_depth)
        for i, j, uop in loop_nest(gemm, uops):
            dst = uop.dst + i * gemm.dst_factor_out + j * gemm.dst_factor_in
            if gemm.reset:
                self.acc[dst] = 0
                continue
            src = uop.src + i * gemm.src_factor_out + j * gemm.src_factor_in
            wgt = uop.wgt + i * gemm.wgt_factor_out + j * gemm.wgt_factor_in
            if gemm.depthwise:
                for tap in range(self.config.depthwise_taps):
                    self._accumulate(dst, self.inp[src + tap] * self.wgt[wgt, :, tap][:, np.newaxis])
                continue
            products = self.inp[src] @ self.wgt[wgt].transpose(0, 2, 1)
            self._accumulate(dst, products)

    def _accumulate(self, dst: Indices, products: Int32) -> None:
        np.add.at(self.acc, dst, products)  # wrapping sums: the order of the steps does not matter

    def _alu(self, alu: Alu) -> None:
        count = alu.iter_out * alu.iter_in * max(0, alu.uop_end - alu.uop_bgn)
        self.counts.alu_counter += count
        if self.skip_execution or count == 0:
            return
        uops = self._uops(alu.uop_bgn, alu.uop_end)
        self._check("accumulator", uops.dst, alu, alu.dst_factor_out, alu.dst_factor_in, self.config.acc_depth)
        if not alu.use_imm:
            last = uops.src + (1 if alu.fused else 0)
            self._check("accumulator", last, alu, alu.src_factor_out, alu.src_factor_in, self.config.acc_depth)
        for i, j, uop in loop_nest(alu, uops):
            dst = uop.dst + i * alu.dst_factor_out + j * alu.dst_factor_in
            src = dst if alu.use_imm else uop.src + i * alu.src_factor_out + j * alu.src_factor_in
            at_once = independent(dst, src) and (not alu.fused or independent(dst, src + 1))
            for steps in [slice(None)] if at_once else range(len(dst)):
                if alu.fused:
                    self._operate_twice(alu, dst[steps], src[steps])
                    continue
                operand = np.int32(alu.imm) if alu.use_imm else self.acc[src[steps]]
                self._operate(alu, dst[steps], operand)

    def _operate(self, alu: Alu, dst: Indices, operand: Int32 | np.int32) -> None:
        self.acc[dst] = alu_operation(alu.alu_opcode, self.acc[dst], operand)

    def _operate_twice(self, alu: Alu, dst: Indices, src: Indices) -> None:
        self.acc[dst] = fused_operation(alu.alu_opcode, self.acc[dst], self.acc[src], self.acc[src + 1], alu.imm)

    def _uops(self, begin: int, end: int) -> Uops:
        """Return the micro-ops in scratchpad elements ``begin`` to ``end - 1``."""
        if end > self.config.uop_depth:
            raise self._index_error("micro-op", end - 1, self.config.uop_depth)
        try:
            uops = [decode_uop(word, self.config) for word in self.uop[begin:end].tolist()]
        except DecodingError as error:
            raise self._error(str(error)) from None
        return Uops(*(np.array(column) for column in zip(*((u.dst, u.src, u.wgt) for u in uops), strict=True)))

    # --- checks ------------------------------------------------------------------------------------------------------

    def _legal(self, program: Program | Sequence[int]) -> Sequence[Instruction | int]:
        """Return what to execute; a program must be for this configuration and legal (words are decoded one by one)."""
        if not isinstance(program, Program):
            return program
        if program.config.digest != self.config.digest:
            names = f"{program.config.bitstream} and this machine is {self.config.bitstream}"
            raise InterpreterError(f"the program is for {names}")
        try:
            encode_all(program.instructions, self.config)
        except EncodingError as error:
            raise InterpreterError(str(error)) from None
        return program.instructions

    def _decode(self, word: int) -> Instruction:
        try:
            return decode(word, self.config)
        except DecodingError as error:
            raise self._error(str(error)) from None

    def _check(self, name: str, uops: Indices, loops: Gemm | Alu, outer: int, inner: int, depth: int) -> None:
        """Check the indices ``uops + i * outer + j * inner``; nothing is negative: the last step reaches furthest."""
        furthest = int(uops.max()) + (loops.iter_out - 1) * outer + (loops.iter_in - 1) * inner
        if furthest >= depth:
            raise self._index_error(name, furthest, depth)

    def _index_error(self, name: str, index: int, depth: int) -> InterpreterError:
        return self._error(index_text(name, index, depth))

    def _sram_slice(self, memory: MemoryId, base: int, count: int) -> slice:
        depth = self.config.depth(memory)
        if base + count > depth:
            raise self._error(sram_text(memory.name, base, count, depth))
        return slice(base, base + count)

    def _dram_slice(self, base: int, count: int, elem_bytes: int) -> slice:
        begin, end = base * elem_bytes, (base + count) * elem_bytes
        dram = range(self.first_address, len(self.memory))
        text = outside_text(f"DRAM bytes {begin:#x} to {end - 1:#x} are", begin, end, dram)
        if text is not None:
            raise self._error(text)
        return slice(begin, end)

    def _error(self, message: str) -> InterpreterError:
        return InterpreterError(f"instruction {self._index}: {message}")


def loop_nest(loops: Gemm | Alu, uops: Uops) -> Iterator[tuple[Indices, Indices, Uops]]:
    """Yield the steps of the loops, a few thousand at a time and in order, as three columns: i, j and micro-op.

    ``for i in range(iter_out): for j in range(iter_in): for uop in uops``; there is at least one.
    """
    count = len(uops.dst)
    at_once = max(1, 4096 // count)
    for i in range(loops.iter_out):
        for j in range(0, loops.iter_in, at_once):
            inner = np.arange(j, min(j + at_once, loops.iter_in))
            repeated = Uops(*(np.tile(column, len(inner)) for column in (uops.dst, uops.src, uops.wgt)))
            yield np.full(len(inner) * count, i), np.repeat(inner, count), repeated


def independent(dst: Indices, src: Indices) -> bool:
    """Return whether ALU steps can be done at once: no step writes what another one reads or writes."""
    if np.unique(dst).size < dst.size:
        return False
    return not np.isin(src[src != dst], dst).any()


def unpack(raw: Bytes, width: int) -> Int32:
    """Return the two's-complement numbers of ``width`` bits in ``raw``, lowest bits first."""
    if width >= 8:
        return raw.reshape(-1).view(f"<i{width // 8}").astype(np.int32)
    bits = np.unpackbits(raw.reshape(-1), bitorder="little").reshape(-1, width).astype(np.int32)
    numbers: Int32 = bits @ (1 << np.arange(width, dtype=np.int32))
    return numbers - (bits[:, -1] << width)


def pack(numbers: Int32, width: int) -> Bytes:
    """Return the bytes of the low ``width`` bits (8 at most) of each number, lowest bits first."""
    bits = (numbers.reshape(-1, 1) >> np.arange(width, dtype=np.int32)) & 1
    return np.packbits(bits.astype(np.uint8), bitorder="little")


def execute(program: Program) -> Reference:
    """Run ``program`` in DRAM of its own and return the machine afterwards."""
    machine = Reference(program.config, program.dram())
    machine.run(program)
    return machine
