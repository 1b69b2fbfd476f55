"""compute_inline and reverse_compute_inline."""

import numpy as np

from tests.support.compiler.block_programs import check, gemm_relu, pipeline
from tests.vta.tir.schedule.test_schedule import refused
from vta import te
from vta.tir.schedule import Schedule


def test_inlined_blocks_leave_nothing_behind() -> None:
    func, inputs, expected = pipeline()
    sch = Schedule(func)
    sch.compute_inline("P")
    sch.compute_inline("Q")
    assert "alloc" not in str(sch.func)
    check(sch.func, inputs, expected)


def test_a_consumer_goes_into_its_producer() -> None:
    func, inputs, expected = pipeline()
    sch = Schedule(func)
    sch.reverse_compute_inline("Q")
    assert [b.name for b in sch.get_child_blocks(sch.get_block("root"))] == ["P", "R"]
    check(sch.func, inputs, expected)


def test_transposed_indices_are_followed() -> None:
    a = te.placeholder((3, 5), name="A", dtype="int32")
    p = te.compute((5, 3), lambda i, j: a[j, i] + i * 10 + j, name="P")
    q = te.compute((3, 5), lambda i, j: p[j, i] * 2 + i, name="Q")

    values = np.arange(15, dtype=np.int32).reshape(3, 5)
    i, j = np.mgrid[0:3, 0:5]
    expected = ((values + j * 10 + i) * 2 + i).astype(np.int32)
    for step in ("compute_inline", "reverse_compute_inline"):
        sch = Schedule(te.create_prim_func([a, q]))
        getattr(sch, step)("P" if step == "compute_inline" else "Q")
        check(sch.func, [values], expected)


def test_what_cannot_be_inlined_is_refused() -> None:
    func, _, _ = gemm_relu()
    sch = Schedule(func)
    refused(
        "compute_inline: block 'C' is no single assignment of independent elements; a reduction or a sequence stays a "
        "block of its own",
        lambda: sch.compute_inline("C"),
    )
    refused(
        "compute_inline: block 'D' writes 'D', an argument of the function, which stays whole",
        lambda: sch.compute_inline("D"),
    )
    refused(
        "reverse_compute_inline: block 'C' is no single assignment of independent elements; a reduction or a sequence "
        "stays a block of its own",
        lambda: sch.reverse_compute_inline("D"),
    )
    blur, _, _ = pipeline()
    refused(
        "reverse_compute_inline: block 'R' must read 'Q' at one place, at all its axes, each once",
        lambda: Schedule(blur).reverse_compute_inline("R"),
    )
    refused(
        "reverse_compute_inline: block 'P' reads 0 results, not one",
        lambda: Schedule(blur).reverse_compute_inline("P"),
    )


def test_a_consumer_of_a_part_takes_that_part_alone() -> None:
    a = te.placeholder((9, 3), name="A", dtype="int32")
    p = te.compute((9, 3), lambda i, j: a[i, j] + 1, name="P")
    q = te.compute((4, 3), lambda i, j: p[i, j] * 2, name="Q")
    sch = Schedule(te.create_prim_func([a, q]))
    sch.reverse_compute_inline("Q")
    assert "where (i < 4)" in str(sch.func)
    values = np.arange(27, dtype=np.int32).reshape(9, 3)
    check(sch.func, [values], (values[:4] + 1) * 2)


def test_a_consumer_that_pads_is_no_part_of_its_producer() -> None:
    a = te.placeholder((12,), name="A", dtype="int32")
    p = te.compute((12,), lambda i: a[i] + 1, name="P")
    q = te.compute((14,), lambda i: te.if_then_else(i < 12, p[i], -7), name="Q")
    sch = Schedule(te.create_prim_func([a, q]))
    refused(
        "reverse_compute_inline: block 'Q' goes over 14 places of axis 'v_i', more than the 12 that 'P' has",
        lambda: sch.reverse_compute_inline("Q"),
    )
    refused(
        "reverse_compute_at: block 'Q' goes over 14 places of axis 'v_i', more than the 12 that 'P' has",
        lambda: sch.reverse_compute_at("Q", sch.get_loops("P")[0]),
    )
