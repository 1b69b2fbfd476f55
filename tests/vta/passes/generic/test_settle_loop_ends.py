"""Ends of loops that are elements of memory."""

from isa.config import VTAConfig
from tests.support.compiler.tir_build import buffer, function, loop, store
from vta.passes.generic.settle_loop_ends import settle_loop_ends
from vta.tir.expr import Var
from vta.tir.stmt import LetStmt, Stmt
from vta.tir.structural import require_equal

A, N = buffer("A", [4]), Var("n")


def settled(stmt: Stmt) -> Stmt:
    return settle_loop_ends(function(stmt, A), VTAConfig()).body


def test_ends_that_read_memory_are_read_once_before_the_loop() -> None:
    i = Var("i")
    low, extent = Var("i.min"), Var("i.extent")
    body = loop(i, A.load(0) + N, store(A, i, 0), low=A.load(1))
    expected = LetStmt(low, A.load(1), LetStmt(extent, A.load(0) + N, loop(i, extent, store(A, i, 0), low=low)))
    require_equal(settled(body), expected)


def test_other_loops_stay_the_same_object() -> None:
    body = loop(Var("i"), N, loop(Var("j"), 4, store(A, 0, 0)), low=N + 1)
    assert settled(body) is body
