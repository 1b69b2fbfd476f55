"""Allocations stand at the beginning of their loop, thread or function."""

from isa.config import VTAConfig
from tests.support.compiler.tir_build import alloc, block, buffer, call, function, loop, outline, thread, when
from vta.passes.storage.lift_alloc_to_scope_begin import lift_alloc_to_scope_begin
from vta.tir.buffer import Buffer
from vta.tir.dtype import BOOL, INT32
from vta.tir.expr import IntImm, Var
from vta.tir.scopes import ACC_SCOPE
from vta.tir.stmt import ForKind, LetStmt, Stmt


def lifted(stmt: Stmt) -> list[str]:
    return outline(lift_alloc_to_scope_begin(function(stmt), VTAConfig()).body)


def chip(name: str, size: int | Var = 16) -> Buffer:
    return buffer(name, (size,), "int32", ACC_SCOPE)


def test_allocations_come_first_in_the_function_in_their_order() -> None:
    assert lifted(alloc(chip("a"), call("x"), alloc(chip("b"), call("y"), alloc(chip("c"), call("z"))))) == [
        "allocate a {",
        "  allocate b {",
        "    allocate c {",
        "      x",
        "      y",
        "      z",
        "    }",
        "  }",
        "}",
    ]


def test_of_two_neighbours_the_later_one_comes_first() -> None:
    first, second = alloc(chip("a"), call("x"), alloc(chip("b"), call("y"))), alloc(chip("c"), call("z"))
    assert [line.strip() for line in lifted(block(first, second)) if "allocate" in line] == [
        "allocate c {",
        "allocate a {",
        "allocate b {",
    ]


def test_an_allocation_stays_in_its_loop() -> None:
    assert lifted(loop("i", 4, call("x"), when(Var("c", BOOL), alloc(chip("a"), call("y"))))) == [
        "for i {",
        "  allocate a {",
        "    x",
        "    if {",
        "      y",
        "    }",
        "  }",
        "}",
    ]


def test_an_allocation_stays_in_its_virtual_thread() -> None:
    assert lifted(thread("t", 2, call("x"), alloc(chip("a"), call("y")))) == [
        "virtual_thread {",
        "  allocate a {",
        "    x",
        "    y",
        "  }",
        "}",
    ]


def test_dram_leaves_serial_loops_but_no_virtual_thread() -> None:
    memory = buffer("m", (16,))
    assert lifted(loop("i", 4, call("x"), alloc(memory, call("y")))) == [
        "allocate m {",
        "  for i {",
        "    x",
        "    y",
        "  }",
        "}",
    ]
    assert lifted(loop("i", 4, thread("t", 2, call("x"), alloc(memory, call("y"))))) == [
        "for i {",
        "  virtual_thread {",
        "    allocate m {",
        "      x",
        "      y",
        "    }",
        "  }",
        "}",
    ]


def test_dram_stays_in_a_parallel_loop() -> None:
    body = loop("i", 4, call("x"), alloc(buffer("m", (16,)), call("y")), kind=ForKind.PARALLEL)
    assert lifted(body) == ["for i {", "  allocate m {", "    x", "    y", "  }", "}"]


def test_an_allocation_stays_where_its_size_is_known() -> None:
    n = Var("n", INT32)
    inner = LetStmt(n, IntImm(3), block(call("x"), alloc(chip("a", n), alloc(chip("b"), call("y")))))
    assert lifted(inner) == ["allocate b {", "  let n {", "    allocate a {", "      x", "      y", "    }", "  }", "}"]
    assert lifted(loop(n, 4, call("x"), alloc(buffer("m", (n + 1,)), call("y")))) == [
        "for n {",
        "  allocate m {",
        "    x",
        "    y",
        "  }",
        "}",
    ]


def test_a_function_in_order_stays_the_same_object() -> None:
    body = alloc(chip("a"), loop("i", 4, alloc(chip("b"), call("x"))), call("y"))
    assert lift_alloc_to_scope_begin(function(body), VTAConfig()).body is body
