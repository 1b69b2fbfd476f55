"""Life times: where memory is touched first and last, at the level of its allocation."""

from tests.support.compiler.tir_build import alloc, block, buffer, call, loop, store, thread, when
from vta.passes.storage.liveness import PointKind, liveness
from vta.tir.expr import Var
from vta.tir.stmt import For, ForKind, Stmt

A, B = buffer("A", [8], "int32", "local.x"), buffer("B", [8], "int32", "local.x")


def lives(body: Stmt) -> list[tuple[str, list[str], list[str]]]:
    """(kind, memory that begins, memory that ends) at every point."""
    return [(p.kind.value, [v.name for v in p.begins], [v.name for v in p.ends]) for p in liveness(body).points]


def test_a_statement_begins_what_it_touches_first_and_ends_what_it_touches_last() -> None:
    body = alloc(A, alloc(B, block(store(A, 1, 0), store(B, A.load(0), 0), store(B, 2, 1))))
    assert lives(body) == [("whole", ["A"], []), ("whole", ["B"], ["A"]), ("whole", [], ["B"])]


def test_memory_from_outside_is_in_use_for_a_whole_loop() -> None:
    body = alloc(A, loop("i", 4, store(A, 1, 0), alloc(B, store(B, A.load(0), 0))))
    assert lives(body) == [("begin", ["A"], ["A"]), ("whole", ["B"], ["B"]), ("end", ["A"], ["A"])]


def test_loads_in_headers_count_for_the_statement() -> None:
    body = alloc(A, block(store(A, 1, 0), when(A.load(0) > 0, store(B, 1, 0))))
    assert lives(body) == [("whole", ["A"], []), ("begin", [], ["A"]), ("end", [], ["A"])]


def test_threads_and_parallel_loops_are_statements_other_attributes_are_not() -> None:
    [begin, whole, end] = liveness(thread("v", 2, alloc(A, store(A, 1, 0)))).points
    assert [begin.kind, whole.kind, end.kind] == [PointKind.BEGIN, PointKind.WHOLE, PointKind.END]
    [begin, *_] = liveness(loop("i", 2, alloc(A, store(A, 1, 0)), kind=ForKind.PARALLEL)).points
    assert isinstance(begin.stmt, For)


def test_a_bare_address_is_noticed_an_access_pointer_is_none() -> None:
    assert liveness(alloc(A, call("f", A.data))).addressed == {A.data}
    assert liveness(alloc(A, call("f", A.access_ptr("r", "int32", offset=Var("n"))))).addressed.isdisjoint({A.data})


def test_operands_count_in_the_order_of_evaluation() -> None:
    body = alloc(A, alloc(B, store(A, B.load(0) + A.load(1), 0)))
    assert [v.name for v in liveness(body).points[0].touched] == ["B", "A"]
