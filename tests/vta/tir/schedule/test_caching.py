"""cache_read, cache_write and set_scope."""

from tests.support.compiler.block_programs import check, gemm_relu, pipeline
from tests.vta.tir.schedule.test_schedule import refused
from vta.tir.schedule import Schedule


def test_reads_and_writes_go_through_copies() -> None:
    func, inputs, expected = gemm_relu()
    sch = Schedule(func)
    first = sch.cache_read("C", 0, "global")
    second = sch.cache_read("C", 1, "local")
    written = sch.cache_write("C", 0, "local")
    out = sch.cache_write("D", 0, "global")
    assert [b.name for b in (first, second, written, out)] == ["A_global", "B_local", "C_local", "D_global"]
    check(sch.func, inputs, expected)
    sch.compute_at(first, sch.get_loops("C")[0])
    sch.reverse_compute_at(written, sch.get_loops("C")[1])
    check(sch.func, inputs, expected)


def test_copies_of_copies_get_names_of_their_own() -> None:
    func, inputs, expected = pipeline()
    sch = Schedule(func)
    sch.cache_read("R", 0, "global")
    again = sch.cache_read("R", 0, "global")
    assert again.name == "Q_global_global"
    check(sch.func, inputs, expected)


def test_scopes_are_set() -> None:
    func, inputs, expected = pipeline()
    sch = Schedule(func)
    sch.set_scope("P", 0, "local")
    assert 'alloc P: Buffer(P_1: Pointer(local int32), int32, [9, 14], [], scope="local")' in str(sch.func)
    check(sch.func, inputs, expected)


def test_what_cannot_be_cached_is_refused() -> None:
    func, _, _ = gemm_relu()
    sch = Schedule(func)
    refused("cache_read: block 'C' has no buffer 2 there; it has: A, B", lambda: sch.cache_read("C", 2, "global"))
    refused("cache_write: block 'C' has no buffer 1 there; it has: C", lambda: sch.cache_write("C", 1, "global"))
    refused(
        "set_scope: 'D' is an argument of the function, which is in DRAM",
        lambda: sch.set_scope("D", 0, "local"),
    )
    sch.reverse_compute_at("D", sch.get_loops("C")[1])
    refused(
        "cache_write: block 'D' reads 'C' inside the loops of block 'C'",
        lambda: sch.cache_write("C", 0, "local"),
    )


def test_copies_come_before_what_would_be_in_their_way() -> None:
    func, _, _ = gemm_relu()
    sch = Schedule(func)
    sch.compute_at("C", sch.get_loops("D")[0])
    refused(
        "cache_read: block 'C' makes 'C' inside the loops of block 'D'; call cache_read first",
        lambda: sch.cache_read("D", 0, "global"),
    )
    sch = Schedule(func)
    sch.decompose_reduction("C", sch.get_loops("C")[1])
    refused(
        "cache_write: block 'C_init' writes 'C', too; call cache_write first",
        lambda: sch.cache_write("C", 0, "local"),
    )
