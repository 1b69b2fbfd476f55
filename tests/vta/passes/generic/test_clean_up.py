"""RemoveNoOp, HoistIfThenElse, UnrollLoop, copies with fresh variables, the debug flag."""

import numpy as np
import pytest

from isa.config import VTAConfig
from isa.origin import Origin
from tests.support.compiler.tir_build import (
    alloc,
    block,
    buffer,
    call,
    function,
    loop,
    on,
    outline,
    pragma,
    realize,
    store,
    when,
)
from vta.passes.fresh_definitions import instances, with_fresh_definitions
from vta.passes.generic.remove_no_op import remove_no_op
from vta.passes.host.hoist_if_then_else import hoist_if_then_else
from vta.passes.host.set_debug_mode import DebugFlagError, set_debug_mode
from vta.passes.host.unroll_loop import unroll_loop
from vta.tir import ops
from vta.tir.buffer import Buffer
from vta.tir.dtype import BOOL
from vta.tir.expr import Expr, IntImm, Var, const
from vta.tir.func import Pass
from vta.tir.interpreter.run import run_func
from vta.tir.printer import to_text
from vta.tir.stmt import AssertStmt, Evaluate, For, ForKind, IfThenElse, LetStmt, SeqStmt, Stmt
from vta.tir.structural import require_equal
from vta.tir.traverse import walk

CONFIG = VTAConfig()
NOTHING = Evaluate(IntImm(0))
TRUE, FALSE = const(1, BOOL), const(0, BOOL)
A = buffer("A", [64])


def after(step: Pass, body: Stmt, *params: Buffer) -> Stmt:
    return step(function(body, *params), CONFIG).body


# --- RemoveNoOp ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "stmt",
    [
        loop("i", 0, store(A, 1, 0)),
        loop("i", 4, NOTHING),
        Evaluate(Var("n") * 2),
        Evaluate(ops.exp(const(1.0, "float32"))),
        when(Var("n") > 0, NOTHING),
        when(FALSE, store(A, 1, 0)),
        LetStmt(Var("x"), Var("n") + 1, NOTHING),
        pragma("alu", NOTHING),
        alloc(A, NOTHING),
        realize(A, [(0, 4)], NOTHING),
        SeqStmt((NOTHING, SeqStmt((NOTHING, NOTHING)))),
    ],
)
def test_what_does_nothing_goes(stmt: Stmt) -> None:
    assert after(remove_no_op, stmt) == NOTHING


def test_what_does_something_stays_the_same_object() -> None:
    n, v = Var("n"), Var("v")
    let = LetStmt(v, n, call("f", v))
    body = block(loop("i", 4, call("f")), when(n > 0, call("g"), call("h")), alloc(A, store(A, 1, 0)), let)
    assert after(remove_no_op, body) is body


def test_sequences_become_flat() -> None:
    f, g, h = call("f"), call("g"), call("h")
    assert after(remove_no_op, SeqStmt((f, SeqStmt((g, NOTHING)), SeqStmt((h, h))))) == SeqStmt((f, g, h, h))


def test_a_known_condition_takes_its_branch() -> None:
    assert after(remove_no_op, when(TRUE, call("f"), call("g"))) == call("f")
    assert after(remove_no_op, when(FALSE, call("f"), call("g"))) == call("g")


def test_an_empty_else_goes() -> None:
    n = Var("n")
    assert after(remove_no_op, when(n > 0, call("f"), NOTHING)) == when(n > 0, call("f"))


def test_an_empty_then_with_an_else_stays() -> None:
    body = when(Var("n") > 0, NOTHING, call("f"))
    assert after(remove_no_op, body) is body


def test_an_unused_let_goes_unless_its_value_has_an_effect() -> None:
    n, x = Var("n"), Var("x")
    assert after(remove_no_op, LetStmt(x, n + 1, call("f"))) == call("f")
    body = LetStmt(x, call("g").value, call("f"))
    assert after(remove_no_op, body) is body


def test_an_assertion_that_holds_goes() -> None:
    assert after(remove_no_op, AssertStmt(TRUE, "text", call("f"))) == call("f")


# --- HoistIfThenElse -------------------------------------------------------------------------------------------------


def test_a_condition_that_the_loop_does_not_change_is_tested_once() -> None:
    n = Var("n")
    assert outline(after(hoist_if_then_else, loop("i", 4, loop("j", 4, when(n > 0, call("f")))))) == [
        "if {", "  for i {", "    for j {", "      f", "    }", "  }", "}",
    ]  # fmt: skip


def test_a_condition_that_depends_on_the_loop_memory_or_a_call_stays_inside() -> None:
    i = Var("i")
    for condition in (i > 0, A.load(0) > 0, call("f").value > 0):
        body = loop(i, 4, when(condition, call("g")))
        assert after(hoist_if_then_else, body) is body
    both = loop(i, 4, when(i > 0, call("g"), call("h")))
    assert after(hoist_if_then_else, both) is both


def test_both_ways_of_a_condition_get_a_loop_of_their_own() -> None:
    n, i = Var("n"), Var("i")
    body = after(hoist_if_then_else, loop(i, 4, when(n > 0, call("g", i), call("h", i))))
    assert outline(body) == ["if {", "  for i {", "    g", "  }", "} else {", "  for i {", "    h", "  }", "}"]
    loops = [node.loop_var for node in walk(body) if isinstance(node, For)]
    assert loops[0] is not loops[1]


def test_the_first_parts_of_a_conjunction_are_tested_outside() -> None:
    n, i = Var("n"), Var("i")
    body = loop(i, 4, when(ops.all(n > 0, n < 9, i < n, n != 5), call("g")))
    expected = when(ops.all(n > 0, n < 9), loop(i, 4, when(ops.all(i < n, n != 5), call("g"))))
    require_equal(after(hoist_if_then_else, body), expected)
    with_else = loop(i, 4, when(ops.all(n > 0, i < n), call("g"), call("h")))
    assert after(hoist_if_then_else, with_else) is with_else


# --- UnrollLoop ---------------------------------------------------------------------------------------


def test_an_unrolled_loop_is_written_out() -> None:
    i = Var("i")
    body = loop(i, 3, store(A, i * 5, i), kind=ForKind.UNROLLED, low=2)
    result = np.zeros(64, np.int32)
    unrolled = unroll_loop(function(body, A), CONFIG)
    assert isinstance(unrolled.body, SeqStmt)
    assert len(unrolled.body.stmts) == 3
    run_func(unrolled, [result])
    assert result[:6].tolist() == [0, 0, 10, 15, 20, 0]


def test_nested_unrolled_loops_have_their_own_variables() -> None:
    i, j, x = Var("i"), Var("j"), Var("x")
    inner = loop(j, 2, LetStmt(x, i + j, call("f", x)))
    body = after(unroll_loop, loop(i, 2, inner, kind=ForKind.UNROLLED))
    defined = [n.loop_var if isinstance(n, For) else n.var for n in walk(body) if isinstance(n, For | LetStmt)]
    assert len(defined) == 4
    assert len({id(v) for v in defined}) == 4


def test_an_unrolled_loop_of_unknown_extent_is_a_loop() -> None:
    body = after(unroll_loop, loop("i", Var("n"), call("f"), kind=ForKind.UNROLLED))
    assert isinstance(body, For)
    assert body.kind is ForKind.SERIAL


def test_an_unrolled_loop_without_iterations_does_nothing() -> None:
    assert after(unroll_loop, loop("i", 0, call("f"), kind=ForKind.UNROLLED)) == NOTHING


def test_the_loops_of_alu_stages_are_not_unrolled() -> None:
    body = after(unroll_loop, on(2, pragma("alu", loop("i", 4, store(A, 1, 0), kind=ForKind.UNROLLED))))
    [nest] = [n for n in walk(body) if isinstance(n, For)]
    assert nest.kind is ForKind.SERIAL


def test_a_loop_of_too_many_steps_is_not_unrolled() -> None:
    for extent, kind in ((4096, None), (4097, ForKind.SERIAL)):
        body = loop("i", extent, block(call("f"), call("g")), kind=ForKind.UNROLLED)
        result = after(unroll_loop, body)
        assert (result.kind if isinstance(result, For) else None) is kind


def test_a_pragma_lets_small_loops_be_unrolled() -> None:
    nest = loop("i", 4, loop("j", 3, call("f")), call("g"))
    unrolled = after(unroll_loop, pragma("auto_unroll_max_step", nest, value=12))
    assert outline(unrolled) == ["for i {", "  f", "  f", "  f", "  g", "}"]
    assert outline(after(unroll_loop, pragma("auto_unroll_max_step", nest, value=16))) == ["f", "f", "f", "g"] * 4
    assert outline(after(unroll_loop, pragma("auto_unroll_max_step", nest, value=0))) == outline(nest)


def test_unrolling_that_is_left_to_the_native_compiler_does_nothing() -> None:
    nest = loop("i", 4, call("f"))
    left = pragma("auto_unroll_max_step", pragma("unroll_explicit", nest, value=0), value=16)
    assert outline(after(unroll_loop, left)) == outline(nest)


def test_a_pragma_does_not_unroll_kernels() -> None:
    kernel = on(2, loop("i", 4, call("f")))
    assert outline(after(unroll_loop, pragma("auto_unroll_max_step", kernel, value=16))) == outline(kernel)


def test_unrolling_keeps_origins() -> None:
    origin = Origin("stage", "file.py:1")
    i = Var("i")
    body = For(i, const(0), const(2), Evaluate(call("f", i).value, origin), ForKind.UNROLLED)
    unrolled = after(unroll_loop, body)
    assert isinstance(unrolled, SeqStmt)
    assert [stmt.origin for stmt in unrolled.stmts] == [origin, origin]


# --- copies ----------------------------------------------------------------------------------------------------------


def test_instances_replace_the_variable_and_share_no_definition() -> None:
    v = Var("v")
    memory = buffer("m", [4], "int32", "local")
    stmt = alloc(memory, loop("i", 4, store(memory, v, 0)))
    copies = instances(stmt, v, [const(1), const(2)])
    assert copies[0] == alloc(memory, copies[0].body)
    require_equal(block(copies[0]), block(with_fresh_definitions(copies[0])))
    assert {id(n.buffer.data) for c in copies for n in walk(c) if hasattr(n, "buffer")} != {id(memory.data)}
    assert instances(stmt, v, []) == []


def test_a_statement_that_defines_nothing_is_its_own_fresh_copy() -> None:
    stmt = call("f", Var("n"))
    assert with_fresh_definitions(stmt) is stmt


# --- the debug flag --------------------------------------------------------------------------------------------------


def test_the_debug_flag_is_set_first() -> None:
    body = after(set_debug_mode(6), call("f"))
    assert to_text(body).splitlines()[0] == (
        '@tir.call_extern("VTASetDebugMode", @tir.tvm_thread_context(@tir.vta.command_handle(, dtype=handle), '
        "dtype=handle), 6, dtype=int32)"
    )
    assert outline(body) == ["VTASetDebugMode", "f"]


def test_no_debug_flag_changes_nothing() -> None:
    func = function(call("f"))
    assert set_debug_mode(0)(func, CONFIG) is func


@pytest.mark.parametrize("flag", [-1, 1 << 31])
def test_a_flag_that_the_runtime_cannot_take_is_refused(flag: int) -> None:
    with pytest.raises(DebugFlagError) as error:
        set_debug_mode(flag)
    assert str(error.value) == (
        f"the function: debug_flag: expected a sum of the runtime's flag bits, 0 to 2147483647, got {flag}"
    )


def test_conditions_are_expressions() -> None:
    condition: Expr = Var("n") > 0
    assert isinstance(when(condition, call("f")), IfThenElse)


def test_a_loop_of_one_iteration_stays_and_one_of_none_goes() -> None:
    body = loop("i", 1, call("f"))
    assert after(remove_no_op, body) is body
    for extent in (0, -1):
        assert after(remove_no_op, loop("i", extent, call("f"))) == NOTHING


def test_a_sequence_of_one_statement_is_that_statement() -> None:
    only = call("f")
    assert after(remove_no_op, SeqStmt((only,))) is only
    two = SeqStmt((only, call("g")))
    assert after(remove_no_op, two) is two
