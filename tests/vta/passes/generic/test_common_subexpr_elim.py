"""Common index expressions are computed once, outside of kernels, and mean the same."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from isa.config import VTAConfig
from tests.support.compiler.tir_build import AXIS, block, buffer, call, function, loop, on, store, when
from vta.passes.coproc_axis import uop_scope
from vta.passes.generic.common_subexpr_elim import common_subexpr_elim
from vta.tir import ops
from vta.tir.expr import Expr, Var
from vta.tir.func import PrimFunc
from vta.tir.interpreter.run import run_func
from vta.tir.printer import to_text
from vta.tir.scopes import GEMM_SYMBOL
from vta.tir.stmt import LetStmt, Stmt
from vta.tir.traverse import free_vars, walk
from vta.tir.verify import verify

CONFIG = VTAConfig()


def after(body: Stmt) -> PrimFunc:
    return common_subexpr_elim(function(body), CONFIG)


def text(body: Stmt) -> list[str]:
    lines = (
        to_text(after(body).body).replace("@tir.call_extern", "").replace(", dtype=int32", "").replace(": int32", "")
    )
    return [line.strip() for line in lines.splitlines() if line.strip() not in ("{", "}", "")]


def test_an_expression_is_computed_where_its_last_variable_is_known() -> None:
    i, j = Var("i"), Var("j")
    body = loop(
        i, 4, loop(j, 4, block(on(1, call("f", j * 16)), on(1, call("g", i * 1024 + j * 16)))), call("h", i * 1024)
    )
    assert text(body) == [
        "for (i, 0, 4) {",
        "let cse_var_1 = (i*1024)",
        "for (j, 0, 4) {",
        "let cse_var_2 = (j*16)",
        'attr [IterVar(vta, (nullptr), "ThreadIndex", "vta")] "coproc_scope" = 1;',
        '("f", cse_var_2)',
        'attr [IterVar(vta, (nullptr), "ThreadIndex", "vta")] "coproc_scope" = 1;',
        '("g", (cse_var_1 + cse_var_2))',
        '("h", cse_var_1)',
    ]


def test_parts_of_common_expressions_are_shared_only_where_they_occur_elsewhere() -> None:
    i = Var("i")
    body = loop(i, 4, call("f", ops.max(1 - i * 7, 0)), call("g", ops.max(1 - i * 7, 0)), call("h", i * 7 - 6))
    assert text(body)[1:] == [
        "let cse_var_1 = (i*7)",
        "let cse_var_2 = max((1 - cse_var_1), 0)",
        '("f", cse_var_2)',
        '("g", cse_var_2)',
        '("h", (cse_var_1 - 6))',
    ]


def test_what_occurs_once_stays() -> None:
    i = Var("i")
    func = function(loop(i, 4, call("f", i * 16), call("g", i * 32)))
    assert common_subexpr_elim(func, CONFIG) is func


def test_kernels_are_left_alone_and_capture_nothing_new() -> None:
    v, j = Var("v"), Var("j")
    kernel = uop_scope(AXIS, GEMM_SYMBOL, loop(j, 4, call("push", v * 8 + j, v * 8)))
    body = loop(v, 2, on(2, call("f", v * 8), call("g", v * 8), kernel))
    lowered = after(body)
    [found] = [n for n in walk(lowered.body) if getattr(n, "key", "") == "coproc_uop_scope"]
    assert found is kernel
    assert free_vars(found.body) == [v]
    assert sum(isinstance(n, LetStmt) for n in walk(lowered.body)) == 1


def test_calls_memory_and_divisions_that_may_fail_are_not_shared() -> None:
    i, n = Var("i"), Var("n")
    memory = buffer("m", [64])
    body = loop(
        i, 4, call("f", ops.floordiv(i, n), memory.load(0) + 1), call("g", ops.floordiv(i, n), memory.load(0) + 1)
    )
    func = function(body, memory)
    assert common_subexpr_elim(func, CONFIG) is func


def test_divisions_by_constants_are_shared() -> None:
    i = Var("i")
    assert (
        text(loop(i, 4, call("f", ops.floordiv(i, 3)), call("g", ops.floordiv(i, 3))))[1]
        == "let cse_var_1 = floordiv(i, 3)"
    )


def test_expressions_of_parameters_are_computed_at_the_beginning() -> None:
    n = Var("n")
    assert text(loop("i", n * 4, call("f", n * 4)))[0] == "let cse_var_1 = (n*4)"


def test_a_let_opens_a_scope() -> None:
    i, x = Var("i"), Var("x")
    body = loop(i, 4, LetStmt(x, i + 1, block(call("f", x * 3), call("g", x * 3))))
    assert text(body)[1:3] == ["let x = (i + 1)", "let cse_var_1 = (x*3)"]


_INDEX = st.recursive(
    st.sampled_from(["i", "j", "n", "1", "2"]),
    lambda below: st.tuples(st.sampled_from(["+", "*", "-", "max", "//"]), below, below),
    max_leaves=6,
)


def _expr(tree: object, env: dict[str, Expr]) -> Expr:
    match tree:
        case str():
            return env[tree]
        case (str() as kind, a, b):
            x, y = _expr(a, env), _expr(b, env)
            operations = {"+": x + y, "*": x * y, "-": x - y, "max": ops.max(x, y), "//": ops.floordiv(x, 3)}
            return operations[kind]
        case _:
            raise AssertionError(tree)


@settings(max_examples=60, deadline=None)
@given(st.lists(_INDEX, min_size=2, max_size=4))
def test_random_programs_mean_the_same(trees: list[object]) -> None:
    i, j, n, out = Var("i"), Var("j"), Var("n"), buffer("out", [64])
    env: dict[str, Expr] = {"i": i, "j": j, "n": n, "1": ops.floordiv(n, 2), "2": n + 2}
    stores = [store(out, _expr(tree, env), i * 16 + j * 4 + k) for k, tree in enumerate(trees)]
    func = function(loop(i, 4, loop(j, 4, when(j < 3, block(*stores[1:]), stores[0]), stores[-1])), out)
    func = PrimFunc(func.name, (*func.params, n), func.body, func.buffer_map)
    results = [np.zeros(64, np.int32), np.zeros(64, np.int32)]
    for program, result in zip((func, verify(common_subexpr_elim(func, CONFIG))), results, strict=True):
        run_func(program, [result, 5])
    np.testing.assert_array_equal(results[0], results[1])


def test_loops_without_common_expressions_stay_the_same_objects() -> None:
    i, j = Var("i"), Var("j")
    body = loop(i, 4, loop(j, i + 1, call("f", i * 16 + j)))
    assert after(body).body is body


def test_what_alone_changes_of_a_loop_or_a_let_is_changed() -> None:
    n, i, x = Var("n"), Var("i"), Var("x")
    changed: list[Stmt] = [
        loop(i, 4, call("f", i), low=n * 4),
        loop(i, n * 4, call("f", i)),
        loop(i, 4, call("f", i + n * 4)),
        LetStmt(x, ops.max(n * 4, 1) - n, call("f", x)),
        LetStmt(x, n, call("f", x, n * 4)),
    ]
    for stmt in changed:
        lines = text(block(stmt, call("g", n * 4)))
        assert lines[0] == "let cse_var_1 = (n*4)"
        assert sum("n*4" in line for line in lines) == 1
        assert sum("cse_var_1" in line for line in lines) == 3
