"""How much a barrier covers, and where it stands if the wait is elsewhere."""

from isa.config import VTAConfig
from tests.support.compiler.tir_build import (
    block,
    buffer,
    call,
    function,
    host_load,
    loop,
    on,
    outline,
    pragma,
    store,
    thread,
    when,
)
from vta.passes.sync.inject_coproc_sync import inject_coproc_sync
from vta.tir.buffer import Buffer
from vta.tir.dtype import INT32
from vta.tir.expr import Builtin, Call, ExprLike, StringImm, Var
from vta.tir.printer import to_text
from vta.tir.stmt import LetStmt, Stmt
from vta.tir.traverse import walk

A, B = buffer("A", (1024,), "int8"), buffer("B", (1024,), "int8")


def dma_store(target: Buffer, offset: ExprLike, tiles: int = 2) -> Stmt:
    return on(3, call("VTAStoreBuffer2D", 0, 0, 4, target.data, offset, tiles, 1, tiles))


def dma_load(source: Buffer, offset: ExprLike, tiles: int = 2) -> Stmt:
    return on(1, call("VTALoadBuffer2D", 0, source.data, offset, tiles, 1, tiles, 0, 0, 0, 0, 0, 2))


def lowered(body: Stmt) -> Stmt:
    return inject_coproc_sync(function(body, A, B), VTAConfig()).body


def barriers(body: Stmt) -> list[str]:
    """Symbol, buffer, start and extent of every barrier, as text."""
    found = []
    for node in walk(lowered(body)):
        match node:
            case Call(op=Builtin.CALL_EXTERN, args=(StringImm(value=symbol), _, Var() as data, _, low, extent)):
                if symbol.endswith("Barrier"):
                    found.append(f"{symbol} {data.name} {to_text(low)} {to_text(extent)}")
            case _:
                continue
    return found


def test_a_barrier_covers_all_rounds_of_a_loop() -> None:
    i = Var("i", INT32)
    assert barriers(block(loop(i, 5, dma_store(A, i * 4)), store(B, host_load(A, 0), 0))) == ["VTAWriteBarrier A 0 288"]


def test_a_barrier_covers_everything_from_the_first_to_the_last_transfer() -> None:
    program = block(dma_store(A, 8), dma_store(A, 2), dma_store(B, 0), store(B, host_load(A, 0), 63))
    assert barriers(program) == ["VTAWriteBarrier A 32 128"]


def test_a_barrier_ends_where_the_memory_ends() -> None:
    i = Var("i", INT32)
    program = block(store(A, 1, 0), loop(i, 6, dma_load(A, i * 16 - 8, tiles=16)))
    assert barriers(program) == ["VTAReadBarrier A 0 1024"]
    o = Var("o", INT32)
    program = loop(o, 6, block(store(A, 1, o), dma_load(A, o * 16, tiles=16)))
    assert barriers(program) == [
        "VTAReadBarrier A min((o*256), 1024) (min(((o*256) + 256), 1024) - min((o*256), 1024))"
    ]


def test_a_barrier_covers_loops_and_branches_within_a_scope() -> None:
    i, n = Var("i", INT32), Var("n", INT32)
    transfer = call("VTAStoreBuffer2D", 0, 0, 4, A.data, i * 4, 2, 1, 2)
    inside = on(3, when(n > 0, loop(i, 5, transfer), call("VTAStoreBuffer2D", 0, 0, 4, A.data, 20, 1, 1, 1)))
    assert barriers(block(inside, store(B, host_load(A, 0), 0))) == ["VTAWriteBarrier A 0 336"]
    named = on(3, LetStmt(n, host_load(B, 1).astype("int32"), call("VTAStoreBuffer2D", 0, 0, 4, A.data, n, 2, 1, 2)))
    assert barriers(block(named, store(B, host_load(A, 0), 0))) == ["VTAWriteBarrier A 0 1024"]


def test_a_barrier_outside_of_virtual_threads_covers_what_all_of_them_touch() -> None:
    v = Var("v", INT32)
    assert barriers(block(store(A, 1, 0), thread(v, 3, dma_load(A, v * 4)))) == ["VTAReadBarrier A 0 160"]
    assert barriers(block(thread(v, 3, dma_store(A, v * 4 + 1)), store(B, host_load(A, 0), 0))) == [
        "VTAWriteBarrier A 16 160"
    ]
    assert barriers(thread(v, 3, block(store(A, 1, v), dma_load(A, v * 4)))) == ["VTAReadBarrier A (v*64) 32"]


def test_a_barrier_in_a_loop_covers_that_round() -> None:
    o = Var("o", INT32)
    assert barriers(loop(o, 3, block(dma_store(A, o * 2), store(B, host_load(A, o), 0)))) == [
        "VTAWriteBarrier A (o*32) 32"
    ]


def test_what_is_not_known_is_covered_as_a_whole() -> None:
    n = Var("n", INT32)
    inner = LetStmt(n, host_load(B, 1).astype("int32"), dma_store(A, n))
    assert barriers(block(inner, store(B, host_load(A, 0), 0))) == ["VTAWriteBarrier A 0 1024"]


def test_the_host_hands_over_what_the_next_round_reads() -> None:
    i = Var("i", INT32)
    program = loop(i, 4, dma_load(A, i), store(A, 0, i))
    assert outline(lowered(program)) == [
        "for i {", "  [1] VTALoadBuffer2D", "  sync", "  A[]", "  VTAReadBarrier", "}",
    ]  # fmt: skip
    assert barriers(program) == ["VTAReadBarrier A 0 80"]


def test_a_read_after_a_wait_in_the_next_round_has_its_barrier_behind_the_wait() -> None:
    program = loop("i", 4, pragma("coproc_sync", dma_load(B, 0)), store(B, host_load(A, 0), 5), dma_store(A, 0))
    assert outline(lowered(program)) == [
        "push(2,1)",
        "for i {",
        "  [1] pop(2,1) VTALoadBuffer2D",
        "  sync",
        "  VTAWriteBarrier",
        "  B[]",
        "  [3] VTAStoreBuffer2D push(3,2) pop(3,2) push(2,1)",
        "  VTAReadBarrier",
        "}",
        "sync",
        "pop(2,1)",
    ]
