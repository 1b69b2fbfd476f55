"""How much is written out: what the page on the compiler promises, at its limits and one beyond."""

import pytest

from isa.config import VTAConfig
from tests.support.compiler.tir_build import block, buffer, function, loop, on, pragma, store
from vta.passes.host.unroll_loop import unroll_loop
from vta.tir.expr import Var
from vta.tir.stmt import BufferStore, For, ForKind, Stmt
from vta.tir.traverse import walk

LIMIT = 8192
A = buffer("A", [2 * LIMIT])


def unrolled(body: Stmt) -> Stmt:
    return unroll_loop(function(body, A), VTAConfig()).body


def loops(body: Stmt) -> list[For]:
    return [node for node in walk(body) if isinstance(node, For)]


def stores(body: Stmt) -> int:
    return sum(isinstance(node, BufferStore) for node in walk(body))


@pytest.mark.parametrize(("extent", "inside"), [(LIMIT, 1), (LIMIT // 2, 2), (1, LIMIT), (2730, 3)])
def test_up_to_the_limit_a_marked_loop_is_written_out(extent: int, inside: int) -> None:
    i = Var("i")
    after = unrolled(loop(i, extent, block(*(store(A, n, i + n) for n in range(inside))), kind=ForKind.UNROLLED))
    assert loops(after) == []
    assert stores(after) == extent * inside <= LIMIT


@pytest.mark.parametrize(("extent", "inside"), [(LIMIT + 1, 1), (LIMIT // 2 + 1, 2), (1, LIMIT + 1), (2731, 3)])
def test_one_more_stays_a_loop(extent: int, inside: int) -> None:
    i = Var("i")
    after = unrolled(loop(i, extent, block(*(store(A, n, i + n) for n in range(inside))), kind=ForKind.UNROLLED))
    [kept] = loops(after)
    assert kept.kind is ForKind.SERIAL
    assert stores(after) == inside


@pytest.mark.parametrize(("rows", "written"), [(128, True), (129, False)])
def test_nests_count_what_they_become(rows: int, written: bool) -> None:
    i, j = Var("i"), Var("j")
    inner = loop(j, 64, store(A, 1, i * 64 + j), kind=ForKind.UNROLLED)
    after = unrolled(loop(i, rows, inner, kind=ForKind.UNROLLED))
    assert stores(after) == (rows * 64 if written else 64)
    assert len(loops(after)) == (0 if written else 1)


@pytest.mark.parametrize(("most", "written"), [(24, True), (23, False)])
def test_small_loops_are_chosen_up_to_the_pragmas_number(most: int, written: bool) -> None:
    i = Var("i")
    body = loop(i, 12, block(store(A, 1, i), store(A, 2, i + 12)))
    after = unrolled(pragma("auto_unroll_max_step", body, value=most))
    assert (loops(after) == []) is written


def nested(depth: int) -> Stmt:
    """A loop of two iterations with ``depth`` loops of one in each other inside."""
    i = Var("i")
    body: Stmt = store(A, 1, i)
    for _ in range(depth):
        body = loop("j", 1, body)
    return loop(i, 2, body)


@pytest.mark.parametrize(
    ("most", "inside", "written"),
    [(None, 8, True), (None, 9, False), (2, 2, True), (2, 3, False), (0, 0, True), (0, 1, False)],
)
def test_loops_are_chosen_up_to_a_depth(most: int | None, inside: int, written: bool) -> None:
    body = nested(inside) if most is None else pragma("auto_unroll_max_depth", nested(inside), value=most)
    after = unrolled(pragma("auto_unroll_max_step", body, value=16))
    assert stores(after) == (2 if written else 1)


@pytest.mark.parametrize(("extent", "written"), [(5, True), (6, False)])
def test_short_loops_are_chosen_by_their_iterations(extent: int, written: bool) -> None:
    body = loop("i", extent, *(store(A, 1, n) for n in range(9)))
    after = unrolled(pragma("auto_unroll_max_extent", body, value=5))
    assert (loops(after) == []) is written


def test_nothing_is_chosen_without_a_pragma_or_beyond_it() -> None:
    body = loop("i", 1, store(A, 1, 0))
    assert unrolled(body) is body
    chosen = pragma("auto_unroll_max_step", on(2, loop("i", 1, store(A, 1, 0))), value=8)
    assert len(loops(unrolled(chosen))) == 1
