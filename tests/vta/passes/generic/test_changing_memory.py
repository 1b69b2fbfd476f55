"""What passes believe about memory ends where memory changes. The interpreter is the judge of whole programs."""

from random import Random

import numpy as np
import pytest

from isa.config import VTAConfig
from tests.support.compiler.random_memory_programs import memory_program
from tests.support.compiler.tir_build import block, buffer, call, function, loop, store, when
from tests.support.runtime.host_call import call_host
from vta.arith.simplify import Analyzer
from vta.build_module import lower_generic
from vta.passes.generic.simplify import simplify
from vta.passes.host.hoist_if_then_else import hoist_if_then_else
from vta.tir import ops
from vta.tir.dtype import INT32
from vta.tir.expr import Builtin, Call, FloatImm, IntImm, Range, Select, StringImm, Var
from vta.tir.func import Pass
from vta.tir.interpreter.run import run_func
from vta.tir.stmt import ForKind, LetStmt, Stmt
from vta.tir.structural import require_equal

A, F, N = buffer("A", [4]), buffer("F", [4], "float32"), Var("n")
EXTERN = Call(INT32, Builtin.CALL_EXTERN, (StringImm("f"),))


def unchanged(stmt: Stmt, by: Pass = simplify) -> None:
    require_equal(by(function(stmt, A, F), VTAConfig()).body, stmt)


def test_a_condition_on_memory_says_nothing_about_later_statements() -> None:
    asked = A.load(0) < N
    unchanged(when(asked, block(store(A, 9, 0), when(asked, store(A, 1, 1)))))
    unchanged(when(asked, store(A, 9, 0), block(store(A, 0, 0), when(asked, store(A, 1, 1)))))
    unchanged(when(asked, loop(Var("i"), 4, when(asked, store(A, 7, 0)))))
    small = F.load(0) < 1.0
    unchanged(when(small, block(store(F, FloatImm(2.0), 0), when(small, store(A, 1, 1)))))


def test_of_a_conjunction_what_reads_no_memory_is_kept() -> None:
    body = when(ops.all(N < 4, A.load(0) < N), block(store(A, 9, 0), when(N < 4, store(A, 1, 1))))
    expected = when(ops.all(N < 4, A.load(0) < N), block(store(A, 9, 0), store(A, 1, 1)))
    require_equal(simplify(function(body, A), VTAConfig()).body, expected)


def test_within_an_expression_memory_stays_as_it_is() -> None:
    first = A.load(0)
    chosen = Select(first < 4, ops.min(first, 9), first)
    require_equal(Analyzer().simplify(chosen), first)
    assert Analyzer().can_prove_equal(first + N, N + first)


def test_a_call_in_an_expression_may_change_memory() -> None:
    first = A.load(0)
    asked = ops.all(first < 4, EXTERN < 9, first < 4)
    require_equal(Analyzer().simplify(asked), asked)
    chosen = ops.if_then_else(first < 4, EXTERN + ops.min(first, 9), first)
    require_equal(Analyzer().simplify(chosen), chosen)
    assert not Analyzer().can_prove_equal(EXTERN, EXTERN)
    for calls in (EXTERN - EXTERN, EXTERN * 0, (EXTERN < EXTERN + 1), ops.max(EXTERN, EXTERN)):
        require_equal(Analyzer().simplify(calls), calls)


def test_a_variable_keeps_the_value_that_memory_had() -> None:
    analyzer, x, i, j = Analyzer(), Var("x"), Var("i"), Var("j")
    analyzer.bind(x, A.load(0) % 4)
    require_equal(analyzer.simplify(x + 1), x + 1)
    assert analyzer.can_prove(x < 4)
    analyzer.bind(i, Range(IntImm(0), A.load(0)))
    assert not analyzer.can_prove(i < A.load(0))
    analyzer.bind(j, Range(A.load(0), IntImm(1)))
    require_equal(analyzer.simplify(j), j)


def test_a_loops_ends_do_not_follow_memory() -> None:
    i = Var("i")
    unchanged(loop(i, A.load(0), store(A, 0, 0), when(i < A.load(0), store(A, 5, 1))))
    unchanged(LetStmt(i, A.load(0), block(store(A, 7, 0), store(A, i, 1))))


def test_conditions_that_read_memory_or_may_fail_stay_in_their_loop() -> None:
    i = Var("i")
    for condition in (A.load(0) < 4, EXTERN < 4, N // Var("m") > 3, ops.all(A.load(0) < 4, i < N)):
        unchanged(loop(i, 4, when(condition, store(A, 9, 0))), hoist_if_then_else)


def check(seed: int) -> None:
    program = memory_program(Random(seed))
    expected, found = ([array.copy() for array in program.arrays] for _ in range(2))
    run_func(program.func, [*expected, program.number])
    lowered = lower_generic(program.func).functions[program.func.name]
    assert call_host(lowered, *found, program.number) is None
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other, f"seed {seed}")


@pytest.mark.parametrize("seed", range(40))
def test_random_programs_compile_to_what_the_interpreter_does(seed: int) -> None:
    check(seed)


@pytest.mark.long
def test_many_random_programs_compile_to_what_the_interpreter_does() -> None:
    for seed in range(10_000, 13_000):
        check(seed)


def test_an_unrolled_loop_begins_where_memory_said_at_its_beginning() -> None:
    i = Var("i")
    stmt = loop(i, 3, store(A, A.load(0) + 1, 0), store(A, i, 1), kind=ForKind.UNROLLED, low=A.load(0))
    expected, found = np.array([2, 0, 0, 0], np.int32), np.array([2, 0, 0, 0], np.int32)
    func = function(stmt, A)
    run_func(func, [expected])
    assert call_host(lower_generic(func).functions[func.name], found) is None
    assert found.tolist() == expected.tolist() == [5, 4, 0, 0]


def test_statements_after_a_call_are_simplified_by_themselves() -> None:
    asked = A.load(0) < N
    unchanged(when(asked, block(call("f"), when(asked, store(A, 1, 1)))))
