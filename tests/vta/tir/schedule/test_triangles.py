"""Reductions over triangles: how far an axis goes depends on another one."""

import numpy as np

from tests.support.compiler.block_programs import check
from tests.vta.tir.schedule.test_schedule import refused
from vta import te
from vta.tir.expr import Expr
from vta.tir.func import PrimFunc
from vta.tir.schedule import Schedule


def triangle() -> tuple[PrimFunc, list[np.ndarray], np.ndarray]:
    """Return twice the sums of the first ``i + 1`` numbers of row ``i``."""
    a = te.placeholder((6, 6), name="A", dtype="int32")

    def row(i: Expr) -> Expr:
        k = te.reduce_axis((0, i + 1), name="k")
        return te.sum(a[i, k], axis=k)

    s = te.compute((6,), row, name="S")
    d = te.compute((6,), lambda i: s[i] * 2, name="D")
    values = np.arange(36, dtype=np.int32).reshape(6, 6)
    return te.create_prim_func([a, d]), [values], np.tril(values).sum(1).astype(np.int32) * 2


def test_a_triangle_moves_with_its_axis() -> None:
    func, inputs, expected = triangle()
    sch = Schedule(func)
    outer, inner = sch.split(sch.get_loops("D")[0], [None, 4])
    sch.compute_at("S", outer)
    assert "for (ax1: int32, 0, (((i_0*4) + ax0) + 1)) {" in str(sch.func)
    check(sch.func, inputs, expected)
    assert inner.var.name == "i_1"


def test_what_would_need_a_rectangle_is_refused() -> None:
    sch = Schedule(triangle()[0])
    i, k = sch.get_loops("S")
    refused(
        "reorder: how often loop 'k' runs depends on loop 'i', which would come inside of it", lambda: sch.reorder(k, i)
    )
    refused("rfactor: how often loop 'k' runs depends on others", lambda: sch.rfactor(k, 0))
    refused("reindex: how far axis 'v_k' of 'S' goes depends on others", lambda: sch.reindex("S", ("read", 0)))
    refused("blockize: block 'S': how far axis 'v_k' goes depends on others", lambda: sch.blockize(i))
