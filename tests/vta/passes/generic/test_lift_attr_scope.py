"""Scopes move out of loops and conditions, and neighbours that agree share one."""

import pytest

from isa.config import VTAConfig
from tests.support.compiler.tir_build import (
    AXIS,
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
    thread,
    when,
)
from vta.passes.coproc_axis import uop_scope
from vta.passes.generic.lift_attr_scope import lift_attr_scope
from vta.tir.dtype import BOOL, INT32
from vta.tir.expr import Builtin, Call, IntImm, Var
from vta.tir.scopes import ACC_SCOPE, ALU_SYMBOL, GEMM_SYMBOL
from vta.tir.stmt import AttrKey, Evaluate, LetStmt, Stmt

CONFIG = VTAConfig()
COND = Var("c", BOOL)


def lifted(stmt: Stmt, key: AttrKey = AttrKey.COPROC_SCOPE) -> list[str]:
    return outline(lift_attr_scope(key)(function(stmt), CONFIG).body)


def gemm(reset: int = 0, mode: int = 0) -> Stmt:
    args = (IntImm(mode), IntImm(reset), *(IntImm(0) for _ in range(6)))
    return uop_scope(AXIS, GEMM_SYMBOL, Evaluate(Call(INT32, Builtin.UOP_PUSH, args)))


def alu() -> Stmt:
    return uop_scope(AXIS, ALU_SYMBOL, call("alu"))


def test_a_scope_leaves_a_loop_nest() -> None:
    assert lifted(loop("i", 4, loop("j", 4, on(2, "gemm")))) == ["[2] for i { for j { gemm } }"]


def test_neighbours_of_one_module_share_a_scope() -> None:
    assert lifted(block(on(1, "a"), on(1, "b"), on(2, "c"))) == ["[1] a b", "[2] c"]


def test_a_loop_whose_statements_all_agree_is_in_the_scope() -> None:
    assert lifted(block(loop("i", 4, on(1, "a"), on(1, "b")), on(1, "c"))) == ["[1] for i { a b } c"]


def test_a_loop_whose_statements_differ_stays_outside() -> None:
    assert lifted(loop("i", 4, on(1, "a"), on(2, "b"))) == ["for i {", "  [1] a", "  [2] b", "}"]


def test_statements_without_a_scope_separate_runs() -> None:
    assert lifted(block(on(1, "a"), call("host"), on(1, "b"))) == ["[1] a", "host", "[1] b"]


def test_a_statement_without_a_scope_keeps_the_others_below_the_loop() -> None:
    assert lifted(loop("i", 4, call("host"), on(1, "a"), on(1, "b"))) == ["for i {", "  host", "  [1] a b", "}"]


def test_a_condition_without_else_is_passed() -> None:
    assert lifted(block(when(COND, on(1, "a")), on(1, "b"))) == ["[1] if { a } b"]


def test_both_sides_of_a_condition_must_agree() -> None:
    assert lifted(when(COND, on(1, "a"), on(1, "b"))) == ["[1] if { a } else { b }"]
    assert lifted(when(COND, on(1, "a"), on(2, "b"))) == ["if {", "  [1] a", "} else {", "  [2] b", "}"]
    assert lifted(when(COND, on(1, "a"), call("host"))) == ["if {", "  [1] a", "} else {", "  host", "}"]


def test_an_allocation_keeps_the_scope_inside() -> None:
    memory = buffer("b", (16,), "int32", ACC_SCOPE)
    assert lifted(loop("i", 4, alloc(memory, on(2, "a"), on(2, "b")))) == [
        "for i {",
        "  allocate b {",
        "    [2] a b",
        "  }",
        "}",
    ]


def test_other_attributes_and_lets_are_passed() -> None:
    assert lifted(pragma("alu", on(2, "a"))) == ["[2] pragma_alu { a }"]
    assert lifted(thread("t", 2, on(2, "a"))) == ["[2] virtual_thread { a }"]
    assert lifted(LetStmt(Var("x", INT32), IntImm(3), on(2, "a"))) == ["[2] let x { a }"]


def test_a_scope_is_not_lifted_over_a_wait() -> None:
    assert lifted(block(pragma("coproc_sync", loop("i", 4, on(3, "a"))), on(3, "b"))) == [
        "pragma_coproc_sync {",
        "  [3] for i { a }",
        "}",
        "[3] b",
    ]


def test_what_the_host_reads_from_memory_stays_outside_of_the_scope() -> None:
    memory = buffer("n", (4,), "int32")
    count = host_load(memory, 0)
    assert lifted(loop("i", count, on(1, "a"))) == ["for i {", "  [1] a", "}"]
    assert lifted(when(count < 3, on(1, "a"))) == ["if {", "  [1] a", "}"]
    assert lifted(LetStmt(Var("x", INT32), count, on(1, "a"))) == ["let x {", "  [1] a", "}"]


def test_a_scope_inside_of_its_like_disappears() -> None:
    assert lifted(on(1, block(on(1, "a"), on(1, "b")))) == ["[1] a b"]
    assert lifted(on(1, on(2, "a"))) == ["[1] [2] a"]


def test_a_program_without_scopes_stays_the_same_object() -> None:
    body = loop("i", 4, call("a"), when(COND, call("b"), call("c")))
    assert lift_attr_scope(AttrKey.COPROC_SCOPE)(function(body), CONFIG).body is body


def test_a_gemm_nest_is_one_kernel() -> None:
    nest = loop("co", 4, loop("ci", 4, gemm()))
    assert lifted(nest, AttrKey.COPROC_UOP_SCOPE) == [
        "coproc_uop_scope {",
        "  for co {",
        "    for ci {",
        "      uop_push",
        "    }",
        "  }",
        "}",
    ]


def test_sibling_loops_of_gemms_share_a_kernel_above_their_loop() -> None:
    nest = loop("i", 4, loop("j", 4, gemm()), loop("k", 4, when(COND, gemm())))
    assert lifted(nest, AttrKey.COPROC_UOP_SCOPE)[:2] == ["coproc_uop_scope {", "  for i {"]


def test_a_sibling_without_a_kernel_leaves_the_others_grouped() -> None:
    nest = loop("i", 4, loop("a", 4, call("x")), loop("j", 4, gemm()), loop("k", 4, when(COND, gemm())))
    assert lifted(nest, AttrKey.COPROC_UOP_SCOPE) == [
        "for i {",
        "  for a {",
        "    x",
        "  }",
        "  coproc_uop_scope {",
        "    for j {",
        "      uop_push",
        "    }",
        "    for k {",
        "      if {",
        "        uop_push",
        "      }",
        "    }",
        "  }",
        "}",
    ]


@pytest.mark.parametrize("other", [gemm(reset=1), gemm(mode=2)], ids=["reset", "depthwise"])
def test_resetting_adding_and_adding_lane_by_lane_are_kernels_of_their_own(other: Stmt) -> None:
    assert lifted(block(loop("i", 4, other), loop("j", 4, gemm())), AttrKey.COPROC_UOP_SCOPE) == [
        "coproc_uop_scope {",
        "  for i {",
        "    uop_push",
        "  }",
        "}",
        "coproc_uop_scope {",
        "  for j {",
        "    uop_push",
        "  }",
        "}",
    ]


def test_two_alu_stages_are_two_kernels() -> None:
    assert lifted(block(alu(), alu()), AttrKey.COPROC_UOP_SCOPE) == [
        "coproc_uop_scope {",
        "  alu",
        "}",
        "coproc_uop_scope {",
        "  alu",
        "}",
    ]
