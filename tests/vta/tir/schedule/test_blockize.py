"""blockize: loops with their block become one step of a block of their own."""

import numpy as np

from tests.support.compiler.block_programs import check, gemm_relu, pipeline
from tests.vta.tir.schedule.test_schedule import refused
from vta import te
from vta.tir.blocks import block_reads
from vta.tir.expr import IntImm
from vta.tir.schedule import BlockRV, Schedule
from vta.tir.stmt import Block


def tiled() -> tuple[Schedule, list[object]]:
    """Return the GEMM with loops in tiles of 4 by 5 by 2."""
    sch = Schedule(gemm_relu()[0])
    i, j, k = sch.get_loops("C")
    (i0, i1), (j0, j1), (k0, k1) = sch.split(i, [None, 4]), sch.split(j, [None, 5]), sch.split(k, [None, 2])
    sch.reorder(i0, j0, k0, i1, j1, k1)
    return sch, [i0, j0, k0, i1, j1, k1]


def domains(sch: Schedule, name: str) -> list[int]:
    """Return how many values the axes of a block have."""
    block = sch.get(BlockRV(name))
    assert isinstance(block, Block)
    return [a.dom.extent.value for a in block.iter_vars if a.dom and isinstance(a.dom.extent, IntImm)]


def test_the_outer_loops_are_the_axes_and_the_numbers_stay() -> None:
    _, inputs, expected = gemm_relu()
    for depth, outer, inner in ((3, [3, 2, 4], [4, 5, 2]), (2, [3, 2, 1], [4, 5, 8]), (5, [12, 10, 4], [2])):
        sch, loops = tiled()
        made = sch.blockize(loops[depth])  # type: ignore[arg-type]
        assert made == BlockRV("C_o")
        assert domains(sch, "C_o") == outer
        assert domains(sch, "C") == inner
        assert sch.get_parent("C") == made
        assert [loop.var.name for loop in sch.get_loops("C")] == [x.var.name for x in loops[depth:]]  # type: ignore[attr-defined]
        check(sch.func, inputs, expected)


def test_the_start_goes_with_the_new_block_and_can_be_taken_out() -> None:
    _, inputs, expected = gemm_relu()
    sch, loops = tiled()
    sch.blockize(loops[3])  # type: ignore[arg-type]
    assert domains(sch, "C_init") == [4, 5]
    start = sch.decompose_reduction("C_o", loops[2])  # type: ignore[arg-type]
    assert sch.get_parent("C_init") == start
    check(sch.func, inputs, expected)


def test_blocks_of_blocks_are_scheduled_on() -> None:
    """A copy of what a step reads moves to it, a consumer to the steps, and a step's own loops change."""
    _, inputs, expected = gemm_relu()
    sch, loops = tiled()
    sch.blockize(loops[3])  # type: ignore[arg-type]
    read = sch.cache_read("C_o", 0, "local")
    sch.compute_at(read, loops[2])  # type: ignore[arg-type]
    assert [sch.get(x).extent for x in sch.get_loops(read)[3:]] == [IntImm(4), IntImm(2)]  # type: ignore[union-attr]
    sch.reverse_compute_at("D", loops[1])  # type: ignore[arg-type]
    inner = sch.get_loops("C")
    sch.reorder(inner[2], inner[0])
    sch.vectorize(inner[1])
    assert [x.name for x in sch.get_producers("C_o")] == [read.name]
    assert [x.name for x in sch.get_consumers("C_o")] == ["D"]
    check(sch.func, inputs, expected)


def test_what_a_block_of_blocks_reads_is_what_the_inner_ones_do() -> None:
    sch, loops = tiled()
    sch.blockize(loops[3])  # type: ignore[arg-type]
    block = sch.get(BlockRV("C_o"))
    assert isinstance(block, Block)
    assert [read.buffer.name for read in block_reads(block)] == ["A", "B"]


def test_what_is_no_block_is_refused() -> None:
    sch = Schedule(gemm_relu()[0])
    _, i1 = sch.split(sch.get_loops("C")[0], [None, 5])
    refused(
        "blockize: block 'C': the condition (((i_0*5) + i_1) < 12) is about loops inside and outside together; split "
        "by a factor that divides",
        lambda: sch.blockize(i1),
    )
    sch = Schedule(pipeline()[0])
    r = sch.get_loops("R")
    sch.compute_at("Q", r[1])
    refused(
        "blockize: loop 'j' must hold one block alone; the blocks in it: 'Q', 'R'",
        lambda: sch.blockize(sch.get_loops("R")[1]),
    )
    a = te.placeholder((16,), name="A")
    b = te.compute((16,), lambda i: a[i] + 1, name="B")
    sch = Schedule(te.create_prim_func([a, b]))
    both = sch.fuse(*sch.split(sch.get_loops("B")[0], [2, 8]))
    outer, inner = sch.split(both, [8, 2])
    sch.reorder(inner, outer)
    refused(
        "blockize: block 'B': axis 'v_i' begins at i_0_i_1_fused_1, which is no multiple of the 15 values that the "
        "inner loops give it",
        lambda: sch.blockize(outer),
    )
    refused(
        "function 'main' has no loop 'i_0_i_1_fused' any more: it was split, fused, or went with its block",
        lambda: sch.blockize(both),
    )


def test_a_split_that_does_not_divide_is_a_condition_of_the_outermost_block_alone() -> None:
    """Blocks in blocks in that block need none; a start that goes with it would not know what it is about."""
    _, inputs, expected = gemm_relu()
    sch = Schedule(gemm_relu()[0])
    _, j, k = sch.get_loops("C")
    inner = sch.blockize(k)
    outer = sch.blockize(j)
    assert (inner, outer) == (BlockRV("C_o"), BlockRV("C_o_o"))
    (i,) = sch.get_loops(outer)
    i0, i1 = sch.split(i, [None, 5])
    sch.reorder(i1, i0)
    blocks = [sch.get(name) for name in (outer, inner, BlockRV("C"))]
    conditions = [str(block.predicate) for block in blocks if isinstance(block, Block)]
    assert conditions == [f"((({i0.var.name}*5) + {i1.var.name}) < 12)", "True", "True"]
    check(sch.func, inputs, expected)
    sch.blockize(i1)
    check(sch.func, inputs, expected)


def test_a_block_in_a_block_gets_no_copy_of_what_others_make_too() -> None:
    """The copy would take the parts of other iterations, and the start of a sum, with it."""
    a = te.placeholder((2, 3), name="A", dtype="int32")
    sch = Schedule(te.create_prim_func([a, te.compute((2, 3), lambda i, j: a[i, j] + 1, name="B")]))
    sch.blockize(sch.get_loops("B")[1])
    sentence = (
        "cache_write: block 'B' is in block 'B_o', and 'B' is more than what that makes; call cache_write first, or of "
        "block 'B_o'"
    )
    refused(sentence, lambda: sch.cache_write("B", 0, "local"))
    sch.cache_write("B_o", 0, "local")
    values = np.arange(6, dtype=np.int32).reshape(2, 3)
    check(sch.func, [values], values + 1)
