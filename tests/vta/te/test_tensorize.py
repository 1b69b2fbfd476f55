from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.support.compiler.host_gemm import gemm
from tests.support.compiler.te_run import loops, lowered, run, statements
from vta import te
from vta.tir.expr import Call, Expr
from vta.tir.stmt import AttrKey, AttrStmt, IfThenElse

RNG = np.random.default_rng(11)


class Tiled:
    """A product of tiled operands in four dimensions, as the accelerator takes it, and a copy of it."""

    def __init__(self, rows: int = 2, columns: int = 3, inner: int = 4, batch: int = 1, block: int = 4) -> None:
        self.shape = (rows, columns, inner, batch, block)
        self.x = te.placeholder((rows, inner, batch, block), "int8", "x")
        self.w = te.placeholder((columns, inner, block, block), "int8", "w")
        self.ko, self.ki = te.reduce_axis((0, inner), "ko"), te.reduce_axis((0, block), "ki")

        def element(bo: Expr, co: Expr, bi: Expr, ci: Expr) -> Any:
            x, w = self.x[bo, self.ko, bi, self.ki], self.w[co, self.ko, ci, self.ki]
            return te.sum(x.astype("int32") * w.astype("int32"), axis=[self.ko, self.ki])

        self.c = te.compute((rows, columns, batch, block), element, "c")
        self.out = te.compute((rows, columns, batch, block), lambda *i: self.c(*i), "out")
        self.s = te.create_schedule(self.out.op)
        self.intrinsic = gemm(batch, block)

    @property
    def args(self) -> list[te.Tensor]:
        return [self.x, self.w, self.out]

    def check(self) -> None:
        x, w = (RNG.integers(-128, 128, size=[int(n) for n in t.shape]).astype(np.int8) for t in self.args[:2])
        expected = np.einsum("rkbi,ckoi->rcbo", x.astype(np.int32), w.astype(np.int32))
        assert (run(self.s, self.args, x, w) == expected).all()

    def error(self) -> str:
        with pytest.raises((te.TensorizeError, te.ScheduleError)) as error:
            lowered(self.s, self.args)
        return str(error.value)


def binds(t: Tiled) -> list[str]:
    attrs = [a for a in statements(lowered(t.s, t.args), AttrStmt) if a.key == AttrKey.BUFFER_BIND_SCOPE]
    return [f"{a.node[0].name}->{a.node[1].name}({', '.join(map(str, a.value.args))})" for a in attrs]


def test_the_whole_reduction_inside_is_the_body() -> None:
    t = Tiled(inner=1)
    stage = t.s[t.c]
    stage.reorder(*t.c.op.axis[:2], t.ko, *t.c.op.axis[2:], t.ki)
    stage.reorder(*t.c.op.axis[:2], *t.c.op.axis[2:], t.ko, t.ki)
    stage.tensorize(t.c.op.axis[2], t.intrinsic)
    assert loops(lowered(t.s, t.args))[:2] == ["bo:2", "co:3"]
    t.check()


def test_a_reduction_loop_outside_makes_a_reset_nest_and_an_update_nest() -> None:
    t = Tiled()
    t.s[t.c].reorder(t.ko, *t.c.op.axis, t.ki)
    t.s[t.c].tensorize(t.c.op.axis[2], t.intrinsic)
    outer = [name for name in loops(lowered(t.s, t.args)) if not name.startswith("t")]
    assert outer == ["bo.init:2", "co.init:3", "ko:4", "bo:2", "co:3", "i0:2", "i1:3", "i3:4"]
    assert binds(t) == [
        "out->c(bo.init, 1, co.init, 1, 0, 1, 0, 4)",
        "inp->x(bo, 1, ko, 1, 0, 1, 0, 4)",
        "wgt->w(co, 1, ko, 1, 0, 4, 0, 4)",
        "out->c(bo, 1, co, 1, 0, 1, 0, 4)",
    ]
    t.check()


def test_the_reset_is_inside_the_loops_that_are_outside_of_the_reduction() -> None:
    t = Tiled()
    t.s[t.c].reorder(t.c.op.axis[0], t.ko, *t.c.op.axis[1:], t.ki)
    t.s[t.c].tensorize(t.c.op.axis[2], t.intrinsic)
    assert loops(lowered(t.s, t.args))[:2] == ["bo:2", "co.init:3"]
    t.check()


def test_split_reductions_reset_once() -> None:
    t = Tiled(inner=8)
    ko_outer, ko_inner = t.s[t.c].split(t.ko, 3)
    bo, co, bi, ci = t.c.op.axis
    t.s[t.c].reorder(ko_outer, bo, ko_inner, co, bi, ci, t.ki)
    t.s[t.c].tensorize(bi, t.intrinsic)
    t.check()


def test_outputs_fused_with_a_reduction_loop_still_reset_once() -> None:
    t = Tiled()
    t.s[t.c].reorder(t.ko, *t.c.op.axis, t.ki)
    t.s[t.c].fuse(t.ko, t.c.op.axis[0])
    t.s[t.c].tensorize(t.c.op.axis[2], t.intrinsic)
    t.check()


def test_copies_and_outputs_at_loops_around_the_intrinsic() -> None:
    t = Tiled(rows=4, columns=6, inner=4, batch=2)
    bo, co, _, _ = t.s[t.out].op.axis
    axes = t.s[t.out].tile(bo, co, 2, 3)
    t.s[t.out].bind(axes[1], te.thread_axis("cthread"))
    copies = [t.s.cache_read(tensor, "local", t.c) for tensor in (t.x, t.w)]
    t.s[t.c].compute_at(t.s[t.out], axes[1])
    ko_outer, ko_inner = t.s[t.c].split(t.ko, 2)
    t.s[t.c].reorder(ko_outer, *t.c.op.axis[:2], ko_inner, *t.c.op.axis[2:], t.ki)
    for copy in copies:
        t.s[copy].compute_at(t.s[t.c], ko_outer)
    t.s[t.c].tensorize(t.c.op.axis[2], t.intrinsic)
    t.check()


@pytest.mark.parametrize("seed", range(40))
def test_random_tilings_give_the_product(seed: int) -> None:
    rng = np.random.default_rng(seed)
    t = Tiled(*(int(n) for n in rng.integers(1, 7, size=3)), int(rng.integers(1, 3)), 4)
    s = t.s
    bo, co, _, _ = s[t.out].op.axis
    axes = s[t.out].tile(bo, co, int(rng.integers(1, 4)), int(rng.integers(1, 4)))
    copies = [s.cache_read(tensor, "local", t.c) for tensor in (t.x, t.w)]
    s[t.c].compute_at(s[t.out], axes[int(rng.integers(2))])
    outer = [*t.c.op.axis[:2], *s[t.c].split(t.ko, int(rng.integers(1, 4)))]
    order = [outer[i] for i in rng.permutation(4)]
    s[t.c].reorder(*order, *t.c.op.axis[2:], t.ki)
    for copy in copies:
        s[copy].compute_at(s[t.c], order[int(rng.integers(4))])
    s[t.c].tensorize(t.c.op.axis[2], t.intrinsic)
    t.check()


def test_one_tensor_may_be_both_operands() -> None:
    x = te.placeholder((4, 4), "int8", "x")
    k = te.reduce_axis((0, 4), "k")
    c = te.compute((4, 4), lambda i, j: te.sum(x[i, k].astype("int32") * x[j, k].astype("int32"), axis=k), "c")
    s = te.create_schedule(c.op)
    s[c].tensorize(c.op.axis[0], gemm(4, 4))
    data = RNG.integers(-128, 128, size=(4, 4)).astype(np.int8)
    assert (run(s, [x, c], data) == data.astype(np.int32) @ data.T.astype(np.int32)).all()


def test_a_missing_part_of_an_intrinsic_is_named() -> None:
    t = Tiled()
    t.s[t.c].reorder(t.ko, *t.c.op.axis, t.ki)
    t.s[t.c].tensorize(t.c.op.axis[2], gemm(1, 4, without="reset"))
    assert t.error() == (
        "Tensorize failed: stage 'c', axis 'bi': a loop of the reduction is outside of it, but the intrinsic 'gemm' "
        "has no reduce_init; declare it, or tensorize at another axis"
    )
    t = Tiled()
    t.s[t.c].reorder(t.ko, *t.c.op.axis, t.ki)
    t.s[t.c].tensorize(t.c.op.axis[2], gemm(1, 4, without="update"))
    assert "the intrinsic 'gemm' has no reduce_update" in t.error()
    t = Tiled(inner=1)
    t.s[t.c].tensorize(t.c.op.axis[2], gemm(1, 4, without="body"))
    assert t.error() == (
        "Tensorize failed: stage 'c', axis 'bi': the intrinsic 'gemm' has no body; declare it, or tensorize at another "
        "axis"
    )


class Sparse:
    """A product of which only the steps are done where ``where(ko, bo)`` holds."""

    def __init__(self, where: Callable[..., Any], *, inner: int = 4, without: str = "") -> None:
        x, w = te.placeholder((2, inner, 1, 4), "int8", "x"), te.placeholder((3, inner, 4, 4), "int8", "w")
        ko, ki = te.reduce_axis((0, inner), "ko"), te.reduce_axis((0, 4), "ki")
        self.c = te.compute(
            (2, 3, 1, 4),
            lambda bo, co, bi, ci: te.sum(
                x[bo, ko, bi, ki].astype("int32") * w[co, ko, ci, ki].astype("int32"),
                axis=[ko, ki],
                where=where(ko, bo, ki),
            ),
            "c",
        )
        self.args = [x, w, self.c]
        self.s = te.create_schedule(self.c.op)
        self.s[self.c].reorder(ko, *self.c.op.axis, ki)
        if inner == 1:
            self.s[self.c].reorder(*self.c.op.axis, ko, ki)
        self.s[self.c].tensorize(self.c.op.axis[2], gemm(1, 4, without=without))

    def check(self, done: Callable[..., Any]) -> None:
        x, w = (RNG.integers(-128, 128, size=[int(n) for n in t.shape]).astype(np.int8) for t in self.args[:2])
        mask = np.array([[done(k, b) for k in range(x.shape[1])] for b in range(2)])
        expected = np.einsum("rkbi,ckoi,rk->rcbo", x.astype(np.int32), w.astype(np.int32), mask)
        assert (run(self.s, self.args, x, w) == expected).all()


def test_where_a_reduction_skips_steps_the_intrinsic_is_not_used() -> None:
    t = Sparse(lambda ko, bo, _: te.all(ko % 2 == bo, ko < 3))
    assert str(statements(lowered(t.s, t.args), IfThenElse)[0].condition) == "((floormod(ko, 2) == bo) && (ko < 3))"
    t.check(lambda k, b: k % 2 == b and k < 3)


def test_a_skipped_whole_reduction_leaves_the_start_value() -> None:
    t = Sparse(lambda _k, bo, _i: bo == 1, inner=1)
    t.check(lambda _k, b: b == 1)


def test_a_condition_outside_needs_the_parts_of_the_intrinsic() -> None:
    t = Sparse(lambda _k, bo, _i: bo == 1, inner=1, without="update")
    with pytest.raises(te.TensorizeError) as error:
        lowered(t.s, t.args)
    assert "a condition of the reduction is outside of it, but the intrinsic 'gemm' has no reduce_update" in str(
        error.value
    )


def test_a_reduction_that_skips_lanes_is_not_the_intrinsic() -> None:
    t = Sparse(lambda ko, _b, ki: te.all(ko < 3, ki < 2))
    with pytest.raises(te.TensorizeError, match="it computes"):
        lowered(t.s, t.args)


def test_a_condition_on_the_loops_inside_is_refused() -> None:
    t = Tiled(block=6)
    outer, inner = t.s[t.c].split(t.c.op.axis[3], 4)
    t.s[t.c].reorder(t.ko, *t.c.op.axis[:2], outer, t.c.op.axis[2], inner, t.ki)
    t.s[t.c].tensorize(t.c.op.axis[2], gemm(1, 4))
    assert t.error() == (
        "Tensorize failed: stage 'c', axis 'bi': split condition ((ci.inner + (ci.outer*4)) < 6) depends on "
        "axis ci.inner, which the intrinsic 'gemm' stands for; choose a factor that divides, or an intrinsic whose "
        "body has this condition itself"
    )


def test_a_stage_inside_of_the_intrinsic_is_refused() -> None:
    t = Tiled()
    copy = t.s.cache_read(t.x, "local", t.c)
    t.s[t.c].reorder(t.ko, *t.c.op.axis, t.ki)
    t.s[copy].compute_at(t.s[t.c], t.c.op.axis[3])
    t.s[t.c].tensorize(t.c.op.axis[2], t.intrinsic)
    assert t.error() == (
        "stage 'x.local': it is to be computed at axis 'ci' of stage 'c', but that is inside of the tensorised axis "
        "'bi'; compute it further out"
    )


@pytest.mark.parametrize(("axis", "name"), [(2, "bi"), (3, "ci")])
def test_what_is_said_about_the_loops_inside_is_refused(axis: int, name: str) -> None:
    t = Tiled(inner=1)
    t.s[t.c].tensorize(t.c.op.axis[2], t.intrinsic)
    t.s[t.c].pragma(t.c.op.axis[axis], "alu")
    assert t.error() == (
        f"stage 'c': axis '{name}' carries pragma 'alu', but is inside of the tensorised axis 'bi', where there are no "
        "loops any more"
    )


def test_the_view_of_a_bound_buffer_is_the_intrinsics() -> None:
    t = Tiled(inner=1)
    t.s[t.c].tensorize(t.c.op.axis[2], t.intrinsic)
    attrs = [a for a in statements(lowered(t.s, t.args), AttrStmt) if a.key == AttrKey.BUFFER_BIND_SCOPE]
    assert [a.node[0] for a in attrs] == list(t.intrinsic.buffers)
    assert all(isinstance(a.value, Call) for a in attrs)
