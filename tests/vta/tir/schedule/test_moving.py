"""compute_at and reverse_compute_at: only what is needed, in its place; what cannot move is refused."""

import numpy as np

from tests.support.compiler.block_programs import check, gemm_relu, pipeline
from tests.vta.tir.schedule.test_schedule import refused
from vta import te
from vta.tir.expr import IntImm
from vta.tir.schedule import Schedule
from vta.tir.script import from_source
from vta.tir.stmt import For


def extents(sch: Schedule, block: str) -> list[int]:
    """Return how often the loops around a block run."""
    loops = [sch.get(loop) for loop in sch.get_loops(block)]
    return [loop.extent.value for loop in loops if isinstance(loop, For) and isinstance(loop.extent, IntImm)]


def test_a_producer_computes_what_one_iteration_reads() -> None:
    func, inputs, expected = pipeline()
    sch = Schedule(func)
    _, j = sch.get_loops("R")
    outer, _ = sch.split(j, [None, 5])
    sch.compute_at("Q", outer, preserve_unit_loops=True)
    assert extents(sch, "Q") == [9, 3, 1, 7]  # five outputs and two neighbours
    check(sch.func, inputs, expected)
    sch.compute_at("P", sch.get_loops("Q")[2], preserve_unit_loops=True)
    assert extents(sch, "P") == [9, 3, 1, 1, 7]
    check(sch.func, inputs, expected)


def test_what_is_read_at_places_that_are_data_is_made_whole() -> None:
    a, at = te.placeholder((8,), name="A", dtype="int32"), te.placeholder((6,), name="at", dtype="int32")
    p = te.compute((8,), lambda i: a[i] * 2, name="P")
    q = te.compute((6,), lambda i: p[at[i]], name="Q")
    sch = Schedule(te.create_prim_func([a, at, q]))
    outer, _ = sch.split(sch.get_loops("Q")[0], [2, 3])
    sch.compute_at("P", outer)
    assert extents(sch, "P") == [2, 8]
    places = np.array([7, 0, 3, 3, 5, 1], np.int32)
    check(sch.func, [np.arange(8, dtype=np.int32), places], places * 2)


def test_a_reduction_moves_whole() -> None:
    func, inputs, expected = gemm_relu()
    for depth in (0, 1):
        sch = Schedule(func)
        sch.compute_at("C", sch.get_loops("D")[depth])
        assert extents(sch, "C")[-1] == 8
        check(sch.func, inputs, expected)


def test_a_consumer_computes_what_one_iteration_gives() -> None:
    func, inputs, expected = gemm_relu()
    sch = Schedule(func)
    i, j, k = sch.get_loops("C")
    i0, i1 = sch.split(i, [None, 5])
    j0, j1 = sch.split(j, [None, 4])
    sch.reorder(i0, j0, i1, j1, k)
    sch.reverse_compute_at("D", j0)
    assert extents(sch, "D") == [3, 3, 5, 4]
    check(sch.func, inputs, expected)


def test_pads_read_beyond_the_edge_without_computing_it() -> None:
    a = te.placeholder((8,), name="A", dtype="int32")
    p = te.compute((8,), lambda i: a[i] * 2, name="P")
    q = te.compute((10,), lambda i: te.if_then_else(te.all(i >= 1, i < 9), p[i - 1], 0), name="Q")
    sch = Schedule(te.create_prim_func([a, q]))
    [i] = sch.get_loops("Q")
    outer, _ = sch.split(i, [None, 4])
    sch.compute_at("P", outer)
    values = np.arange(1, 9, dtype=np.int32)
    check(sch.func, [values], np.pad(values * 2, 1))


def test_what_cannot_move_is_refused() -> None:
    func, _, _ = gemm_relu()
    sch = Schedule(func)
    i, j, k = sch.get_loops("C")
    di, _ = sch.get_loops("D")
    refused("compute_at: block 'C' is in loop 'i' already", lambda: sch.compute_at("C", i))
    refused(
        "compute_at: block 'D' writes 'D', an argument of the function, which stays whole",
        lambda: sch.compute_at("D", i),
    )
    refused(
        "reverse_compute_at: block 'C' reduces over loop 'k'; what it makes is not finished inside of that loop",
        lambda: sch.reverse_compute_at("D", k),
    )
    refused(
        "reverse_compute_at: block 'C' reads nothing that another block makes",
        lambda: sch.reverse_compute_at("C", di),
    )
    sch.reorder(k, i, j)
    refused(
        "reverse_compute_at: block 'C' reduces over loop 'k'; what it makes is not finished inside of that loop",
        lambda: sch.reverse_compute_at("D", j),
    )
    blur, _, _ = pipeline()
    sch = Schedule(blur)
    refused(
        "compute_at: block 'Q' reads 'P' and is not in loop 'i'",
        lambda: sch.compute_at("P", sch.get_loops("R")[0]),
    )
    refused(
        "reverse_compute_at: block 'R' reads 'Q' at v_i, (v_j + 1); expected one axis for each dimension, each once",
        lambda: sch.reverse_compute_at("R", sch.get_loops("Q")[0]),
    )


def test_what_runs_for_a_part_of_its_axes_alone_does_so_where_it_goes() -> None:
    func, inputs, expected = gemm_relu()
    sch = Schedule(func)
    _, inner = sch.split(sch.get_loops("C")[2], [None, 3])  # 9 places for 8 numbers
    sch.reorder(inner, *sch.get_loops("C")[:2])
    partial = sch.rfactor(inner, 0)
    sch.compute_at(partial, sch.get_loops("C")[0])
    check(sch.func, inputs, expected)


def test_conditions_that_are_not_about_axes_keep_a_block_where_it_is() -> None:
    func, _, _ = gemm_relu()
    sch = Schedule(func)
    _, inner = sch.split(sch.get_loops("C")[2], [None, 3])
    sch.reorder(inner, *sch.get_loops("C")[:2])
    partial = sch.rfactor(inner, 0)
    sch.split(sch.get_loops(partial)[0], [2, 2])
    refused(
        "compute_at: block 'C_rf' runs only where ((((k_0*3) + (k_1_0*2)) + k_1_1) < 8), which is not about its axes",
        lambda: sch.compute_at(partial, sch.get_loops("C")[0]),
    )


def test_a_sum_without_its_start_does_not_move_to_what_it_reads() -> None:
    func, _, _ = gemm_relu()
    sch = Schedule(func)
    copy = sch.cache_read("C", 1, "global")
    sch.decompose_reduction("C", sch.get_loops("C")[0])
    refused(
        "reverse_compute_at: block 'C' changes what 'C' held before; move a sum with its start, before "
        "decompose_reduction",
        lambda: sch.reverse_compute_at("C", sch.get_loops(copy)[0]),
    )


def test_a_consumer_does_not_pass_one_that_uses_its_output() -> None:
    sch = Schedule(
        from_source("""
@T.prim_func
def main(a: T.handle, b: T.handle) -> None:
    A = T.match_buffer(a, (4,), "int32")
    B = T.match_buffer(b, (4,), "int32")
    P = T.alloc_buffer((4,), "int32")
    for i in range(4):
        with T.block("P"):
            vi = T.axis.spatial(4, i)
            P[vi] = A[vi] * 2
    for i in range(4):
        with T.block("all"):
            vi = T.axis.spatial(4, i)
            B[vi] = 7
    for i in range(2):
        with T.block("some"):
            vi = T.axis.spatial(4, i)
            B[vi] = P[vi]
""")
    )
    refused(
        "reverse_compute_at: block 'all', between loop 'i' and block 'some', uses 'B'",
        lambda: sch.reverse_compute_at("some", sch.get_loops("P")[0]),
    )


def test_a_block_does_not_pass_one_that_changes_what_it_reads() -> None:
    a = te.placeholder((8,), name="A", dtype="int32")
    p = te.compute((8,), lambda i: a[i] * 2, name="P")
    q = te.compute((8,), lambda i: p[i] + 1, name="Q")
    func = te.create_prim_func([a, p, q])
    sch = Schedule(func)
    refused(
        "compute_at: block 'P' writes 'P', an argument of the function, which stays whole",
        lambda: sch.compute_at("P", sch.get_loops("Q")[0]),
    )


def test_parts_with_gaps_are_no_parts() -> None:
    func, _, _ = gemm_relu()
    sch = Schedule(func)
    _, j, _ = sch.get_loops("C")
    j0, j1 = sch.split(j, [None, 5])
    sch.reorder(j1, j0)
    refused(
        "reverse_compute_at: block 'C' does not make whole parts of 'C' in one iteration of loop 'j_1': the places "
        "((j_0*5) + j_1) have gaps",
        lambda: sch.reverse_compute_at("D", j1),
    )
    sch = Schedule(func)
    _, j, _ = sch.get_loops("C")
    j0, j1 = sch.split(j, [None, 5])
    sch.split(j1, [None, 3])
    refused(
        "reverse_compute_at: block 'C' does not make whole parts of 'C' in one iteration of loop 'j_0': the condition "
        "(((j_1_0*3) + j_1_1) < 5) leaves some out",
        lambda: sch.reverse_compute_at("D", j0),
    )


def test_a_consumer_runs_only_where_its_producer_does() -> None:
    func, inputs, expected = gemm_relu()
    sch = Schedule(func)
    outer, inner, _ = sch.split(sch.get_loops("C")[1], [None, 3, 2])
    outest, middle = sch.split(outer, [3, 2])
    sch.reverse_compute_at("D", inner)
    assert "where ((((j_0_0*2) + j_0_1) < 2) && " in str(sch.func)
    assert middle != outest
    check(sch.func, inputs, expected)


def test_loops_of_one_iteration_stay_if_they_are_asked_for() -> None:
    func, inputs, expected = pipeline()
    for keep, found in ((True, [9, 3, 1, 7]), (False, [9, 3, 7])):
        sch = Schedule(func)
        outer, _ = sch.split(sch.get_loops("R")[1], [None, 5])
        sch.compute_at("Q", outer, preserve_unit_loops=keep)
        assert extents(sch, "Q") == found
        check(sch.func, inputs, expected)
        assert ("preserve_unit_loops" in str(sch.trace)) is keep
    func, inputs, expected = gemm_relu()
    for keep in (True, False):
        sch = Schedule(func)
        sch.reverse_compute_at("D", sch.get_loops("C")[1], preserve_unit_loops=keep)
        assert extents(sch, "D")[2:] == ([1, 1] if keep else [])
        check(sch.func, inputs, expected)


def chain() -> list[te.Tensor]:
    """B of A, C of A, D of all: C may be computed before or after B, in D's loop."""
    a = te.placeholder((4,), name="A")
    b = te.compute((4,), lambda i: a[i] + 1, name="B")
    c = te.compute((4,), lambda i: a[i] * 2, name="C")
    return [a, te.compute((4,), lambda i: b[i] - c[i], name="D")]


def test_an_index_says_where_in_the_loop() -> None:
    def order(*index: int) -> list[str]:
        sch = Schedule(te.create_prim_func(chain()))
        loop = sch.get_loops("D")[0]
        sch.compute_at("B", loop)
        sch.compute_at("C", loop, False, *index)
        values = np.arange(4, dtype=np.float32)
        check(sch.func, [values], values + 1 - values * 2)
        again = Schedule(te.create_prim_func(chain()))
        sch.trace.apply_to_schedule(again)
        assert str(again.func.script()) == str(sch.func.script())
        text = str(sch.func.script())
        return sorted("BCD", key=lambda name: text.index(f'T.block("{name}")'))

    assert order(0) == order(-2) == ["C", "B", "D"]
    assert order() == order(-1) == order(1) == ["B", "C", "D"]
    sch = Schedule(te.create_prim_func(chain()))
    sch.compute_at("B", sch.get_loops("D")[0])
    refused(
        "compute_at: index is -1 (late), -2 (early) or a place from 0 to 1 in the loop, not 2",
        lambda: sch.compute_at("C", sch.get_loops("D")[0], False, 2),
    )
