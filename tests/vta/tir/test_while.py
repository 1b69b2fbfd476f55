"""While loops: their text, what they compute, and where they cannot be."""

import numpy as np
import pytest

import vta
from isa.config import VTAConfig
from vta.build_module import build_generic
from vta.codegen.c import emit_c
from vta.passes.optional.instrument_bound_checkers import instrument_bound_checkers
from vta.passes.sync.sync_plan import plan_syncs
from vta.tir import ir_builder, verify
from vta.tir.blocks import BlockError
from vta.tir.buffer import decl_buffer
from vta.tir.expr import IntImm, Range, const
from vta.tir.func import PrimFunc
from vta.tir.interpreter.run import run_func
from vta.tir.json_text import load_json, save_json
from vta.tir.printer import to_text
from vta.tir.script import from_source, to_script
from vta.tir.stmt import Evaluate, Prefetch, Stmt, While, seq
from vta.tir.structural import structural_equal


def collatz() -> PrimFunc:
    """How many steps each of 20 numbers takes to 1."""
    ib = ir_builder.create()
    a, c = decl_buffer((20,), "int32", "A"), decl_buffer((20,), "int32", "C")
    start, steps = ib.buffer_ptr(a), ib.buffer_ptr(c)
    with ib.for_range(0, 20, "i", kind="parallel") as i:
        x = ib.allocate("int32", (1,), name="x", scope="local")
        x[0] = start[i]
        steps[i] = const(0)
        with ib.while_loop(x[0] != 1):
            with ib.if_scope(x[0] % 2 == 0):
                x[0] = x[0] // 2
            with ib.else_scope():
                x[0] = x[0] * 3 + 1
            steps[i] += 1
    return PrimFunc([a, c], ib.get())  # type: ignore[arg-type]


def expected(x: int) -> int:
    return 0 if x == 1 else 1 + expected(x // 2 if x % 2 == 0 else 3 * x + 1)


def test_engines_and_checked_code_agree_with_python() -> None:
    func = collatz()
    verify(func)
    start = np.arange(1, 21, dtype=np.int32)
    want = [expected(int(x)) for x in start]
    for program in (func, instrument_bound_checkers(func, VTAConfig())):
        out = vta.nd.empty((20,), "int32")
        build_generic(program)(vta.nd.array(start), out)
        assert out.numpy().tolist() == want
        interpreted = np.zeros(20, np.int32)
        run_func(program, [start, interpreted])
        assert interpreted.tolist() == want


def test_its_texts_are_read_back() -> None:
    func = collatz()
    assert "while (x_1[0] != 1) {" in to_text(func)
    assert structural_equal(load_json(save_json(func)), func)
    assert structural_equal(from_source(to_script(func)), func)
    assert "while (x_1[0] != 1):" in to_script(func)


def test_a_condition_that_fails_first_runs_nothing() -> None:
    ib = ir_builder.create()
    a = decl_buffer((1,), "int32", "A")
    x = ib.buffer_ptr(a)
    with ib.while_loop(x[0] < 5):
        x[0] += 3
    build = build_generic(PrimFunc([a], ib.get()))  # type: ignore[arg-type]
    for start, end in ((0, 6), (4, 7), (5, 5)):
        out = vta.nd.array(np.array([start], np.int32))
        build(out)
        assert out.numpy().tolist() == [end]


def test_it_has_c_code() -> None:
    assert "for (;;) {" in emit_c(collatz(), "collatz").text


def test_the_accelerators_queue_needs_loops_that_are_counted() -> None:
    loop = While(const(True, "bool"), Evaluate(IntImm(0)))
    with pytest.raises(BlockError) as error:
        plan_syncs(loop, VTAConfig())
    assert str(error.value) == (
        "a while loop is for programs of the host; in one of the accelerator, loops have a number of iterations"
    )


def test_a_prefetch_computes_nothing() -> None:
    a = decl_buffer((8,), "int32", "A")
    hint = Prefetch(a, [Range(const(0), const(4))])  # type: ignore[arg-type]  # a list, as in scripts
    body: Stmt = seq([hint, a.vstore([0], 7)])
    func = PrimFunc([a], body)  # type: ignore[arg-type]
    verify(func)
    assert "prefetch A[0:4]" in to_text(func)
    out = vta.nd.empty((8,), "int32")
    build_generic(func)(out)
    assert out.numpy()[0] == 7
    with pytest.raises(BlockError, match=r"^a prefetch of 'A' is left; StorageFlatten drops it$"):
        plan_syncs(body, VTAConfig())
