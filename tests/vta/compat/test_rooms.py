"""Names that TVM has in several modules are the same things in all of them."""

import importlib
from collections.abc import Iterator
from typing import Any

import pytest

from vta.compat.answering import answering


@pytest.fixture(scope="module")
def tvm() -> Iterator[Any]:
    with answering():
        yield importlib.import_module("tvm")


def test_each_name_is_the_same_thing_everywhere(tvm: Any) -> None:
    tir, te = tvm.tir, tvm.te
    same = (
        (tir.expr.Call, tir.Call), (tir.expr.FloatImm, tir.FloatImm), (tir.stmt.For, tir.For), (tir.op.exp, tir.exp),
        (tir.op.call_intrin, tir.call_intrin), (tir.function.PrimFunc, tir.PrimFunc), (tir.buffer.Buffer, tir.Buffer),
        (tir.expr.IterVar, tir.IterVar), (te.operation.compute, te.compute), (te.operation.ScanOp, te.tensor.ScanOp),
        (te.tag.tag_scope, te.tag_scope), (te.tensor_intrin.TensorIntrin, te.schedule.TensorIntrin),
        (te.autodiff.gradient, te.gradient), (tvm.ir.module.IRModule, tvm.IRModule), (tvm.ir.expr.Range, tvm.ir.Range),
        (tvm.ir.container.Array, tvm.ir.Array), (tvm.arith.bound.deduce_bound, tvm.arith.deduce_bound),
        (tvm.arith.pattern.detect_linear_equation, tvm.arith.detect_linear_equation),
        (tvm.runtime.DataType, tvm.DataType), (tvm.runtime.const, tvm.tir.const),
    )  # fmt: skip
    for one, other in same:
        assert one is other


def test_quotients_are_rounded_up(tvm: Any) -> None:
    n = tvm.te.var("n")
    for value, wanted in ((0, 0), (1, 1), (8, 1), (9, 2), (-7, 0), (-8, -1), (-9, -1)):
        quotient = tvm.tir.stmt_functor.substitute(tvm.tir.ceildiv(n, 8), {n: tvm.tir.const(value)})
        assert int(tvm.arith.Analyzer().simplify(quotient)) == wanted


def test_gpus_are_targets_by_name(tvm: Any) -> None:
    assert str(tvm.target.cuda("v100", arch="sm_70")) == "cuda -keys=cuda,gpu -model=v100 -arch=sm_70"
    assert tvm.target.rocm().kind.name == "rocm"
