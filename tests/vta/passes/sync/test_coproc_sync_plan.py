"""Where the host waits for the accelerator, and which caches it writes back or drops there."""

import random
from dataclasses import dataclass, field

import pytest

from isa.config import VTAConfig
from tests.support.compiler.tir_build import (
    alloc,
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
from vta.passes.sync.inject_coproc_sync import CoprocessorError, inject_coproc_sync
from vta.tir.buffer import Buffer
from vta.tir.dtype import BOOL, INT32
from vta.tir.expr import BufferLoad, Builtin, Call, Expr, IntImm, StringImm, Var
from vta.tir.stmt import (
    Allocate,
    AttrStmt,
    BufferStore,
    Evaluate,
    For,
    IfThenElse,
    SeqStmt,
    Stmt,
)
from vta.tir.traverse import walk

CONFIG = VTAConfig()
A, B, C = (buffer(name, (1024,), "int8") for name in "ABC")


def dma_load(source: Buffer, offset: int = 0, tiles: int = 4) -> Stmt:
    """A load of ``tiles`` input tiles."""
    return on(1, call("VTALoadBuffer2D", 0, source.data, offset, tiles, 1, tiles, 0, 0, 0, 0, 0, 2))


def dma_store(target: Buffer, offset: int = 0, tiles: int = 4) -> Stmt:
    """A store of ``tiles`` output tiles."""
    return on(3, call("VTAStoreBuffer2D", 0, 0, 4, target.data, offset, tiles, 1, tiles))


def synced(stmt: Stmt, *params: Buffer) -> list[str]:
    return outline(inject_coproc_sync(function(stmt, *(params or (A, B, C))), CONFIG).body)


def without_tokens(lines: list[str]) -> list[str]:
    kept = [" ".join(w for w in line.split() if not w.startswith(("push", "pop"))) for line in lines]
    return [line for line in kept if line]


def barriers(stmt: Stmt) -> list[tuple[str, str, object, object, object]]:
    """Symbol, buffer, bits, start and extent of every barrier in a lowered program."""
    found = []
    for node in walk(stmt):
        match node:
            case Call(op=Builtin.CALL_EXTERN, args=(StringImm(value=symbol), _, Var() as data, bits, low, extent)):
                if symbol.endswith("Barrier"):
                    found.append((symbol, data.name, number(bits), number(low), number(extent)))
            case _:
                continue
    return found


def number(expr: Expr) -> object:
    return expr.value if isinstance(expr, IntImm) else expr


def test_a_function_without_accelerator_work_stays_as_it_is() -> None:
    func = function(loop("i", 4, store(A, 0, 0)), A)
    assert inject_coproc_sync(func, CONFIG).body is func.body


def test_the_host_reads_after_the_accelerator_has_written() -> None:
    program = block(dma_store(A), store(B, host_load(A, 0), 0))
    assert synced(program) == ["[3] VTAStoreBuffer2D", "sync", "VTAWriteBarrier", "B[]"]
    assert barriers(inject_coproc_sync(function(program, A, B), CONFIG).body) == [("VTAWriteBarrier", "A", 8, 0, 64)]


def test_the_host_does_not_wait_for_memory_that_the_accelerator_only_reads() -> None:
    assert synced(block(dma_load(A), store(B, host_load(A, 0), 0))) == ["[1] VTALoadBuffer2D", "B[]", "sync"]


def test_the_host_waits_before_it_overwrites_what_the_accelerator_still_reads() -> None:
    assert synced(block(dma_load(A), store(A, 1, 0))) == ["[1] VTALoadBuffer2D", "sync", "A[]"]


def test_the_accelerator_reads_what_the_host_wrote_after_a_barrier_alone() -> None:
    program = block(store(A, 1, 0), dma_load(A, offset=2, tiles=3))
    assert synced(program) == ["A[]", "VTAReadBarrier", "[1] VTALoadBuffer2D", "sync"]
    assert barriers(inject_coproc_sync(function(program, A), CONFIG).body) == [("VTAReadBarrier", "A", 8, 32, 48)]


def test_work_after_the_last_wait_is_waited_for_at_the_end() -> None:
    program = block(dma_store(A), store(B, host_load(A, 0), 0), dma_store(C))
    assert without_tokens(synced(program)) == [
        "[3] VTAStoreBuffer2D",
        "sync",
        "VTAWriteBarrier",
        "B[]",
        "[3] VTAStoreBuffer2D",
        "sync",
    ]


def test_the_next_iteration_waits_at_the_end_of_the_body() -> None:
    program = loop("i", 4, store(B, host_load(A, 0), 0), dma_store(A))
    assert synced(program) == ["for i {", "  B[]", "  [3] VTAStoreBuffer2D", "  sync", "  VTAWriteBarrier", "}"]


def test_br_065_a_guarded_tail_is_waited_for_once() -> None:
    i = Var("i", INT32)
    program = loop(i, 3, on(2, "add"), when(i * 4 < 10, dma_store(A)))
    assert without_tokens(synced(program)) == ["for i {", "[2] add", "if {", "[3] VTAStoreBuffer2D", "}", "}", "sync"]


def test_br_065_a_program_of_tail_stores_alone_is_waited_for_once() -> None:
    assert synced(when(Var("c", BOOL), dma_store(A))) == ["if {", "  [3] VTAStoreBuffer2D", "}", "sync"]


def test_memory_that_both_use_in_a_loop_is_handed_over_and_back() -> None:
    cache = buffer("A", (1000,), "float32", "global.cache")
    i, j, k = (Var(name, INT32) for name in "ijk")
    host = store(cache, host_load(cache, i) + 1.0, i)
    coproc = loop(k, 8, loop(j, 10, on(1, store(cache, host_load(cache, j + k * 10) + 2.0, j))))
    body = inject_coproc_sync(function(alloc(cache, loop(i, Var("n", INT32), host, coproc))), CONFIG).body
    assert outline(body) == [
        "allocate A {",
        "  for i {",
        "    A[]",
        "    VTAReadBarrier",
        "    for k {",
        "      for j {",
        "        [1] A[]",
        "      }",
        "    }",
        "    sync",
        "    VTAWriteBarrier",
        "  }",
        "}",
    ]
    assert barriers(body) == [("VTAReadBarrier", "A", 32, 0, 80), ("VTAWriteBarrier", "A", 32, 0, 10)]


def test_dram_is_not_freed_while_the_accelerator_uses_it() -> None:
    middle = buffer("middle", (64,), "int8")
    program = block(alloc(middle, dma_store(middle), dma_load(middle)), on(2, "gemm"))
    assert without_tokens(synced(program)) == [
        "allocate middle {",
        "[3] VTAStoreBuffer2D",
        "[1] VTALoadBuffer2D",
        "sync",
        "}",
        "[2] gemm",
        "sync",
    ]


def test_a_pragma_makes_the_host_wait_after_its_statement() -> None:
    program = block(pragma("coproc_sync", dma_store(A)), dma_store(B))
    assert synced(program) == ["[3] VTAStoreBuffer2D", "sync", "[3] VTAStoreBuffer2D", "sync"]


def test_a_wait_at_the_very_end_is_not_repeated() -> None:
    assert synced(pragma("coproc_sync", dma_store(A))) == ["[3] VTAStoreBuffer2D", "sync"]


def test_a_conditional_wait_is_followed_by_an_unconditional_one() -> None:
    program = block(dma_load(A), when(Var("c", BOOL), pragma("coproc_sync", store(B, 1, 0))), on(2, "gemm"))
    assert synced(program) == [
        "[1] VTALoadBuffer2D",
        "if {",
        "  B[]",
        "  sync",
        "}",
        "sync",
        "[2] gemm",
        "sync",
    ]


def test_a_trimmed_loop_runs_at_most_twice() -> None:
    def extents(extent: object) -> list[str]:
        body = inject_coproc_sync(function(pragma("trim_loop", loop("i", extent, on(1, "load")))), CONFIG).body
        return [str(number(node.extent)) for node in walk(body) if isinstance(node, For)]

    assert extents(16) == ["2"]
    assert extents(1) == ["1"]


def test_the_trim_pragma_needs_a_loop() -> None:
    with pytest.raises(CoprocessorError) as caught:
        synced(pragma("trim_loop", on(1, "load")))
    assert str(caught.value) == (
        "the function: pragma trim_loop stands on no loop: expected a loop, got AttrStmt; "
        "put it on an axis of extent 2 or more"
    )


def test_work_for_another_accelerator_is_refused() -> None:
    scope = on(1, "load")
    assert isinstance(scope, AttrStmt)
    other = AttrStmt(thread("npu", 1, call("x"), tag="npu").node, scope.key, scope.value, scope.body)
    with pytest.raises(CoprocessorError) as caught:
        synced(other)
    assert str(caught.value) == (
        "the function: a coproc_scope of another accelerator: expected the axis with thread tag 'vta', "
        "got thread tag 'npu'"
    )


def random_mixed_program(rng: random.Random, depth: int) -> Stmt:
    """Return a program in which host and accelerator use the same three buffers."""
    statements: list[Stmt] = []
    for _ in range(rng.randint(1, 3)):
        kind, target, source = rng.random(), rng.choice((A, B, C)), rng.choice((A, B, C))
        if depth == 0 or kind < 0.5:
            host = store(target, host_load(source, 0), 0)
            statements.append(rng.choice((dma_load(source), dma_store(target), host)))
        elif kind < 0.75:
            extent = rng.randint(1, 3) if rng.random() < 0.7 else Var("n", INT32)
            statements.append(loop("i", extent, random_mixed_program(rng, depth - 1)))
        else:
            other = random_mixed_program(rng, depth - 1) if rng.random() < 0.5 else None
            statements.append(when(Var("c", BOOL), random_mixed_program(rng, depth - 1), other))
    return block(*statements)


@dataclass
class Machine:
    """Executes a lowered program with random conditions and counts, and checks every access of the host.

    ``queued_reads`` and ``queued_writes``: buffers that work since the last synchronise uses. ``stale``: buffers that
    the accelerator wrote and no barrier has shown to the host; ``dirty``: buffers that the host wrote and no barrier
    has handed over.
    """

    rng: random.Random
    queued_reads: set[str] = field(default_factory=set)
    queued_writes: set[str] = field(default_factory=set)
    stale: set[str] = field(default_factory=set)
    dirty: set[str] = field(default_factory=set)

    def run(self, stmt: Stmt) -> None:
        match stmt:
            case SeqStmt():
                for child in stmt.stmts:
                    self.run(child)
            case AttrStmt() | Allocate():
                self.run(stmt.body)
            case For():
                count = stmt.extent.value if isinstance(stmt.extent, IntImm) else self.rng.randint(0, 2)
                for _ in range(count):
                    self.run(stmt.body)
            case IfThenElse():
                case = stmt.then_case if self.rng.random() < 0.5 else stmt.else_case
                if case is not None:
                    self.run(case)
            case BufferStore(value=BufferLoad() as load):
                self.host_reads(load.buffer.name)
                self.host_writes(stmt.buffer.name)
            case Evaluate(value=Call(op=Builtin.COPROC_SYNC)):
                self.queued_reads.clear()
                self.queued_writes.clear()
            case Evaluate(value=Call(op=Builtin.CALL_EXTERN, args=(StringImm(value=symbol), *args))):
                self.call(symbol, [arg.name for arg in args if isinstance(arg, Var)])
            case _:
                pass

    def host_reads(self, name: str) -> None:
        assert name not in self.queued_writes, f"the host reads {name} too early"
        assert name not in self.stale, f"the host reads {name} from its cache"

    def host_writes(self, name: str) -> None:
        assert name not in self.queued_reads | self.queued_writes, f"the host overwrites {name} too early"
        self.dirty.add(name)

    def call(self, symbol: str, names: list[str]) -> None:
        match symbol, names:
            case "VTALoadBuffer2D", [name]:
                assert name not in self.dirty, f"the accelerator reads {name} behind the host's cache"
                self.queued_reads.add(name)
            case "VTAStoreBuffer2D", [name]:
                assert name not in self.dirty, f"the host's cache may overwrite {name}"
                self.queued_writes.add(name)
                self.stale.add(name)
            case "VTAWriteBarrier", [name]:
                assert name not in self.queued_writes, f"the barrier of {name} is too early"
                self.stale.discard(name)
            case "VTAReadBarrier", [name]:
                self.dirty.discard(name)
            case other:
                raise AssertionError(f"unexpected call {other}")


@pytest.mark.parametrize("seed", range(200))
def test_random_mixed_programs_see_the_right_memory(seed: int) -> None:
    rng = random.Random(seed)
    lowered = inject_coproc_sync(function(random_mixed_program(rng, 3), A, B, C), CONFIG).body
    for _ in range(6):
        machine = Machine(rng)
        machine.run(lowered)
        assert not machine.queued_reads | machine.queued_writes, "work is left at the end"
