"""The GEMM core as a tensor intrinsic, built from the configuration.

Tests: tests/vta/front/test_environment.py.
"""

from collections.abc import Sequence

from isa.config import VTAConfig
from vta import te
from vta.passes.alu.annotate_alu_coproc_scope import ALU_PRAGMA, SKIP_ALU
from vta.passes.gemm.micro_op import gemm_views, reset_micro_op, update_micro_op
from vta.tir.buffer import Buffer
from vta.tir.expr import IntImm
from vta.tir.stmt import Evaluate, Stmt, seq

__all__ = ["gemm"]


def gemm(config: VTAConfig, *, mock: bool = False) -> te.TensorIntrin:
    """Return ``out[i, j] += sum over k of inp[i, k] * wgt[j, k]`` in the accumulator's type, as one micro-op.

    Shapes: inp (batch, block_in), wgt (block_out, block_in), out (batch, block_out). With ``mock`` the bodies do
    nothing, so that everything but the GEMM can be measured.
    """
    batch, block_in, block_out = config.batch, config.block_in, config.block_out
    inp = te.placeholder((batch, block_in), name="inp", dtype=config.inp_dtype)
    wgt = te.placeholder((block_out, block_in), name="wgt", dtype=config.wgt_dtype)
    k = te.reduce_axis((0, block_in), name="k")
    out = te.compute(
        (batch, block_out),
        lambda i, j: te.sum(inp[i, k].astype(config.acc_dtype) * wgt[j, k].astype(config.acc_dtype), axis=[k]),
        name="out",
    )
    views = gemm_views(config)

    def bodies(_ins: Sequence[Buffer], _outs: Sequence[Buffer]) -> tuple[Stmt, Stmt, Stmt]:
        """Return what computes, what resets, and what adds."""
        if mock:
            nothing = Evaluate(IntImm(0))
            return nothing, nothing, nothing
        reset, update = reset_micro_op(views), update_micro_op(views)
        return seq([reset, update]), reset, update

    layouts = {inp: views.inp, wgt: views.wgt, out: views.acc}
    start = SKIP_ALU if mock else ALU_PRAGMA
    return te.decl_tensor_intrin(out.op, bodies, name="GEMM", binds=layouts, start_pragma=start)
