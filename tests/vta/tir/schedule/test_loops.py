"""split, fuse, reorder, parallel, vectorize, unroll: the numbers stay, and what cannot be is refused."""

import pytest

from tests.support.compiler.block_programs import check, gemm_relu, pipeline
from tests.vta.tir.schedule.test_schedule import refused
from vta import te
from vta.tir.schedule import Schedule


@pytest.mark.parametrize("factors", [[None, 5], [5, None], [3, 4], [2, None, 3], [7, 7], [None, 100]])
def test_splits_that_divide_and_that_do_not(factors: list[int | None]) -> None:
    func, inputs, expected = gemm_relu()
    sch = Schedule(func)
    for loop in sch.get_loops("C"):
        product = 1
        for factor in factors:
            product *= factor or 100
        sch.split(loop, factors if product >= 12 else [None, *factors])
    check(sch.func, inputs, expected, compiled=factors == [None, 5])


def test_fused_loops_stand_for_both() -> None:
    func, inputs, expected = gemm_relu()
    sch = Schedule(func)
    i, j, k = sch.get_loops("C")
    fused = sch.fuse(i, j, k)
    assert fused.var.name == "i_j_k_fused"
    outer, inner = sch.split(fused, [None, 7])
    sch.unroll(inner)
    check(sch.func, inputs, expected)
    assert sch.get_loops("C") == [outer, inner]


def test_reductions_may_come_outside_of_outputs() -> None:
    func, inputs, expected = gemm_relu()
    sch = Schedule(func)
    i, j, k = sch.get_loops("C")
    sch.reorder(k, j, i)
    assert sch.get_loops("C") == [k, j, i]
    check(sch.func, inputs, expected)


def test_what_loops_cannot_do_is_refused() -> None:
    func, _, _ = gemm_relu()
    sch = Schedule(func)
    i, j, k = sch.get_loops("C")
    di, dj = sch.get_loops("D")
    refused("split: loop 'i': expected two factors or more, got [4]", lambda: sch.split(i, [4]))
    refused("split: loop 'i': at most one factor may be None, got [None, None]", lambda: sch.split(i, [None, None]))
    refused("split: loop 'i': factors are at least 1, got [0, None]", lambda: sch.split(i, [0, None]))
    refused(
        "split: loop 'i' has 12 iterations, but the factors [2, 4] make 8; one of them may be None, for as many as it "
        "takes",
        lambda: sch.split(i, [2, 4]),
    )
    refused("fuse: expected two loops or more", lambda: sch.fuse(i))
    refused("fuse: loop 'k' is not the only thing in loop 'i'", lambda: sch.fuse(i, k))
    refused("reorder: a loop is given twice: i, i", lambda: sch.reorder(i, i))
    refused(
        "reorder: the loops i, j are not one nest: each must be the only thing in the one around it",
        lambda: sch.reorder(i, dj),
    )
    refused(
        "vectorize: block 'C' reduces over loop 'k', in which order matters; rfactor makes a loop of partial results",
        lambda: sch.vectorize(k),
    )
    refused(
        "parallel: block 'C' reduces over loop 'k', in which order matters; rfactor makes a loop of partial results",
        lambda: sch.parallel(k),
    )
    sch.parallel(di)
    refused("unroll: loop 'i' is parallel already", lambda: sch.unroll(di))
    refused("split: loop 'i' is parallel already; split it before that", lambda: sch.split(di, [None, 2]))
    assert j in sch.get_loops("C")


def test_loops_of_symbolic_length_are_split_and_checked() -> None:
    n = te.var("n")
    a = te.placeholder((n,), name="A", dtype="int32")
    b = te.compute((n,), lambda i: a[i] + 1, name="B")
    sch = Schedule(te.create_prim_func([a, b]))
    [i] = sch.get_loops("B")
    refused("split: loop 'i' has n iterations; let one of the factors be None", lambda: sch.split(i, [4, 4]))
    sch.split(i, [None, 4])
    values = pipeline()[1][0][0]
    check(sch.func, [values], values + 1)


def test_a_reduction_begins_with_its_start_in_every_order() -> None:
    func, inputs, expected = gemm_relu()
    sch = Schedule(func)
    i, j, k = sch.get_loops("C")
    sch.reorder(k, j, i)
    outer, inner = sch.split(sch.fuse(k, j), [None, 4])
    refused(
        "reorder: loop 'k_j_fused_0' walks over outputs of block 'C' and reduces; decompose_reduction takes the start "
        "out before",
        lambda: sch.reorder(inner, outer),
    )
    sch.reorder(i, outer, inner)
    check(sch.func, inputs, expected)
