"""ALU operations as micro-op kernels: loops folded, one micro-op each.

Tests: tests/vta/passes/alu/test_inject_alu_intrin.py and the rest of tests/vta/passes/alu.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from isa.origin import Origin
from vta.passes.alu.nest import ElementLoop
from vta.passes.alu.select import AluOp
from vta.passes.coproc_axis import uop_scope
from vta.passes.gemm.fold_uop_loop import uop_loop_begin, uop_loop_end
from vta.tir.dtype import INT32
from vta.tir.expr import Builtin, Call, Expr, IntImm, IterVar, const
from vta.tir.scopes import ALU_SYMBOL, FUSED_MODE
from vta.tir.stmt import Evaluate, Stmt, seq

__all__ = ["alu_kernel"]

_ALU_MODE = 1


@dataclass(frozen=True, slots=True)
class _KernelLoop:
    extent: Expr
    dst: int
    src: int


def alu_kernel(op: AluOp, loops: Sequence[ElementLoop], axis: IterVar, origin: Origin | None) -> Stmt:
    """Return the kernel that does ``op`` for all iterations of ``loops``::

        attr "coproc_uop_scope" = "VTAPushALUOp" {
          VTAUopLoopBegin(extent, dst step, src step, 0)
          uop_push(1, 0, dst, src, 0, opcode, use_imm, imm)
          VTAUopLoopEnd()
        }

    An immediate operation names its destination as source; a fused one has its own mode, and shifts by ``imm``.
    """
    src = op.dst if op.src is None else op.src
    mine = [] if op.single else _folded(loops, op.dst.steps, src.steps)
    begins = [uop_loop_begin(loop.extent, const(loop.dst), const(loop.src), const(0), origin) for loop in mine]
    use_imm = const(int(op.src is None))
    mode = const(FUSED_MODE if op.fused else _ALU_MODE)
    args = (mode, const(0), op.dst.base, src.base, const(0), const(int(op.opcode)), use_imm, op.imm)
    push = Evaluate(Call(INT32, Builtin.UOP_PUSH, args), origin)
    ends = [uop_loop_end(origin) for _ in mine]
    return uop_scope(axis, ALU_SYMBOL, seq([*begins, push, *ends]), origin)


def _folded(loops: Sequence[ElementLoop], dst: Sequence[int], src: Sequence[int]) -> list[_KernelLoop]:
    """Return the loops with neighbours merged where the outer one continues the inner one."""
    folded: list[_KernelLoop] = []
    for loop, d, s in reversed(list(zip(loops, dst, src, strict=True))):
        inner = folded[0] if folded else None
        if inner is not None and isinstance(inner.extent, IntImm):
            count = inner.extent.value
            if d == inner.dst * count and s == inner.src * count:
                folded[0] = _KernelLoop(loop.extent * count, inner.dst, inner.src)
                continue
        folded.insert(0, _KernelLoop(loop.extent, d, s))
    return folded
