"""Statements inserted around others, all at once."""

import pytest

from tests.support.compiler.tir_build import block, call, loop, outline, when
from vta.passes.sync.insertions import Insertions, distinct
from vta.tir.dtype import BOOL
from vta.tir.expr import Var
from vta.tir.stmt import SeqStmt
from vta.tir.traverse import walk

COND = Var("c", BOOL)


def test_statements_stand_around_their_place_in_the_order_in_which_they_were_added() -> None:
    first, second = call("first"), call("second")
    body = block(first, second)
    plan = Insertions()
    plan.after(first, call("a"))
    plan.before(second, call("b"))
    plan.after(first, call("c"), call("d"))
    plan.before(first, call("e"))
    assert outline(plan.apply(body)) == ["e", "first", "a", "c", "d", "b", "second"]


def test_a_sequence_is_a_place_too() -> None:
    body = block(call("first"), call("second"))
    plan = Insertions()
    plan.before(body, call("a"))
    plan.after(body, call("b"))
    result = plan.apply(body)
    assert isinstance(result, SeqStmt)
    assert outline(result) == ["a", "first", "second", "b"]


def test_places_inside_of_places() -> None:
    inner = call("x")
    outer = loop("i", 4, inner)
    plan = Insertions()
    plan.after(inner, call("a"))
    plan.after(outer, call("b"))
    assert outline(plan.apply(outer)) == ["for i {", "  x", "  a", "}", "b"]


def test_a_condition_gets_its_other_side() -> None:
    plain, full = when(COND, call("x")), when(COND, call("y"), call("z"))
    plan = Insertions()
    plan.otherwise(plain, call("a"))
    plan.otherwise(full, call("b"))
    assert outline(plan.apply(block(plain, full))) == [
        "if {", "  x", "} else {", "  a", "}", "if {", "  y", "} else {", "  z", "  b", "}",
    ]  # fmt: skip


def test_nothing_inserted_leaves_the_program_alone() -> None:
    body = loop("i", 4, call("x"))
    assert Insertions().apply(body) is body


def test_one_statement_at_two_places_is_copied() -> None:
    shared = call("x")
    result = distinct(block(shared, loop("i", 4, shared)))
    assert outline(result) == ["x", "for i {", "  x", "}"]
    statements = [id(n) for n in walk(result) if n == shared]
    assert len(set(statements)) == 2


def test_distinct_statements_stay_the_same_objects() -> None:
    body = block(call("x"), call("x"))
    assert distinct(body) is body


@pytest.mark.parametrize("count", [1, 3])
def test_a_copy_for_every_further_place(count: int) -> None:
    shared = call("x")
    nested = distinct(block(*(loop("i", 2, shared) for _ in range(count))))
    assert len({id(n) for n in walk(nested) if n == shared}) == count
