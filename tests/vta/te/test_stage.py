from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from vta import te
from vta.te.relations import Fuse, Role, Singleton, Split
from vta.te.stage import AttachAt, AttachKind, Stage
from vta.tir.expr import IterKind
from vta.tir.stmt import ForKind


class Product:
    """``c = a @ b`` and ``d = c + 1``, scheduled."""

    def __init__(self) -> None:
        self.a = te.placeholder((8, 6), "int32", "a")
        self.b = te.placeholder((6, 4), "int32", "b")
        self.k = te.reduce_axis((0, 6), "k")
        self.c = te.compute((8, 4), lambda i, j: te.sum(self.a[i, self.k] * self.b[self.k, j], axis=self.k), "c")
        self.d = te.compute((8, 4), lambda i, j: self.c[i, j] + 1, "d")
        self.s = te.create_schedule(self.d.op)

    @property
    def stage(self) -> Stage:
        return self.s[self.c]

    def leaves(self) -> list[str]:
        return [axis.name for axis in self.stage.leaf_iter_vars]


@pytest.fixture
def p() -> Product:
    return Product()


def refused(text: str, call: Callable[..., Any]) -> None:
    with pytest.raises(te.ScheduleError) as error:
        call()
    assert str(error.value) == text


def test_a_new_stage_loops_over_outputs_and_then_reductions(p: Product) -> None:
    assert p.leaves() == ["i", "j", "k"]
    assert p.stage.attach is AttachKind.ROOT
    assert not p.stage.is_scheduled
    assert repr(p.stage) == "stage(c)"


def test_split_replaces_a_loop_by_two(p: Product) -> None:
    outer, inner = p.stage.split(p.k, 4)
    assert p.leaves() == ["i", "j", "k.outer", "k.inner"]
    assert {outer.kind, inner.kind} == {IterKind.COMM_REDUCE}
    (relation,) = p.stage.relations
    assert isinstance(relation, Split)
    assert (relation.parent, int(relation.factor), relation.nparts) == (p.k, 4, None)
    assert p.stage.is_scheduled


def test_split_takes_the_number_of_parts_and_numpy_integers(p: Product) -> None:
    p.stage.split(p.k, nparts=np.int64(3))
    assert int(p.stage.relations[0].nparts) == 3


def test_tile_splits_two_loops_and_orders_them(p: Product) -> None:
    axes = p.stage.tile(*p.c.op.axis, 4, 2)
    assert [a.name for a in axes] == ["i.outer", "j.outer", "i.inner", "j.inner"]
    assert p.leaves() == ["i.outer", "j.outer", "i.inner", "j.inner", "k"]


def test_fuse_makes_one_loop_of_neighbours_in_either_order(p: Product) -> None:
    i, j = p.c.op.axis
    assert p.stage.fuse(j, i).name == "i.j.fused"
    assert p.leaves() == ["i.j.fused", "k"]
    assert isinstance(p.stage.relations[0], Fuse)


def test_fuse_of_output_and_reduction_is_a_reduction(p: Product) -> None:
    fused = p.stage.fuse(*p.c.op.axis, p.k)
    assert fused.name == "i.j.fused.k.fused"
    assert fused.kind is IterKind.COMM_REDUCE
    assert p.stage.roles()[fused] == Role.DATA | Role.REDUCE


def test_fuse_of_nothing_is_a_dummy_loop(p: Product) -> None:
    dummy = p.stage.fuse()
    assert p.leaves() == ["singleton", "i", "j", "k"]
    assert isinstance(p.stage.relations[0], Singleton)
    assert p.stage.roles()[dummy] is Role.DATA


def test_reorder_permutes_the_named_loops_in_their_places(p: Product) -> None:
    i, _ = p.c.op.axis
    p.stage.reorder(p.k, i)
    assert p.leaves() == ["k", "j", "i"]


def test_stages_are_attached_inlined_and_returned_to_the_root(p: Product) -> None:
    i = p.d.op.axis[0]
    p.stage.compute_at(p.s[p.d], i)
    assert p.stage.attach == AttachAt(p.s[p.d], i)
    p.stage.compute_root()
    assert p.stage.attach is AttachKind.ROOT


def test_loops_are_marked(p: Product) -> None:
    i, j = p.c.op.axis
    thread = te.thread_axis("cthread")
    outer, inner = p.stage.split(i, 2)
    p.stage.bind(outer, thread)
    p.stage.unroll(p.k)
    p.stage.vectorize(j)
    p.stage.parallel(inner)
    p.stage.pragma(inner, "dma_copy")
    p.stage.pragma(inner, "note", "text")
    kinds = [p.stage.attrs[axis].kind for axis in (p.k, j, inner)]
    assert kinds == [ForKind.UNROLLED, ForKind.VECTORIZED, ForKind.PARALLEL]
    assert p.stage.thread_of(outer) is thread
    assert [(key, str(value)) for key, value in p.stage.attrs[inner].pragmas] == [("dma_copy", "1"), ("note", '"text"')]


def test_storage_is_scoped_aligned_and_doubled(p: Product) -> None:
    p.stage.set_scope("local.acc_buffer")
    p.stage.storage_align(p.c.op.axis[0], np.int32(16), 8)
    p.stage.double_buffer()
    assert (p.stage.scope, p.stage.attrs[p.c.op.axis[0]].align, p.stage.double_buffered) == (
        "local.acc_buffer", (16, 8), True,
    )  # fmt: skip


def test_an_axis_that_is_no_loop_says_where_it_went(p: Product) -> None:
    i, _ = p.c.op.axis
    p.stage.split(i, 2)
    refused(
        "stage 'c': unroll: axis 'i' is no loop any more, it was split into 'i.outer' and 'i.inner'; "
        "the loops of stage 'c' are now: i.outer, i.inner, j, k",
        lambda: p.stage.unroll(i),
    )


def test_a_foreign_axis_is_refused(p: Product) -> None:
    loops = "the loops of stage 'c' are now: i, j, k"
    foreign = p.d.op.axis[0]
    refused(f"stage 'c': split: axis 'i' is not an axis of this stage; {loops}", lambda: p.stage.split(foreign, 2))
    refused(f"stage 'c': reorder: expected an axis, got 3; {loops}", lambda: p.stage.reorder(p.k, 3))
    refused(
        f"stage 'c': vectorize: 'cthread' is a thread axis, not a loop; bind a loop to it; {loops}",
        lambda: p.stage.vectorize(te.thread_axis("cthread")),
    )


def test_a_placeholder_has_no_loops(p: Product) -> None:
    text = "a placeholder is not computed; it has no loops"
    a = p.s[p.a]
    refused(f"stage 'a': split: {text}", lambda: a.split(p.k, 2))
    refused(f"stage 'a': fuse: {text}", a.fuse)
    refused(f"stage 'a': compute_at: {text}", lambda: a.compute_at(p.stage, p.k))
    refused(f"stage 'a': compute_inline: {text}", a.compute_inline)
    refused(f"stage 'a': set_scope: {text}", lambda: a.set_scope("local"))


def test_a_split_needs_one_size_of_at_least_one(p: Product) -> None:
    refused("stage 'c': split of 'k': give factor or nparts, got neither", lambda: p.stage.split(p.k))
    refused("stage 'c': split of 'k': give factor or nparts, got both", lambda: p.stage.split(p.k, 2, 3))
    refused("stage 'c': split of 'k': expected a factor of at least 1, got 0", lambda: p.stage.split(p.k, 0))
    refused("stage 'c': split of 'k': expected a nparts of at least 1, got -2", lambda: p.stage.split(p.k, nparts=-2))
    refused(
        "stage 'c': split of 'k': factor: expected an integer or an integer expression, got 2.5 of type float32",
        lambda: p.stage.split(p.k, 2.5),
    )
    assert p.leaves() == ["i", "j", "k"]


def test_what_was_said_about_a_loop_is_not_lost(p: Product) -> None:
    i, j = p.c.op.axis
    p.stage.pragma(i, "dma_copy")
    p.stage.unroll(j)
    refused(
        "stage 'c': split: axis 'i' already carries pragma 'dma_copy', which would be lost; split first, then mark the "
        "loops that it makes",
        lambda: p.stage.split(i, 2),
    )
    refused(
        "stage 'c': fuse: axis 'j' already carries 'unrolled', which would be lost; fuse first, then mark the loops "
        "that it makes",
        lambda: p.stage.fuse(j, p.k),
    )
    refused(
        "stage 'c': tile: axis 'j' already carries 'unrolled', which would be lost; tile first, then mark the loops "
        "that it makes",
        lambda: p.stage.tile(p.k, j, 2, 2),
    )
    assert p.leaves() == ["i", "j", "k"]


def test_a_loop_runs_in_one_way(p: Product) -> None:
    i, j = p.c.op.axis
    p.stage.bind(i, te.thread_axis("vthread"))
    p.stage.unroll(j)
    refused("stage 'c': unroll: axis 'i' already carries a binding to thread axis 'vthread'", lambda: p.stage.unroll(i))
    refused("stage 'c': bind: axis 'j' already carries 'unrolled'", lambda: p.stage.bind(j, te.thread_axis("cthread")))


def test_only_neighbours_fuse(p: Product) -> None:
    i, _ = p.c.op.axis
    refused(
        "stage 'c': fuse: 'i' and 'k' do not follow one another; reorder them first; the loops are now: i, j, k",
        lambda: p.stage.fuse(i, p.k),
    )


def test_an_axis_is_named_once(p: Product) -> None:
    i, j = p.c.op.axis
    refused("stage 'c': reorder: axis 'i' is given twice", lambda: p.stage.reorder(i, j, i))
    refused("stage 'c': fuse: axis 'j' is given twice", lambda: p.stage.fuse(j, j))
    refused("stage 'c': tile: axis 'i' is given twice", lambda: p.stage.tile(i, i, 2, 2))


def test_compute_at_needs_a_reader(p: Product) -> None:
    other = te.compute((8, 4), lambda i, j: p.a[i, j], "other")
    s = te.create_schedule([p.d.op, other.op])
    refused(
        "stage 'c': compute_at: stage 'other' does not read stage 'c'",
        lambda: s[p.c].compute_at(s[other], other.op.axis[0]),
    )
    refused(
        f"stage 'c': compute_at: expected a stage, s[tensor], got {p.d!r}",
        lambda: s[p.c].compute_at(p.d, p.d.op.axis[0]),
    )


def test_an_output_stays_at_the_root(p: Product) -> None:
    e = te.compute((8, 4), lambda i, j: p.d[i, j], "e")
    s = te.create_schedule([p.d.op, e.op])
    text = "it is an output of the schedule, which stays at the root"
    refused(f"stage 'd': compute_at: {text}", lambda: s[p.d].compute_at(s[e], e.op.axis[0]))
    refused(f"stage 'd': compute_inline: {text}", s[p.d].compute_inline)
    refused(f"stage 'd': double_buffer: {text}", s[p.d].double_buffer)


def test_bind_needs_a_virtual_thread_axis(p: Product) -> None:
    i, j = p.c.op.axis
    hint = "is not a thread axis; make one with te.thread_axis('cthread')"
    refused(f"stage 'c': bind of 'i': 'j' {hint}", lambda: p.stage.bind(i, j))
    refused(f"stage 'c': bind of 'i': 'cthread' {hint}", lambda: p.stage.bind(i, "cthread"))
    refused(
        "stage 'c': bind of 'i': the tag 'vta' is the accelerator's own; use 'cthread'",
        lambda: p.stage.bind(i, te.thread_axis("vta")),
    )


def test_a_reduction_runs_in_order(p: Product) -> None:
    text = "axis 'k' walks over a reduction, in which order matters"
    refused(f"stage 'c': parallel: {text}", lambda: p.stage.parallel(p.k))
    refused(f"stage 'c': vectorize: {text}", lambda: p.stage.vectorize(p.k))
    refused(f"stage 'c': bind: {text}", lambda: p.stage.bind(p.k, te.thread_axis("cthread")))
    p.stage.bind(p.k, te.thread_axis("rotate"))  # a loop still, in order


def test_other_arguments_are_checked(p: Product) -> None:
    i, _ = p.c.op.axis
    refused("stage 'c': set_scope: expected the name of a memory, got 3", lambda: p.stage.set_scope(3))
    refused("stage 'c': pragma: expected the name of a pragma, got ''", lambda: p.stage.pragma(i, ""))
    refused("stage 'c': pragma 'x': expected a number or a string, got n", lambda: p.stage.pragma(i, "x", te.var("n")))
    refused(
        "stage 'c': tensorize: expected the result of te.decl_tensor_intrin, got 'gemm'",
        lambda: p.stage.tensorize(i, "gemm"),
    )
    refused(
        "stage 'c': storage_align: expected 0 <= offset < factor, got 4 and 4", lambda: p.stage.storage_align(i, 4, 4)
    )
    refused(
        f"stage 'c': storage_align: expected one of the output's axes i, j, got {p.k!r}",
        lambda: p.stage.storage_align(p.k, 4, 0),
    )


def test_pragmas_that_say_how_a_loop_runs() -> None:
    a = te.placeholder((8, 8), "int32", "a")
    b = te.compute((8, 8), lambda i, j: a[i, j] + 1, "b")
    s = te.create_schedule(b.op)
    i, j = b.op.axis
    s[b].pragma(i, "unroll")
    s[b].pragma(j, "vectorize")
    assert [s[b].iter_var_attrs[axis].iter_type for axis in (i, j)] == [5, 6]
