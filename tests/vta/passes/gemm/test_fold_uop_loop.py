"""Folding the loops of GEMM kernels, as far as they fold."""

import math

import pytest

from isa.config import VTAConfig
from tests.support.compiler.tir_build import AXIS, block, call, function, loop, outline, when
from vta.arith.simplify import Analyzer
from vta.passes.coproc_axis import is_uop_scope, uop_scope
from vta.passes.gemm.fold_uop_loop import UopKernelError, fold_uop_loop
from vta.passes.gemm.micro_op_nest import loop_nest, most_micro_ops
from vta.tir import ops
from vta.tir.dtype import INT32
from vta.tir.expr import Builtin, Call, Expr, ExprLike, IntImm, Var, convert
from vta.tir.printer import to_text
from vta.tir.scopes import ALU_SYMBOL, GEMM_SYMBOL
from vta.tir.stmt import AttrStmt, Evaluate, For, IfThenElse, Stmt


def push(dst: ExprLike, src: ExprLike, wgt: ExprLike) -> Stmt:
    args: tuple[Expr, ...] = (IntImm(0), IntImm(0), convert(dst), convert(src), convert(wgt), *[IntImm(0)] * 3)
    return Evaluate(Call(INT32, Builtin.UOP_PUSH, args))


def folded(body: Stmt, symbol: str = GEMM_SYMBOL) -> list[str]:
    """The lines of the kernel, shortened."""
    lowered = fold_uop_loop(function(uop_scope(AXIS, symbol, body)), VTAConfig()).body
    assert isinstance(lowered, AttrStmt)
    text = to_text(lowered.body).replace("@tir.call_extern", "").replace(", dtype=int32", "").replace("@tir.vta.", "")
    return [line.strip().replace('"VTAUop', '"') for line in text.splitlines() if line.strip()]


def test_one_loop_becomes_the_loop_of_the_instruction() -> None:
    i = Var("i")
    assert folded(loop(i, 16, push(i, 0, 0))) == [
        '("LoopBegin", 16, 1, 0, 0)', "uop_push(0, 0, 0, 0, 0, 0, 0, 0)", '("LoopEnd")',
    ]  # fmt: skip


def test_two_loops_fold_and_the_rest_stays_in_the_closure() -> None:
    co, i, j, v = Var("co"), Var("i"), Var("j"), Var("v")
    body = loop(co, 8, loop(i, 7, loop(j, 14, push(v * 784 + co * 98 + i * 14 + j, i * 16 + j, co * 9 + v * 72))))
    assert folded(body) == [
        '("LoopBegin", 8, 98, 0, 9)',
        '("LoopBegin", 7, 14, 16, 0)',
        "for (j: int32, 0, 14) {",
        "uop_push(0, 0, ((v: int32*784) + j), j, (v*72), 0, 0, 0)",
        "}",
        '("LoopEnd")',
        '("LoopEnd")',
    ]


def test_all_micro_ops_must_step_alike() -> None:
    i = Var("i")
    alike = loop(i, 4, block(push(i * 2, i, 0), push(i * 2 + 1, i + 9, 0)))
    assert folded(alike)[0] == '("LoopBegin", 4, 2, 1, 0)'
    different = loop(i, 4, block(push(i * 2, i, 0), push(i * 3, i, 0)))
    assert folded(different)[0] == "for (i: int32, 0, 4) {"


def test_the_inner_loop_may_stay_when_the_outer_one_folds() -> None:
    i, j = Var("i"), Var("j")
    lines = folded(loop(i, 4, loop(j, 4, push(i * 16 + j * j, 0, 0))))
    assert lines[:2] == ['("LoopBegin", 4, 16, 0, 0)', "for (j: int32, 0, 4) {"]


def test_an_index_that_is_not_linear_stays_explicit() -> None:
    i = Var("i")
    assert folded(loop(i, 4, push(i * i, 0, 0)))[0] == "for (i: int32, 0, 4) {"


def test_a_step_that_varies_or_is_negative_stays_explicit() -> None:
    i, j = Var("i"), Var("j")
    assert folded(loop(i, 4, loop(j, 3, push(i * j, 0, 0))))[0] == "for (i: int32, 0, 4) {"
    assert folded(loop(i, 4, push(7 - i, 0, 0)))[0] == "for (i: int32, 0, 4) {"


def test_a_loop_that_starts_elsewhere_shifts_the_micro_ops() -> None:
    i = Var("i")
    assert folded(loop(i, 4, push(i * 2, 0, 0), low=3))[:2] == [
        '("LoopBegin", 4, 2, 0, 0)', "uop_push(0, 0, 6, 0, 0, 0, 0, 0)",
    ]  # fmt: skip


def test_a_loop_that_a_condition_needs_stays() -> None:
    i = Var("i")
    assert folded(loop(i, 4, when(i < 3, push(i, 0, 0))))[0] == "for (i: int32, 0, 4) {"


def test_a_condition_around_all_micro_ops_moves_out_of_the_kernel() -> None:
    i, n = Var("i"), Var("n")
    guarded = when(n < 5, loop(i, 16, push(i, 0, 0)))
    lowered = fold_uop_loop(function(uop_scope(AXIS, GEMM_SYMBOL, guarded)), VTAConfig()).body
    assert isinstance(lowered, IfThenElse)
    assert lowered.condition == (n < 5)
    assert isinstance(lowered.then_case, AttrStmt)
    assert is_uop_scope(lowered.then_case)
    assert '"VTAUopLoopBegin", 16, 1, 0, 0' in to_text(lowered.then_case)


def test_a_kernel_without_loops_and_an_alu_kernel_stay_the_same() -> None:
    func = function(uop_scope(AXIS, GEMM_SYMBOL, push(1, 2, 3)))
    assert fold_uop_loop(func, VTAConfig()).body is func.body
    i = Var("i")
    assert folded(loop(i, 4, push(i, 0, 0)), ALU_SYMBOL)[0] == "for (i: int32, 0, 4) {"


def test_a_foreign_call_in_a_kernel_is_refused() -> None:
    with pytest.raises(UopKernelError) as error:
        folded(loop("i", 4, block(push(0, 0, 0), call("printf"))))
    assert str(error.value) == (
        "the function: GEMM kernel: expected micro-ops alone, got a call of 'printf'; move the call out of the "
        "tensorized nest"
    )


def test_the_longest_loops_fold_where_the_outermost_ones_leave_too_many_micro_ops() -> None:
    a, b, c, d = Var("a"), Var("b"), Var("c"), Var("d")
    body = loop(a, 2, loop(b, 3, loop(c, 64, loop(d, 128, push(a + b * 2 + c * 6, a + d, b)))))
    assert folded(body) == ['("LoopBegin", 2, 1, 1, 0)', '("LoopBegin", 3, 2, 0, 1)', *folded_core(c, d)]
    larger = loop(a, 2, loop(b, 3, loop(c, 65, loop(d, 128, push(a + b * 2 + c * 6, a + d, b)))))
    assert folded(larger)[:3] == [
        '("LoopBegin", 65, 6, 0, 0)', '("LoopBegin", 128, 0, 1, 0)', "for (a: int32, 0, 2) {"
    ]  # fmt: skip


def folded_core(c: Var, d: Var) -> list[str]:
    return [
        f"for ({c.name}: int32, 0, 64) {{", f"for ({d.name}: int32, 0, 128) {{",
        f"uop_push(0, 0, ({c.name}*6), {d.name}, 0, 0, 0, 0)", "}", "}", '("LoopEnd")', '("LoopEnd")',
    ]  # fmt: skip


def test_the_host_runs_loops_around_kernels_that_are_still_too_large() -> None:
    names = [Var(name) for name in "abcd"]
    place = sum((var * (var_number + 1) for var_number, var in enumerate(names)), start=convert(0))
    body = push(place * place, 0, 0)
    for var in reversed(names):
        body = loop(var, 16, body)
    lowered = fold_uop_loop(function(uop_scope(AXIS, GEMM_SYMBOL, body)), VTAConfig()).body
    assert isinstance(lowered, For)
    assert lowered.loop_var is names[0]
    assert is_uop_scope(lowered.body)
    assert most_micro_ops(lowered.body, Analyzer()) == 16**3


@pytest.mark.parametrize(
    ("stmt", "count"),
    [
        (push(0, 0, 0), 1),
        (loop("i", 3, loop("j", 5, block(push(0, 0, 0), push(1, 0, 0)))), 30),
        (loop("i", 3, uop_scope(AXIS, GEMM_SYMBOL, push(0, 0, 0))), 3),
        (loop("i", Var("n"), push(0, 0, 0)), math.inf),
        (loop("i", ops.min(Var("n"), 7), when(Var("m") < 3, push(0, 0, 0), push(1, 0, 0))), 7),
        (loop("i", 4, loop(Var("j"), Var("n"), call("f"))), 0),
        (call("f"), 0),
    ],
)
def test_micro_ops_are_counted_as_they_are_written_out(stmt: Stmt, count: float) -> None:
    assert most_micro_ops(stmt, Analyzer()) == count


def test_loops_whose_ends_depend_on_others_keep_their_places() -> None:
    i, j = Var("i"), Var("j")
    nest = loop_nest(loop(i, 4, loop(j, i, push(i, j, 0))), Analyzer())
    assert [each.loop_var for each in nest.loops] == [i]
    assert nest.longest(2, lambda _: False, Analyzer()) == []


def test_a_condition_on_one_loop_shortens_it_and_others_are_the_hosts() -> None:
    a, b, c, n = (Var(name) for name in "abcn")
    inner = when(ops.all(ops.likely(a + n * 6 < 10), n > 0), loop(b, 64, loop(c, 9, push(a, b * 9 + c, b))))
    lowered = fold_uop_loop(function(uop_scope(AXIS, GEMM_SYMBOL, loop(a, 300, inner))), VTAConfig()).body
    assert outline(lowered) == [
        "if {",
        "  coproc_uop_scope {",
        "    VTAUopLoopBegin", "    VTAUopLoopBegin", "    for c {", "      uop_push", "    }",
        "    VTAUopLoopEnd", "    VTAUopLoopEnd",
        "  }",
        "}",
    ]  # fmt: skip
    assert isinstance(lowered, IfThenElse)
    assert to_text(lowered.condition) == "((n > 0) && (min((10 - (n*6)), 300) > 0))"


def test_a_condition_on_two_loops_goes_to_the_host_with_one_of_them() -> None:
    a, b, c = (Var(name) for name in "abc")
    kernel = loop(a, 100, loop(b, 200, when(a + b < 250, loop(c, 3, push(a, b, c)))))
    lowered = fold_uop_loop(function(uop_scope(AXIS, GEMM_SYMBOL, kernel)), VTAConfig()).body
    assert isinstance(lowered, For)
    assert lowered.loop_var is a
    assert most_micro_ops(lowered.body, Analyzer()) <= VTAConfig().uop_depth


def test_of_two_branches_the_one_with_more_micro_ops_counts() -> None:
    i, n = Var("i"), Var("n")
    one, five = push(0, 0, 0), loop(i, 5, push(i, 0, 0))
    for then, other, most in ((one, None, 1), (one, five, 5), (five, one, 5)):
        assert most_micro_ops(IfThenElse(n < 3, then, other), Analyzer()) == most


def test_a_bound_from_below_shortens_its_loop() -> None:
    i = Var("i")
    nest = loop_nest(loop(i, 10, when(i >= 3, push(i, 0, 0))), Analyzer())
    [found] = nest.loops
    assert (to_text(found.min), to_text(found.extent), nest.conditions) == ("3", "7", ())
