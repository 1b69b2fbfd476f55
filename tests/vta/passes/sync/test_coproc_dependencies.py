"""Dependency tokens: the traces that are known, and the rules that a device can check."""

import random
from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from isa.config import VTAConfig
from tests.support.compiler.tir_build import block, call, function, loop, on, outline, pragma, thread, when
from vta.passes.sync.dependencies import QueueError
from vta.passes.sync.inject_coproc_sync import inject_coproc_sync
from vta.tir.dtype import BOOL, INT32
from vta.tir.expr import LT, Builtin, Call, Expr, IntImm, Var
from vta.tir.stmt import AttrStmt, Evaluate, For, IfThenElse, SeqStmt, Stmt


def synced(stmt: Stmt) -> list[str]:
    return outline(inject_coproc_sync(function(stmt), VTAConfig()).body)


def test_vector_add_pushes_once_to_the_store() -> None:
    assert synced(block(on(2, "load_a", "load_b", "add"), on(3, "store"))) == [
        "[2] load_a load_b add push(2,3)",
        "[3] pop(2,3) store",
        "sync",
    ]


def test_virtual_threads_are_balanced_by_themselves() -> None:
    """Tokens inside are pushed and popped once per thread, those between inside and outside once."""
    inside = thread("v", 3, on(2, "load"), on(3, "store"))
    assert synced(block(on(3, "first"), inside, on(2, "last"))) == [
        "[3] first push(3,2)",
        "pop(3,2)",
        "virtual_thread {",
        "  [2] load push(2,3)",
        "  [3] pop(2,3) store",
        "}",
        "push(3,2)",
        "[2] pop(3,2) last",
        "sync",
    ]


def test_virtual_threads_in_a_loop_take_one_token_a_round() -> None:
    assert synced(loop("i", 4, thread("v", 3, on(1, "load"), on(2, "gemm"), on(3, "store")))) == [
        "push(2,1)",
        "for i {",
        "  pop(2,1)",
        "  virtual_thread {",
        "    [1] load push(1,2)",
        "    [2] pop(1,2) gemm push(2,3)",
        "    [3] pop(2,3) store",
        "  }",
        "  push(3,2)",
        "  pop(3,2)",
        "  push(2,1)",
        "}",
        "sync",
        "pop(2,1)",
    ]


def test_virtual_threads_without_work_are_no_step() -> None:
    assert synced(block(on(2, "a"), thread("v", 3, call("host")), on(3, "b"))) == [
        "[2] a push(2,3)", "virtual_thread {", "  host", "}", "[3] pop(2,3) b", "sync",
    ]  # fmt: skip


def test_matmul_links_the_loop_with_itself_and_its_neighbours() -> None:
    assert synced(block(on(2, "reset"), loop("ko", 4, on(1, "load"), on(2, "gemm")), on(3, "store"))) == [
        "[2] reset push(2,1)",
        "for ko {",
        "  [1] pop(2,1) load push(1,2)",
        "  [2] pop(1,2) gemm push(2,1)",
        "}",
        "push(2,3)",
        "pop(2,1)",
        "[3] pop(2,3) store",
        "sync",
    ]


def test_blocked_matmul_balances_the_outer_loop_after_the_final_sync() -> None:
    body = loop("o", 4, on(2, "reset"), loop("ko", 4, on(1, "load"), on(2, "gemm")), on(2, "alu"), on(3, "store"))
    assert synced(body) == [
        "push(3,2)",
        "for o {",
        "  [2] pop(3,2) reset push(2,1)",
        "  for ko {",
        "    [1] pop(2,1) load push(1,2)",
        "    [2] pop(1,2) gemm push(2,1)",
        "  }",
        "  pop(2,1)",
        "  [2] alu push(2,3)",
        "  [3] pop(2,3) store push(3,2)",
        "}",
        "sync",
        "pop(3,2)",
    ]


def test_a_virtual_thread_keeps_its_balancing_pop_inside_and_the_sync_outside() -> None:
    body = thread("cthread", 2, loop("y", 2, on(2, "reset"), on(3, "store")))
    assert synced(body) == [
        "virtual_thread {",
        "  push(3,2)",
        "  for y {",
        "    [2] pop(3,2) reset push(2,3)",
        "    [3] pop(2,3) store push(3,2)",
        "  }",
        "  pop(3,2)",
        "}",
        "sync",
    ]


def test_nested_loops_followed_by_a_store() -> None:
    nest = loop("i", 4, loop("j", 4, on(1, "load"), on(2, "gemm")))
    assert synced(block(nest, on(3, "store"))) == [
        "push(2,1)",
        "for i {",
        "  for j {",
        "    [1] pop(2,1) load push(1,2)",
        "    [2] pop(1,2) gemm push(2,1)",
        "  }",
        "}",
        "push(2,3)",
        "pop(2,1)",
        "[3] pop(2,3) store",
        "sync",
    ]


def test_threads_around_a_statement_and_a_loop() -> None:
    body = thread("cthread", 2, on(2, "store"), loop("i", 4, on(1, "store"), on(2, "store")))
    assert synced(body) == [
        "virtual_thread {",
        "  [2] store push(2,1)",
        "  for i {",
        "    [1] pop(2,1) store push(1,2)",
        "    [2] pop(1,2) store push(2,1)",
        "  }",
        "  pop(2,1)",
        "}",
        "sync",
    ]


def test_a_loop_after_the_initial_statement_is_balanced_at_the_end() -> None:
    assert synced(block(on(2, "init"), loop("i", 4, on(1, "load"), on(2, "gemm")))) == [
        "[2] init push(2,1)",
        "for i {",
        "  [1] pop(2,1) load push(1,2)",
        "  [2] pop(1,2) gemm push(2,1)",
        "}",
        "pop(2,1)",
        "sync",
    ]


def test_statements_of_one_module_need_no_token() -> None:
    assert synced(block(on(2, "a"), loop("i", 4, on(2, "b")), on(2, "c"))) == [
        "[2] a",
        "for i {",
        "  [2] b",
        "}",
        "[2] c",
        "sync",
    ]


def test_a_condition_takes_and_gives_its_tokens_outside() -> None:
    assert synced(block(on(1, "load"), when(Var("c", BOOL), on(2, "add")), on(3, "store"))) == [
        "[1] load push(1,2)",
        "pop(1,2)",
        "if {",
        "  [2] add",
        "}",
        "push(2,3)",
        "[3] pop(2,3) store",
        "sync",
    ]


def test_both_sides_of_a_condition_are_balanced_alone() -> None:
    either = when(Var("c", BOOL), block(on(1, "load"), on(2, "gemm")), on(2, "add"))
    assert synced(block(on(2, "reset"), either, on(3, "store"))) == [
        "[2] reset push(2,1)",
        "pop(2,1)",
        "if {",
        "  [1] load push(1,2)",
        "  [2] pop(1,2) gemm",
        "} else {",
        "  [2] add",
        "}",
        "push(2,3)",
        "[3] pop(2,3) store",
        "sync",
    ]


def test_a_condition_that_does_not_hold_passes_the_token_on() -> None:
    guarded = when(Var("c", BOOL), block(on(2, "add"), on(3, "store")))
    assert synced(block(on(1, "load"), guarded, on(3, "store"))) == [
        "[1] load push(1,2)",
        "pop(1,2)",
        "if {",
        "  [2] add push(2,3)",
        "  [3] pop(2,3) store",
        "} else {",
        "  push(2,3)",
        "  pop(2,3)",
        "}",
        "[3] store",
        "sync",
    ]


def test_store_and_load_are_linked_through_compute() -> None:
    assert synced(block(on(3, "store"), on(1, "load"))) == [
        "[3] store push(3,2) pop(3,2) push(2,1)",
        "[1] pop(2,1) load",
        "sync",
    ]
    assert synced(loop("i", 4, on(1, "load"), on(2, "gemm"), on(3, "store"))) == [
        "push(2,1)",
        "for i {",
        "  [1] pop(2,1) load push(1,2)",
        "  [2] pop(1,2) gemm push(2,3)",
        "  [3] pop(2,3) store push(3,2) pop(3,2) push(2,1)",
        "}",
        "sync",
        "pop(2,1)",
    ]


def test_no_token_crosses_a_synchronise() -> None:
    program = block(on(2, "reset"), pragma("coproc_sync", on(3, "store")), on(1, "load"), on(2, "gemm"))
    assert synced(program) == [
        "[2] reset push(2,3)",
        "[3] pop(2,3) store",
        "sync",
        "[1] load push(1,2)",
        "[2] pop(1,2) gemm",
        "sync",
    ]


def test_a_loop_that_ends_with_a_synchronise_is_not_linked_with_itself() -> None:
    assert synced(loop("i", 4, on(2, "add"), pragma("coproc_sync", on(3, "store")))) == [
        "for i {",
        "  [2] add push(2,3)",
        "  [3] pop(2,3) store",
        "  sync",
        "}",
    ]


def test_a_scope_of_no_module_is_refused() -> None:
    with pytest.raises(QueueError) as caught:
        synced(on(4, "load"))
    assert str(caught.value) == (
        "the function: coproc_scope names no module of the accelerator: "
        "expected 1 (load), 2 (compute), 3 (store), got 4"
    )


def random_program(rng: random.Random, depth: int) -> Stmt:
    """Return a program of accelerator statements, loops (of 0 to 3 iterations), conditions and synchronises."""
    statements: list[Stmt] = []
    for _ in range(rng.randint(1, 3)):
        kind = rng.random()
        if depth == 0 or kind < 0.4:
            statements.append(on(rng.randint(1, 3), "work"))
        elif kind < 0.65:
            extent = rng.randint(1, 3) if rng.random() < 0.7 else Var("n", INT32)
            statements.append(loop("i", extent, random_program(rng, depth - 1)))
        elif kind < 0.8:
            statements.append(when(Var("c", BOOL), random_program(rng, depth - 1)))
        elif kind < 0.93:
            statements.append(when(Var("c", BOOL), random_program(rng, depth - 1), random_program(rng, depth - 1)))
        else:
            statements.append(pragma("coproc_sync", on(rng.randint(1, 3), "work")))
    return block(*statements)


Event = tuple[str, int, int]


@dataclass
class Execution:
    """Runs a program with random conditions, and random counts of the loops that have no constant one."""

    rng: random.Random
    counts: dict[Var, int] = field(default_factory=dict)

    def events(self, stmt: Stmt, queue: int = 0) -> Iterator[Event]:
        match stmt:
            case SeqStmt():
                for child in stmt.stmts:
                    yield from self.events(child, queue)
            case AttrStmt(value=IntImm(value=own)):
                yield from self.events(stmt.body, own)
            case For():
                for _ in range(self.iterations(stmt.extent)):
                    yield from self.events(stmt.body, queue)
            case IfThenElse(else_case=other):
                if self.holds(stmt.condition):
                    yield from self.events(stmt.then_case, queue)
                elif other is not None:
                    yield from self.events(other, queue)
            case Evaluate(value=Call(op=Builtin.COPROC_SYNC)):
                yield "sync", 0, 0
            case Evaluate(value=Call(op=Builtin.COPROC_DEP_PUSH, args=(IntImm(value=a), IntImm(value=b)))):
                yield "push", a, b
            case Evaluate(value=Call(op=Builtin.COPROC_DEP_POP, args=(IntImm(value=a), IntImm(value=b)))):
                yield "pop", a, b
            case _:
                yield "work", queue, 0

    def iterations(self, extent: Expr) -> int:
        if isinstance(extent, IntImm):
            return extent.value
        assert isinstance(extent, Var)
        self.counts[extent] = self.rng.randint(0, 2)
        return self.counts[extent]

    def holds(self, condition: Expr) -> bool:
        match condition:
            case LT(a=Var() as extent):
                return self.counts[extent] < 1
            case _:
                return self.rng.random() < 0.5


def check_order(trace: list[Event]) -> int:
    """Assert that tokens balance and that all work of a launch is ordered; return the number of launches."""
    known: dict[int, set[int]] = defaultdict(set)
    tokens: dict[tuple[int, int], deque[set[int]]] = defaultdict(deque)
    done: list[int] = []
    launches = 0
    for number, (kind, a, b) in enumerate(trace):
        match kind:
            case "work":
                assert set(done) <= known[a], f"event {number} of {trace} is not ordered after all before it"
                done.append(number)
                known[a].add(number)
            case "push":
                assert abs(a - b) == 1, f"no tokens go from {a} to {b}"
                tokens[a, b].append(set(known[a]))
            case "pop":
                assert tokens[a, b], f"event {number} of {trace} pops a token that nobody pushed"
                known[b] |= tokens[a, b].popleft()
            case _:
                launches += 1
                rest = trace[number + 1 :]
                if all(event[0] == "pop" for event in rest):
                    left = [edge for edge, queue in tokens.items() for _ in queue]
                    assert sorted(left) == sorted((x, y) for _, x, y in rest)
                    return launches
                assert not any(tokens.values()), f"a token outlives the synchronise {number} of {trace}"
                known.clear()
                done.clear()
    raise AssertionError("the program ends without a synchronise")


@pytest.mark.parametrize("seed", range(300))
def test_random_programs_are_ordered_and_balanced(seed: int) -> None:
    rng = random.Random(seed)
    lowered = inject_coproc_sync(function(random_program(rng, 3)), VTAConfig()).body
    for _ in range(4):
        trace = list(Execution(rng).events(lowered))
        if any(event[0] == "work" for event in trace):
            check_order(trace)


def test_a_loop_of_no_iterations_passes_tokens_on_as_one_of_unknown_length_does() -> None:
    def around(extent: Expr | int) -> list[str]:
        return synced(block(on(2, "a"), loop("i", extent, on(2, "b"), on(3, "c")), on(3, "d")))

    assert around(0) == around(Var("n", INT32)) != around(1)
    assert "if {" in around(0)
    assert "if {" not in around(1)
