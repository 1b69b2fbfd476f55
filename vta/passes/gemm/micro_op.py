"""One micro-op of the GEMM core as a statement, and the views of the scratchpads that its operands are.

Tests: tests/vta/front/test_environment.py, tests/vta/passes/gemm/test_inject_conv2d_transpose_skip.py and the rest of
tests/vta/passes/gemm.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from isa.config import VTAConfig
from isa.instructions import Module
from isa.origin import Origin
from vta.passes.coproc_axis import coproc_axis, coproc_scope, uop_scope
from vta.tir.buffer import Buffer, decl_buffer
from vta.tir.dtype import INT32
from vta.tir.expr import Builtin, Call, Expr, IntImm
from vta.tir.scopes import ACC_SCOPE, DEPTHWISE_MODE, GEMM_SYMBOL, INP_SCOPE, WGT_SCOPE
from vta.tir.stmt import Evaluate, Stmt

__all__ = ["GemmViews", "depthwise_micro_op", "depthwise_views", "gemm_views", "reset_micro_op", "update_micro_op"]

_NONE = IntImm(0)


@dataclass(frozen=True, slots=True)
class GemmViews:
    """One element of each scratchpad: ``acc`` (batch, block_out), ``inp`` (batch, block_in), ``wgt`` (block_out,
    block_in); of a depthwise step, ``inp`` are the elements of all taps (taps, batch, block_in)."""

    acc: Buffer
    inp: Buffer
    wgt: Buffer


def gemm_views(config: VTAConfig) -> GemmViews:
    """Return new views; a region that one is bound to must begin at a whole element."""
    batch, block_in, block_out = config.batch, config.block_in, config.block_out
    return GemmViews(
        _view((batch, block_out), config.acc_dtype, ACC_SCOPE),
        _view((batch, block_in), config.inp_dtype, INP_SCOPE),
        _view((block_out, block_in), config.wgt_dtype, WGT_SCOPE),
    )


def depthwise_views(config: VTAConfig) -> GemmViews:
    """Return new views for a step of GEMM with the flag ``depthwise``."""
    shape = (config.depthwise_taps, config.batch, config.block_in)
    return replace(gemm_views(config), inp=_view(shape, config.inp_dtype, INP_SCOPE))


def _view(shape: tuple[int, ...], dtype: str, scope: str) -> Buffer:
    lanes = shape[-2] * shape[-1]
    return decl_buffer(shape, dtype, scope, scope=scope, offset_factor=lanes, data_alignment=lanes)


def update_micro_op(views: GemmViews, origin: Origin | None = None) -> Stmt:
    """Return ``acc[i, j] += sum over k of inp[i, k] * wgt[j, k]``, in the compute module's scope."""
    operands = [_pointer(views.acc, "rw"), _pointer(views.inp, "r"), _pointer(views.wgt, "r")]
    return _micro_op(operands, origin)


def depthwise_micro_op(views: GemmViews, origin: Origin | None = None) -> Stmt:
    """Return ``acc[i, j] += sum over t of inp[t, i, j] * wgt[j, t]``, in the compute module's scope."""
    operands = [_pointer(views.acc, "rw"), _pointer(views.inp, "r"), _pointer(views.wgt, "r")]
    return _micro_op(operands, origin, mode=DEPTHWISE_MODE)


def reset_micro_op(views: GemmViews, origin: Origin | None = None) -> Stmt:
    """Return ``acc[i, j] = 0``, in the compute module's scope."""
    return _micro_op([_pointer(views.acc, "rw"), _NONE, _NONE], origin, reset=1)


def _pointer(view: Buffer, access: str) -> Expr:
    return view.access_ptr(access, "int32")


def _micro_op(operands: Sequence[Expr], origin: Origin | None, *, mode: int = 0, reset: int = 0) -> Stmt:
    arguments = (IntImm(mode), IntImm(reset), *operands, _NONE, _NONE, _NONE)
    axis = coproc_axis()
    push = Evaluate(Call(INT32, Builtin.UOP_PUSH, arguments), origin)
    return coproc_scope(axis, Module.COMPUTE, uop_scope(axis, GEMM_SYMBOL, push, origin), origin)
