"""The instruction stream of a blocked matrix multiply, as the compiler's schedule of ``benchmark_gemm`` gives it.

Output is tiled by ``block`` rows and channels, the reduction by ``block``; each tile is reset, accumulated, shifted,
clipped and stored. Tokens are those of a compiled program without virtual threads.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from isa.config import VTAConfig
from isa.instructions import Alu, AluOpcode, Deps, Finish, Gemm, Instruction, Load, MemoryId, MicroOp, Store

__all__ = ["GemmStream"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GemmStream:
    """``out[m][n] = clip(sum_k inp[m][k] * wgt[n][k] >> 8, 0, 127)``; the bases are in elements of each memory."""

    config: VTAConfig
    rows: int
    channels: int
    reduction: int
    block: int
    inp: int
    wgt: int
    out: int
    uop: int

    @property
    def tile(self) -> tuple[int, int, int]:
        """A tile in elements: rows of activations, of output channels, of the reduction."""
        config = self.config
        return self.block // config.batch, self.block // config.block_out, self.block // config.block_in

    def micro_ops(self) -> list[MicroOp]:
        """Return one micro-op for everything that is a loop, then one for each column of a tile."""
        _, columns, depth = self.tile
        return [MicroOp(), *(MicroOp(dst=column, wgt=column * depth) for column in range(columns))]

    def instructions(self) -> list[Instruction]:
        """Return the whole launch."""
        rows, columns, _ = self.tile
        tiles = [
            (row, column)
            for row in range(0, self.rows // self.config.batch, rows)
            for column in range(0, self.channels // self.config.block_out, columns)
        ]
        count = 1 + columns
        found: list[Instruction] = [Load(memory=MemoryId.UOP, dram_base=self.uop, y_size=1, x_size=count)]
        for number, (row, column) in enumerate(tiles):
            found += self._tile(row, column, first=number == 0)
        found.append(Load(memory=MemoryId.UOP, deps=Deps(pop_next=True)))
        return [*found, Finish()]

    def _tile(self, row: int, column: int, *, first: bool) -> Iterator[Instruction]:
        rows, columns, depth = self.tile
        steps = self.reduction // self.config.block_in
        yield Gemm(
            reset=True,
            uop_end=1,
            iter_out=rows,
            iter_in=columns,
            dst_factor_out=columns,
            dst_factor_in=1,
            deps=Deps(push_prev=True, pop_next=not first),
        )
        for step in range(0, steps, depth):
            yield self._load(MemoryId.INP, self.inp + row * steps + step, rows, Deps(pop_next=True))
            yield self._load(MemoryId.WGT, self.wgt + column * steps + step, columns, Deps(push_next=True))
            yield Gemm(
                uop_bgn=1,
                uop_end=1 + columns,
                iter_out=depth,
                iter_in=rows,
                dst_factor_in=columns,
                src_factor_out=1,
                src_factor_in=depth,
                wgt_factor_out=1,
                deps=Deps(pop_prev=True, push_prev=step + depth < steps),
            )
        yield from self._clip_and_store(row, column)

    def _clip_and_store(self, row: int, column: int) -> Iterator[Instruction]:
        rows, columns, _ = self.tile
        for operation, imm in ((AluOpcode.SHR, 8), (AluOpcode.MAX, 0), (AluOpcode.MIN, 127)):
            yield Alu(
                alu_opcode=operation,
                use_imm=True,
                imm=imm,
                uop_end=1,
                iter_in=rows * columns,
                dst_factor_in=1,
                src_factor_in=1,
                deps=Deps(push_next=operation is AluOpcode.MIN),
            )
        out_row = self.channels // self.config.block_out
        yield Store(
            dram_base=self.out + row * out_row + column,
            y_size=rows,
            x_size=columns,
            x_stride=out_row,
            deps=Deps(pop_prev=True, push_prev=True),
        )

    def _load(self, memory: MemoryId, base: int, y_size: int, deps: Deps) -> Load:
        depth = self.tile[2]
        stride = self.reduction // self.config.block_in
        return Load(memory=memory, dram_base=base, y_size=y_size, x_size=depth, x_stride=stride, deps=deps)
