"""transform_layout and reindex: elements lie elsewhere, the numbers stay."""

import numpy as np

from tests.support.compiler.block_programs import check, gemm_relu, pipeline
from tests.vta.tir.schedule.test_schedule import refused
from vta import te
from vta.tir.index_map import IndexMap
from vta.tir.schedule import Schedule
from vta.tir.structural import require_equal


def test_a_buffer_is_packed() -> None:
    func, inputs, expected = pipeline()
    sch = Schedule(func)
    sch.transform_layout("P", ("write", 0), lambda i, j: [j // 7, i, j % 7])
    assert "alloc P: Buffer(P_1: Pointer(int32), int32, [2, 9, 7], [])" in str(sch.func)
    assert "P[floordiv(v_j, 7), v_i, floormod(v_j, 7)] = " in str(sch.func)
    check(sch.func, inputs, expected)
    sch.transform_layout("R", 0, "read", IndexMap.from_func(lambda i, j: [j, i]))
    check(sch.func, inputs, expected)
    again = Schedule(func)
    sch.trace.apply_to_schedule(again)
    require_equal(again.mod, sch.mod)


def test_an_argument_is_packed_too() -> None:
    func, inputs, expected = gemm_relu()
    sch = Schedule(func)
    sch.transform_layout("C", ("read", 1), lambda *i: [i[1] // 5, i[0], i[1] % 5])
    packed = inputs[1].reshape(8, 2, 5).transpose(1, 0, 2).copy()
    check(sch.func, [inputs[0], packed], expected)


def test_a_block_reads_and_writes_by_its_own_axes() -> None:
    a = te.placeholder((6, 8), name="A", dtype="int32")
    b = te.compute((8, 6), lambda i, j: a[j, 7 - i] * 2, name="B")
    values = np.arange(48, dtype=np.int32).reshape(6, 8)
    sch = Schedule(te.create_prim_func([a, b]))
    read = sch.reindex("B", ("read", 0))
    write = sch.reindex("B", ("write", 0))
    assert "B_reindex[v_i, v_j] = (A_reindex[v_i, v_j]*2)" in str(sch.func)
    assert [x.name for x in (read, write)] == ["A_reindex", "B_reindex"]
    check(sch.func, [values], values.T[::-1] * 2)
    sch.compute_at(read, sch.get_loops("B")[0])
    check(sch.func, [values], values.T[::-1] * 2)


def test_a_reduction_is_indexed_anew() -> None:
    func, inputs, expected = gemm_relu()
    sch = Schedule(func)
    sch.reindex("C", ("read", 1))
    check(sch.func, inputs, expected)
    refused("reindex: another block uses 'C', which block 'C' writes", lambda: sch.reindex("C", ("write", 0)))


def test_what_is_no_layout_is_refused() -> None:
    sch = Schedule(pipeline()[0])
    refused(
        "transform_layout: (i + j) is no one-to-one map of the elements of 'P': scale 1 does not go with the 14 values "
        "of the digits below",
        lambda: sch.transform_layout("P", ("write", 0), lambda i, j: [i + j]),
    )
    refused(
        "transform_layout: 'P' has 2 dimensions, the map takes 3 indices",
        lambda: sch.transform_layout("P", ("write", 0), lambda i, j, k: [i, j, k]),
    )
    refused(
        "transform_layout: a buffer is one of those that are 'read' or 'write', not 'both'",
        lambda: sch.transform_layout("P", ("both", 0), lambda i, j: [j, i]),
    )
    refused(
        "transform_layout: expected a map of indices, for example lambda i, j: [j, i]",
        lambda: sch.transform_layout("P", ("write", 0)),
    )
    refused("expected a buffer as ('read', 0) or ('write', 0), not 'P'", lambda: sch.reindex("P", "P"))  # type: ignore[arg-type]
    inner = sch.blockize(sch.get_loops("P")[1])
    refused("reindex: block 'P_o' accesses 'A' in loops of its own", lambda: sch.reindex(inner, ("read", 0)))
    refused("reindex: block 'R' accesses 'Q' at several places", lambda: sch.reindex("R", ("read", 0)))


def test_a_copy_never_leaves_the_buffer() -> None:
    a = te.placeholder((8,), name="A", dtype="int32")
    b = te.compute((10,), lambda i: te.if_then_else(te.all(i >= 1, i < 9), a[i - 1], 0), name="B")
    sch = Schedule(te.create_prim_func([a, b]))
    refused(
        "reindex: block 'B' accesses 'A' at (v_i - 1), which its axes alone do not keep within the 8 elements",
        lambda: sch.reindex("B", ("read", 0)),
    )
