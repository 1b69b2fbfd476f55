"""What a tensorised reduction begins with: values of its own, or those that the intrinsic begins with."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.support.compiler.host_gemm import gemm
from tests.support.compiler.te_run import lowered, run
from vta import te
from vta.tir.buffer import Buffer
from vta.tir.stmt import BufferStore, For, Stmt, seq

RNG = np.random.default_rng(17)
SHAPE = (2, 3, 1, 4)


def product(
    init: Callable[..., Any], *, whole: bool, intrinsic: te.TensorIntrin
) -> tuple[te.Schedule, list[te.Tensor]]:
    """Return a tiled product that begins with ``init(s, bo, co, bi, ci)``, the whole of it in the intrinsic or not."""
    inner = 1 if whole else 4
    x, w = te.placeholder((2, inner, 1, 4), "int8", "x"), te.placeholder((3, inner, 4, 4), "int8", "w")
    start = te.placeholder(SHAPE, "int32", "s")
    ko, ki = te.reduce_axis((0, inner), "ko"), te.reduce_axis((0, 4), "ki")
    c = te.compute(
        SHAPE,
        lambda bo, co, bi, ci: te.sum(
            x[bo, ko, bi, ki].astype("int32") * w[co, ko, ci, ki].astype("int32"),
            axis=[ko, ki],
            init=init(start, bo, co, bi, ci),
        ),
        "c",
    )
    s = te.create_schedule(c.op)
    s[c].reorder(*(c.op.axis[:2]), ko, *c.op.axis[2:], ki)
    if whole:
        s[c].reorder(*c.op.axis, ko, ki)
    s[c].tensorize(c.op.axis[2], intrinsic)
    return s, [*([x, w, start] if start in c.op.input_tensors else [x, w]), c]


STARTS: dict[str, Callable[..., Any]] = {
    "none": lambda _s, _bo, _co, _bi, _ci: 0,
    "constant": lambda _s, _bo, _co, _bi, _ci: 5,
    "tile": lambda _s, bo, co, _bi, _ci: bo * 10 - co,
    "lane": lambda _s, _bo, _co, _bi, ci: ci + 1,
    "tensor": lambda s, bo, co, bi, ci: s[bo, co, bi, ci] * 2,
}


@pytest.mark.parametrize("whole", [False, True], ids=["steps outside", "whole"])
@pytest.mark.parametrize("start", STARTS)
def test_a_reduction_begins_with_its_own_values(start: str, whole: bool) -> None:
    s, args = product(STARTS[start], whole=whole, intrinsic=gemm(1, 4))
    arrays = [RNG.integers(-99, 99, [int(n) for n in t.shape]).astype(str(t.dtype)) for t in args[:-1]]
    x, w = (array.astype(np.int32) for array in arrays[:2])
    sums = np.einsum("rkbi,ckoi->rcbo", x, w)
    given = arrays[2] if len(arrays) > 2 else np.zeros(SHAPE, np.int32)
    begun = [STARTS[start](given, *place) for place in np.ndindex(SHAPE)]
    assert (run(s, args, *arrays) == sums + np.reshape(begun, SHAPE)).all()


def from_seven() -> te.TensorIntrin:
    """out[i, j] = 7 + sum over k of inp[i, k] * wgt[j, k], as loops that can be told from the stage's own."""
    like = gemm(1, 4)
    inp, wgt = (te.placeholder(t.shape, "int8", t.name) for t in like.inputs)
    k = te.reduce_axis((0, 4), "k")
    out = te.compute(
        (1, 4),
        lambda i, j: te.sum(inp[i, k].astype("int32") * wgt[j, k].astype("int32"), axis=k, init=7),
        "out",
    )

    def parts(ins: list[Buffer], outs: list[Buffer]) -> tuple[Stmt, Stmt, Stmt]:
        (x, w), (o,) = ins, outs
        j, i, m = te.var("j"), te.var("j"), te.var("m")
        zero = te.const(0)
        added = o.load(zero, i) + x.load(zero, m).astype("int32") * w.load(i, m).astype("int32")
        loops = For(i, zero, te.const(4), For(m, zero, te.const(4), BufferStore(o, added, (zero, i))))
        reset = For(j, zero, te.const(4), BufferStore(o, te.const(7), (zero, j)))
        return seq([reset, loops]), reset, loops

    return te.decl_tensor_intrin(out.op, parts, name="from_seven")


@pytest.mark.parametrize("whole", [False, True], ids=["steps outside", "whole"])
@pytest.mark.parametrize("first", [0, 7, 9])
def test_an_intrinsic_may_begin_with_a_value_of_its_own(first: int, whole: bool) -> None:
    s, args = product(lambda *_: first, whole=whole, intrinsic=from_seven())
    x, w = (RNG.integers(-99, 99, [int(n) for n in t.shape]).astype(np.int8) for t in args[:2])
    expected = np.einsum("rkbi,ckoi->rcbo", x.astype(np.int32), w.astype(np.int32)) + first
    assert (run(s, args, x, w) == expected).all()
    assert ("ci.start" in str(lowered(s, args))) == (first != 7)


def test_other_start_values_need_the_update_of_the_intrinsic() -> None:
    s, args = product(STARTS["constant"], whole=True, intrinsic=gemm(1, 4, without="update"))
    with pytest.raises(te.TensorizeError) as error:
        lowered(s, args)
    assert str(error.value) == (
        "Tensorize failed: stage 'c', axis 'bi': a start value of the reduction is outside of it, but the intrinsic "
        "'gemm' has no reduce_update; declare it, or tensorize at another axis"
    )


def test_an_intrinsic_that_reads_its_start_takes_the_same_start_alone() -> None:
    inp, first = te.placeholder((4, 4), "int32", "inp"), te.placeholder((4,), "int32", "first")
    k = te.reduce_axis((0, 4), "k")
    out = te.compute((4,), lambda i: te.sum(inp[i, k], axis=k, init=first[i]), "out")

    def parts(ins: list[Buffer], outs: list[Buffer]) -> Stmt:
        (x, f), (o,) = ins, outs
        i, j, m = te.var("i"), te.var("i"), te.var("m")
        zero, four = te.const(0), te.const(4)
        add = BufferStore(o, o.load(j) + x.load(j, m), (j,))
        return seq([For(i, zero, four, BufferStore(o, f.load(i), (i,))), For(j, zero, four, For(m, zero, four, add))])

    intrinsic = te.decl_tensor_intrin(out.op, parts, name="row_sums")

    def rows(scale: int) -> tuple[te.Schedule, list[te.Tensor]]:
        x, f = te.placeholder((3, 4, 4), "int32", "x"), te.placeholder((3, 4), "int32", "f")
        r = te.reduce_axis((0, 4), "r")
        c = te.compute((3, 4), lambda n, i: te.sum(x[n, i, r], axis=r, init=f[n, i] * scale), "c")
        s = te.create_schedule(c.op)
        s[c].tensorize(c.op.axis[1], intrinsic)
        return s, [x, f, c]

    x, f = RNG.integers(-99, 99, (3, 4, 4)).astype(np.int32), RNG.integers(-99, 99, (3, 4)).astype(np.int32)
    assert (run(*rows(1), x, f) == x.sum(2) + f).all()
    with pytest.raises(te.TensorizeError, match="it computes"):
        lowered(*rows(2))
