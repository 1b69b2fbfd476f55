"""The GEMM core as a tensor intrinsic, built from the configuration.

May import ``isa``, ``vta.tir``, ``vta.te`` and ``vta.passes.coproc_axis``. Tests: tests/vta/front/test_environment.py.
"""

from collections.abc import Sequence

from isa.config import VTAConfig
from isa.instructions import Module
from vta import te
from vta.passes.coproc_axis import coproc_axis, coproc_scope, uop_scope
from vta.tir.buffer import Buffer, decl_buffer
from vta.tir.dtype import INT32
from vta.tir.expr import Builtin, Call, Expr, IntImm
from vta.tir.scopes import ACC_SCOPE, GEMM_SYMBOL, INP_SCOPE, WGT_SCOPE
from vta.tir.stmt import Evaluate, Stmt

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
    layouts = {
        tensor: decl_buffer(tensor.shape, tensor.dtype, name, scope=scope, offset_factor=lanes, data_alignment=lanes)
        for tensor, name, scope, lanes in (
            (inp, INP_SCOPE, INP_SCOPE, batch * block_in),
            (wgt, WGT_SCOPE, WGT_SCOPE, block_out * block_in),
            (out, ACC_SCOPE, ACC_SCOPE, batch * block_out),
        )
    }

    def bodies(ins: Sequence[Buffer], outs: Sequence[Buffer]) -> tuple[Stmt, Stmt, Stmt]:
        """Return what computes, what resets, and what adds."""
        if mock:
            nothing = Evaluate(IntImm(0))
            return nothing, nothing, nothing
        (target,) = outs
        operands = [target.access_ptr("rw", "int32"), *(source.access_ptr("r", "int32") for source in ins)]
        update = _micro_op(reset=0, operands=operands)
        reset = _micro_op(reset=1, operands=[operands[0], IntImm(0), IntImm(0)])
        return update, reset, update

    return te.decl_tensor_intrin(out.op, bodies, name="GEMM", binds=layouts)


def _micro_op(*, reset: int, operands: Sequence[Expr]) -> Stmt:
    """Return one GEMM micro-op on ``operands`` (accumulator, input, weight), in the compute module's scope."""
    none = IntImm(0)
    arguments = (IntImm(0), IntImm(reset), *operands, none, none, none)
    axis = coproc_axis()
    push = Evaluate(Call(INT32, Builtin.UOP_PUSH, arguments))
    return coproc_scope(axis, Module.COMPUTE, uop_scope(axis, GEMM_SYMBOL, push))
