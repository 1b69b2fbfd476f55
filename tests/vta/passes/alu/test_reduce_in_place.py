"""Reductions of windows where these lie: what becomes of them, and which stay as they are."""

import pytest

from isa.config import VTAConfig
from tests.support.compiler.tir_build import block, buffer, function, loop, pragma, realize, store, when
from vta.passes.alu.reduce_in_place import reduce_in_place
from vta.tir import ops
from vta.tir.buffer import Buffer
from vta.tir.expr import Add, Expr, Max, Min, Var, const
from vta.tir.stmt import For, Stmt
from vta.tir.structural import require_equal

X, P = buffer("x", [24, 6], scope="local.acc_buffer"), buffer("p", [8, 2], scope="local.acc_buffer")
Y = buffer("y", [8, 2])
N = Var("n")


def update(
    *, step: int = 3, start: int = -(1 << 31), combine: type[Max | Min] = Max, source: Buffer = X, guard: bool = False
) -> Stmt:
    """Return the windows of ``step`` numbers apart, 3 wide and 2 high, reduced into P from place n on."""
    i, j, k, m = Var("i"), Var("j"), Var("k"), Var("m")
    value = combine(P.load(i + N, j), source.load((i + N) * step + k, j * 2 + m))
    stored: Stmt = store(P, value, i + N, j)
    if guard:
        stored = when(ops.likely(i + N < 7), stored)
    row, column = Var("row"), Var("column")
    filled = loop(row, 4, loop(column, 2, store(P, start, row + N, column)))
    return block(filled, loop(k, 3, loop(m, 2, loop(i, 4, loop(j, 2, stored)))))


def whole(reduction: Stmt, *behind: Stmt, name: str = "alu_in_place") -> Stmt:
    return realize(P, [(N, 4), (0, 2)], pragma(name, reduction), *behind)


READ = store(Y, P.load(N + 2, 1) + 1, 0, 0)


def nest(loops: list[tuple[Var, int]], row: Expr, column: Expr, place: tuple[Expr, Expr]) -> Stmt:
    body: Stmt | For = store(X, Max(X.load(*place), X.load(row, column)), *place)
    for var, extent in reversed(loops):
        body = loop(var, extent, body)
    return pragma("alu", body)


def test_all_numbers_but_the_first_go_to_the_first_and_readers_find_it_there() -> None:
    found = reduce_in_place(function(whole(update(), READ), Y), VTAConfig()).body
    i, j, k, m, i2, j2, m2 = (Var(name) for name in ("i", "j", "k", "m", "i", "j", "m"))
    place, place2 = (i * 3 + N * 3, j * 2), (i2 * 3 + N * 3, j2 * 2)
    expected = block(
        nest([(k, 2), (m, 2), (i, 4), (j, 2)], (i + N) * 3 + (k + 1), j * 2 + m, place),
        nest([(m2, 1), (i2, 4), (j2, 2)], Add((i2 + N) * 3, const(0)), j2 * 2 + (m2 + 1), place2),
        store(Y, X.load(N * 3 + 6, 2) + 1, 0, 0),
    )
    require_equal(found, expected)


def test_conditions_of_incomplete_tiles_stay_around_each_operation() -> None:
    found = reduce_in_place(function(whole(update(guard=True), READ), Y), VTAConfig()).body
    assert str(found).count("likely") == 2
    assert "realize" not in str(found)


@pytest.mark.parametrize(
    ("reduction", "behind"),
    [
        (update(step=2), READ),  # windows overlap
        (update(start=-128), READ),  # a window of less would be -128
        (update(combine=Min), READ),
        (update(source=buffer("z", [24, 6])), READ),  # in memory
        (update(), block(READ, store(Y, X.load(0, 0), 1, 0))),  # read by another one
        (update(), block(READ, store(P, 0, N, 0))),  # stored again
        (update(source=P), READ),
    ],
)
def test_others_stay_as_they_are(reduction: Stmt, behind: Stmt) -> None:
    found = reduce_in_place(function(whole(reduction, behind), Y), VTAConfig()).body
    require_equal(found, whole(reduction, behind, name="alu"))


def test_a_program_without_the_pragma_is_the_same_object() -> None:
    func = function(whole(update(), READ, name="alu"), Y)
    assert reduce_in_place(func, VTAConfig()) is func
