"""Micro-op kernels on plain Python integers: one model runs the kernel as it was described, the other what it became.

Scratchpad elements are single 32-bit numbers, which is enough to tell whether indices, order and operations are right.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from isa.config import VTAConfig
from isa.encoding import decode_uop
from isa.instructions import Alu, AluOpcode, Gemm, MicroOp
from runtime.queue.kernel_lowering import KernelStep
from runtime.queue.uop_kernel import KernelMode, UopKernel, UopLoop
from tests.support.isa.alu_judge import judge, wrap

__all__ = ["Pads", "run_kernel", "run_steps"]


@dataclass(slots=True)
class Pads:
    """The scratchpads; ``acc`` is what kernels change."""

    acc: list[int]
    inp: list[int] = field(default_factory=list)
    wgt: list[int] = field(default_factory=list)

    def alu(self, opcode: AluOpcode, dst: int, operand: int) -> None:
        self.acc[dst] = judge(opcode, self.acc[dst], operand)

    def gemm(self, uop: MicroOp, *, reset: bool) -> None:
        self.acc[uop.dst] = 0 if reset else wrap(self.acc[uop.dst] + self.inp[uop.src] * self.wgt[uop.wgt])


def _walk(loops: Sequence[UopLoop], uops: Iterable[MicroOp], do: Callable[[MicroOp], None]) -> None:
    if not loops:
        for uop in uops:
            do(uop)
        return
    first, *rest = loops
    for i in range(first.extent):
        moved = [MicroOp(dst=u.dst + i * first.dst, src=u.src + i * first.src, wgt=u.wgt + i * first.wgt) for u in uops]
        _walk(rest, moved, do)


def run_kernel(kernel: UopKernel, pads: Pads) -> None:
    """Run the kernel as it was described."""
    operation = kernel.operation
    if operation is None:
        return

    def do(uop: MicroOp) -> None:
        if operation.mode is KernelMode.GEMM:
            pads.gemm(uop, reset=operation.reset)
        else:
            assert operation.alu_opcode is not None
            pads.alu(operation.alu_opcode, uop.dst, operation.imm if operation.use_imm else pads.acc[uop.src])

    _walk(kernel.loops, kernel.uops, do)


def run_steps(steps: Iterable[KernelStep], pads: Pads, config: VTAConfig) -> None:
    """Run the instructions that a kernel became."""
    for step in steps:
        uops = [decode_uop(word, config) for word in step.block.words]
        for instruction in step.instructions:
            _run_instruction(instruction, uops[: instruction.uop_end], pads)


def _run_instruction(i: Gemm | Alu, uops: Sequence[MicroOp], pads: Pads) -> None:
    gemm = isinstance(i, Gemm)
    loops = (
        UopLoop(i.iter_out, i.dst_factor_out, i.src_factor_out, i.wgt_factor_out if gemm else 0),
        UopLoop(i.iter_in, i.dst_factor_in, i.src_factor_in, i.wgt_factor_in if gemm else 0),
    )

    def do(uop: MicroOp) -> None:
        match i:
            case Gemm():
                pads.gemm(uop, reset=i.reset)
            case Alu():
                pads.alu(i.alu_opcode, uop.dst, i.imm if i.use_imm else pads.acc[uop.src])

    _walk(loops, uops, do)
