"""Parallel loops become serial ones, others stay."""

from isa.config import VTAConfig
from vta.passes.host.convert_for_loops_to_serial import convert_for_loops_to_serial
from vta.tir.expr import Var, const
from vta.tir.func import PrimFunc
from vta.tir.stmt import Evaluate, For, ForKind

i, j = Var("i"), Var("j")


def test_only_parallel_loops_change() -> None:
    inner = For(j, const(0), const(4), Evaluate(j), ForKind.VECTORIZED)
    func = PrimFunc("main", (), For(i, const(0), const(8), inner, ForKind.PARALLEL))
    loop = convert_for_loops_to_serial(func, VTAConfig()).body
    assert isinstance(loop, For)
    assert loop.kind is ForKind.SERIAL
    assert loop.body is inner
