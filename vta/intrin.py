"""The GEMM core as a tensor intrinsic, built from the configuration.

Tests: tests/vta/front/test_environment.py.
"""

from collections.abc import Callable, Mapping, Sequence

from isa.config import ConfigError, VTAConfig
from vta import te
from vta.passes.alu.annotate_alu_coproc_scope import ALU_PRAGMA, SKIP_ALU
from vta.passes.gemm.micro_op import (
    GemmViews,
    depthwise_micro_op,
    depthwise_views,
    gemm_views,
    reset_micro_op,
    update_micro_op,
)
from vta.tir import ops
from vta.tir.buffer import Buffer
from vta.tir.expr import Expr, IntImm
from vta.tir.stmt import Evaluate, Stmt, seq

__all__ = ["depthwise_gemm", "depthwise_product", "gemm"]


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
    layouts = {inp: views.inp, wgt: views.wgt, out: views.acc}
    return _declared("GEMM", out, layouts, views, update_micro_op(views), mock=mock)


def depthwise_gemm(config: VTAConfig, *, mock: bool = False) -> te.TensorIntrin:
    """Return ``out[i, j] += sum over t of inp[t, i, j] * wgt[j, t]``, as one micro-op of a depthwise GEMM.

    Shapes: inp (taps, batch, block), wgt (block, block), of whose rows only the first ``taps`` numbers count
    (``depthwise_product`` says so), out (batch, block). ``ConfigError`` for a configuration without ``depthwise_taps``.
    """
    taps, batch, block = config.depthwise_taps, config.batch, config.block_in
    if not taps:
        raise ConfigError("DEPTHWISE_TAPS is 0, and a depthwise GEMM has one tap or more")
    inp = te.placeholder((taps, batch, block), name="inp", dtype=config.inp_dtype)
    wgt = te.placeholder((block, block), name="wgt", dtype=config.wgt_dtype)
    t = te.reduce_axis((0, block), name="t")

    def element(i: Expr, j: Expr) -> Expr:
        weight = wgt[j, t].astype(config.acc_dtype)
        return te.sum(
            depthwise_product(lambda tap: inp[tap, i, j].astype(config.acc_dtype), weight, t.var, taps), axis=[t]
        )

    out = te.compute((batch, block), element, name="out")
    views = depthwise_views(config)
    layouts = {inp: views.inp, wgt: views.wgt, out: views.acc}
    return _declared("depthwise GEMM", out, layouts, views, depthwise_micro_op(views), mock=mock)


def depthwise_product(inp: Callable[[Expr], Expr], weight: Expr, t: Expr, taps: int) -> Expr:
    """Return what number ``t`` of a weight row adds: ``inp(t) * weight``, nothing from number ``taps`` on.

    Written so that all of a weight element is read, as it has to be loaded, and no more inputs than there are taps.
    """
    product = inp(ops.min(t, taps - 1)) * weight
    return te.if_then_else(t < taps, product, te.const(0, product.dtype))


def _declared(
    name: str, out: te.Tensor, layouts: Mapping[te.Tensor, Buffer], views: GemmViews, update: Stmt, *, mock: bool
) -> te.TensorIntrin:
    """Return the intrinsic that ``update`` is a step of; what resets is the same for all."""

    def bodies(_ins: Sequence[Buffer], _outs: Sequence[Buffer]) -> tuple[Stmt, Stmt, Stmt]:
        """Return what computes, what resets, and what adds."""
        if mock:
            nothing = Evaluate(IntImm(0))
            return nothing, nothing, nothing
        reset = reset_micro_op(views)
        return seq([reset, update]), reset, update

    start = SKIP_ALU if mock else ALU_PRAGMA
    return te.decl_tensor_intrin(out.op, bodies, name=name, binds=layouts, start_pragma=start)
