"""Simplifying the expressions of statements with what loops and conditions say."""

from isa.config import VTAConfig
from tests.support.compiler.tir_build import block, buffer, call, function, loop, outline, store, thread, when
from vta.passes.generic.simplify import simplify
from vta.tir import ops
from vta.tir.expr import Builtin, Call, Var
from vta.tir.stmt import Evaluate, LetStmt, Stmt
from vta.tir.structural import require_equal
from vta.tir.traverse import walk

A = buffer("A", [4096])


def simplified(stmt: Stmt) -> Stmt:
    return simplify(function(stmt), VTAConfig()).body


def test_indices_are_simplified_within_their_loops() -> None:
    i, j = Var("i"), Var("j")
    body = loop(i, 4, loop(j, 16, store(A, 1, ops.floordiv(i * 16 + j, 16) * 16 + ops.floormod(i * 16 + j, 16))))
    require_equal(simplified(body), loop(i, 4, loop(j, 16, store(A, 1, i * 16 + j))))


def test_a_condition_that_always_holds_goes() -> None:
    i = Var("i")
    require_equal(simplified(loop(i, 16, when(ops.likely(i < 20), store(A, 1, i)))), loop(i, 16, store(A, 1, i)))


def test_a_condition_that_never_holds_takes_the_other_branch() -> None:
    i = Var("i")
    body = loop(i, 16, when(i > 20, call("f"), call("g", i)))
    require_equal(simplified(body), loop(i, 16, call("g", i)))
    assert outline(simplified(loop(i, 16, when(i > 20, call("f"))))) == ["for i {", "  0", "}"]


def test_branches_know_their_condition() -> None:
    i = Var("i")
    body = loop(i, 16, when(i < 8, call("f", ops.min(i, 9)), call("g", ops.max(i, 3))))
    require_equal(simplified(body), loop(i, 16, when(i < 8, call("f", i), call("g", i))))


def test_a_let_of_a_constant_or_variable_is_replaced() -> None:
    n, x = Var("n"), Var("x")
    require_equal(simplified(LetStmt(x, n + 0, call("f", x))), call("f", n))


def test_a_let_of_an_expression_stays_and_bounds_its_variable() -> None:
    i, x = Var("i"), Var("x")
    body = loop(i, 4, LetStmt(x, i * 2 + 1, call("f", ops.min(x, 7))))
    require_equal(simplified(body), loop(i, 4, LetStmt(x, i * 2 + 1, call("f", x))))


def test_threads_bound_their_variable() -> None:
    v = Var("v")
    found = simplified(thread(v, 2, call("f", ops.floordiv(v * 16 + 15, 16))))
    require_equal(found, thread(v, 2, call("f", v)))


def test_what_is_simple_stays_the_same_object() -> None:
    i = Var("i")
    body = loop(i, 4, when(i < 2, call("f", i)), block(call("g"), call("h", i * 3)))
    assert simplified(body) is body


def test_arguments_of_intrinsics_are_simplified() -> None:
    i = Var("i")
    pointer = A.access_ptr("r", "int32", offset=i * 16 + i * 16)
    nodes = walk(simplified(loop(i, 4, call("f", pointer))))
    [access] = [n for n in nodes if isinstance(n, Call) and n.op is Builtin.ACCESS_PTR]
    require_equal(Evaluate(access.args[2]), Evaluate(i * 32))


def test_a_thread_may_be_the_first_one_and_the_last_one() -> None:
    v = Var("v")
    for expr in (ops.max(v, 1), ops.min(v, 1)):
        body = thread(v, 3, call("f", expr))
        assert simplified(body) is body
    require_equal(simplified(thread(v, 2, call("f", ops.min(v, 1), ops.max(v, 0)))), thread(v, 2, call("f", v, v)))
