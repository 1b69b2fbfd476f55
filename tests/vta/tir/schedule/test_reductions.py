"""decompose_reduction and rfactor."""

import numpy as np
import pytest

from tests.support.compiler.block_programs import check, gemm_relu, pipeline
from tests.vta.tir.schedule.test_schedule import refused
from vta import te
from vta.tir.schedule import Schedule
from vta.tir.script import from_source


@pytest.mark.parametrize("depth", [0, 1, 2])
def test_the_start_is_taken_out_at_any_loop(depth: int) -> None:
    func, inputs, expected = gemm_relu()
    sch = Schedule(func)
    start = sch.decompose_reduction("C", sch.get_loops("C")[depth])
    assert start.name == "C_init"
    assert len(sch.get_loops(start)) == 2
    check(sch.func, inputs, expected)


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
@pytest.mark.parametrize("which", [0, 1])
def test_partial_results_are_combined(axis: int, which: int) -> None:
    func, inputs, expected = gemm_relu()
    sch = Schedule(func)
    loop = sch.split(sch.get_loops("C")[2], [3, None])[which]
    partial = sch.rfactor(loop, axis)
    sch.parallel(next(x for x in sch.get_loops(partial) if x == loop))
    check(sch.func, inputs, expected, compiled=axis == 0)


def test_products_and_extremes_have_partial_results_too() -> None:
    values = np.random.default_rng(5).integers(1, 4, (3, 8)).astype(np.int32)
    product = te.comm_reducer(lambda x, y: x * y, lambda dtype: te.const(1, dtype), name="product")
    for reducer, reference in ((product, np.prod), (te.max, np.max), (te.min, np.min)):
        a = te.placeholder((3, 8), name="A", dtype="int32")
        k = te.reduce_axis((0, 8), name="k")
        b = te.compute((3,), lambda i, a=a, k=k, r=reducer: r(a[i, k], axis=k), name="B")
        sch = Schedule(te.create_prim_func([a, b]))
        _, inner = sch.split(sch.get_loops("B")[1], [None, 4])
        sch.rfactor(inner, 0)
        check(sch.func, [values], reference(values, axis=1).astype(np.int32), compiled=False)


def test_what_cannot_be_decomposed_or_factored_is_refused() -> None:
    func, _, _ = gemm_relu()
    sch = Schedule(func)
    i, _, k = sch.get_loops("C")
    refused("rfactor: factor_axis is -3 to 2, not 3", lambda: sch.rfactor(k, 3))
    refused("rfactor: block 'C' does not reduce over loop 'i'", lambda: sch.rfactor(i, 0))
    refused(
        "decompose_reduction: loop 'i' is not around block 'C'",
        lambda: sch.decompose_reduction("C", sch.get_loops("D")[0]),
    )
    k0, k1 = sch.split(k, [2, None])
    refused(
        "decompose_reduction: axis 'v_k' is reduced over loop 'k_0' outside of loop 'k_1'; the start must come before "
        "all of the reduction",
        lambda: sch.decompose_reduction("C", k1),
    )
    sch.decompose_reduction("C", k0)
    refused(
        "decompose_reduction: block 'C' has no start of its own: it is no reduction, or has lost it",
        lambda: sch.decompose_reduction("C", k0),
    )
    blur, _, _ = pipeline()
    other = Schedule(blur)
    refused(
        "rfactor: block 'P' is no sum, product, minimum or maximum of one value: expected an update C[i] = C[i] + x "
        "with a start",
        lambda: other.rfactor(other.get_loops("P")[0], 0),
    )
    other = Schedule(func)
    _, wide = other.split(other.get_loops("C")[2], [None, 20])
    refused(
        "rfactor: loop 'k_1' has iterations in which block 'C' adds nothing; split it so that each has some",
        lambda: other.rfactor(wide, 0),
    )
    fused = Schedule(func)
    both = fused.fuse(*fused.get_loops("C")[1:])
    refused(
        "decompose_reduction: loop 'j_k_fused' walks over outputs and over the reduced axis 'v_k'; fuse them after the "
        "start was taken out",
        lambda: fused.decompose_reduction("C", both),
    )


def sum_of_one() -> tuple[Schedule, np.ndarray]:
    """Return a schedule of sums of one number each, less five, and the numbers."""
    a = te.placeholder((3, 1), name="A", dtype="int32")
    k = te.reduce_axis((0, 1), name="k")
    s = te.compute((3,), lambda i: te.sum(a[i, k], axis=k), name="S")
    return Schedule(te.create_prim_func([a, te.compute((3,), lambda i: s[i] - 5, name="D")])), np.array(
        [[4], [-7], [9]], np.int32
    )


def test_a_start_stays_before_loops_that_only_a_condition_names() -> None:
    sch, values = sum_of_one()
    once, _ = sch.split(sch.get_loops("S")[1], [None, 2])
    outer, middle, inner = sch.split(once, [None, 3, 2])
    refused(
        "decompose_reduction: condition (((k_0_1*2) + k_0_2) < 1) is about loop 'k_0_1' outside of loop 'k_0_2', and "
        "about the reduction; the start must come before all of it",
        lambda: sch.decompose_reduction("S", inner),
    )
    sch.decompose_reduction("S", middle)
    check(sch.func, [values], values[:, 0] - 5)
    assert outer.var.name == "k_0_0"


TWICE = """
@T.prim_func
def twice(a: T.handle, c: T.handle) -> None:
    A = T.match_buffer(a, (3, 4), "int32")
    C = T.match_buffer(c, (3,), "int32")
    for i, again, k in T.grid(3, 2, 4):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = 0
            C[vi] = C[vi] + A[vi, vk]
"""


def test_a_start_is_not_taken_out_of_a_loop_that_repeats_the_sum() -> None:
    sch = Schedule(from_source(TWICE))
    _, again, k = sch.get_loops("C")
    refused(
        "decompose_reduction: loop 'again' may run block 'C', start and all, again for the same axes; take the start "
        "out inside of it",
        lambda: sch.decompose_reduction("C", again),
    )
    sch.decompose_reduction("C", k)
    values = np.arange(12, dtype=np.int32).reshape(3, 4)
    check(sch.func, [values], values.sum(1, dtype=np.int32))


@pytest.mark.parametrize(
    ("before", "why"),
    [
        ("if i < 2:", "block 'C' runs only if (i < 2), which is asked in loop 'i'; make it the block's own condition"),
        (
            "with T.block('Z'):\n                D[0] = C[i]\n            for one in range(1):",
            "block 'Z' uses 'C' in loop 'i' before block 'C' does",
        ),
    ],
    ids=["skipped", "seen"],
)
def test_a_start_does_not_pass_what_comes_before_the_sum(before: str, why: str) -> None:
    func = from_source(f"""
@T.prim_func
def some(a: T.handle, c: T.handle, d: T.handle) -> None:
    A = T.match_buffer(a, (3, 4), "int32")
    C = T.match_buffer(c, (3,), "int32")
    D = T.match_buffer(d, (1,), "int32")
    for i in range(3):
        for k in range(4):
            {before}
                with T.block("C"):
                    vi, vk = T.axis.remap("SR", [i, k])
                    with T.init():
                        C[vi] = 1
                    C[vi] = C[vi] + A[vi, vk]
""")
    sch = Schedule(func)
    refused(f"decompose_reduction: {why}", lambda: sch.decompose_reduction("C", sch.get_loops("C")[0]))


def test_a_start_is_not_taken_out_of_a_loop_that_makes_a_sum_again() -> None:
    a = te.placeholder((5, 3), name="A", dtype="int32")
    k = te.reduce_axis((0, 3), name="k")
    s = te.compute((5,), lambda i: te.sum(a[i, k], axis=k), name="S")
    d = te.compute((4,), lambda i: s[i] + s[i + 1] * 2, name="D")
    sch = Schedule(te.create_prim_func([a, d]))
    outer, _ = sch.split(sch.get_loops("D")[0], [None, 3])
    sch.compute_at("S", outer)
    around, window, _ = sch.get_loops("S")
    refused(
        "decompose_reduction: loop 'i_0' may run block 'S', start and all, again for the same axes; take the start out "
        "inside of it",
        lambda: sch.decompose_reduction("S", around),
    )
    sch.decompose_reduction("S", window)
    values = np.arange(15, dtype=np.int32).reshape(5, 3)
    sums = values.sum(1, dtype=np.int32)
    check(sch.func, [values], sums[:-1] + sums[1:] * 2)


def test_a_start_is_not_taken_out_where_the_whole_sum_is_made_at_every_place() -> None:
    a = te.placeholder((5, 2), name="A", dtype="int32")
    k = te.reduce_axis((0, 2), name="k")
    s = te.compute((1,), lambda i: te.sum(a[i, k], axis=k), name="S")
    d = te.compute((5,), lambda i: s[0] + a[i, 0], name="D")
    sch = Schedule(te.create_prim_func([a, d]))
    outer, inner = sch.split(sch.get_loops("D")[0], [None, 3])
    sch.compute_at("S", inner)
    for loop in (outer, inner):
        refused(
            f"decompose_reduction: loop {loop.var.name!r} may run block 'S', start and all, again for the same axes; "
            "take the start out inside of it",
            lambda loop=loop: sch.decompose_reduction("S", loop),
        )


@pytest.mark.parametrize("factors", [[None, 2], [2, None], [None, 3, 2]])
@pytest.mark.parametrize("fused", [False, True])
def test_a_start_is_taken_out_of_loops_that_do_not_divide(factors: list[int | None], *, fused: bool) -> None:
    func, inputs, expected = gemm_relu()
    sch = Schedule(func)
    i, j, _ = sch.get_loops("C")
    first, *_ = sch.split(sch.fuse(i, j) if fused else i, [None, 7])
    *_, k = sch.get_loops("C")
    sch.split(k, factors)
    sch.decompose_reduction("C", first)
    check(sch.func, inputs, expected, compiled=False)


def test_partial_results_are_not_made_of_loops_that_walk_over_outputs_too() -> None:
    func, inputs, expected = gemm_relu()
    sch = Schedule(func)
    _, _, k = sch.get_loops("C")
    outer, inner = sch.split(k, [2, 4])
    _, j, *_ = sch.get_loops("C")
    sch.reorder(inner, outer, j)
    both = sch.fuse(outer, j)
    for loop in (inner, both):
        refused(
            "rfactor: loop 'k_0_j_fused' walks over outputs and over the reduction; fuse them afterwards",
            lambda loop=loop: sch.rfactor(loop, 0),
        )
    check(sch.func, inputs, expected, compiled=False)
