"""Passes that scripts run by themselves: what they write, and that it computes the same."""

import numpy as np

import vta
from isa.config import VTAConfig
from tests.support.compiler.tir_build import AXIS
from vta.build_module import build_generic
from vta.passes.coproc_axis import uop_scope
from vta.passes.optional.combine_context_call import combine_context_call
from vta.passes.optional.inject_prefetch import inject_prefetch
from vta.passes.optional.lower_intrin import lower_intrin
from vta.passes.optional.rewrite_unsafe_select import rewrite_unsafe_select
from vta.tir import ir_builder
from vta.tir.buffer import decl_buffer
from vta.tir.calls import call_extern, call_intrin
from vta.tir.expr import Builtin, Call, Expr, FloorDiv, FloorMod, IntImm, Range, Select, Var, const
from vta.tir.func import PrimFunc
from vta.tir.printer import to_text
from vta.tir.stmt import AttrKey, AttrStmt, Evaluate, LetStmt, Prefetch, seq
from vta.tir.traverse import walk

CONFIG = VTAConfig()


def test_divisions_that_round_down_are_written_out_with_the_same_values() -> None:
    x, y = Var("x"), Var("y")
    exprs: list[Expr] = [kind(x, IntImm(c)) for kind in (FloorDiv, FloorMod) for c in (1, 2, 3, 7, 8, -1, -2, -3, -8)]
    exprs += [FloorDiv(x, y), FloorMod(x, y), FloorMod(FloorDiv(x, IntImm(3)), y)]
    out = decl_buffer((len(exprs),), "int32", "out")
    ib = ir_builder.create()
    for i, expr in enumerate(exprs):
        ib.buffer_ptr(out)[i] = expr
    func = PrimFunc([out, x, y], ib.get())  # type: ignore[arg-type]
    lowered = lower_intrin(func, CONFIG)
    assert not any(isinstance(node, FloorDiv | FloorMod) for node in walk(lowered.body))
    before, after = build_generic(func), build_generic(lowered)
    for a in (-9, -8, -1, 0, 1, 5, 8, 2**31 - 1, -(2**31) + 1):
        for b in (-5, -2, 3, 8):
            results = [vta.nd.array(np.zeros(len(exprs), np.int32)) for _ in range(2)]
            before(results[0], a, b)
            after(results[1], a, b)
            np.testing.assert_array_equal(results[0].numpy(), results[1].numpy())
            values = [np.floor_divide(a, c) for c in (2, 3, 7, 8)]
            assert [int(results[1].numpy()[k]) for k in (1, 2, 3, 4)] == values


def test_known_signs_need_no_choice() -> None:
    ib = ir_builder.create()
    out = ib.pointer("int32", "A")
    with ib.for_range(0, 10, "i") as i:
        out[i] = FloorDiv(i, IntImm(3)) + FloorMod(i, IntImm(4))
    lowered = lower_intrin(PrimFunc([out], ib.get()), CONFIG)  # type: ignore[arg-type]
    assert "((i / 3) + @tir.bitwise_and(i, 3, dtype=int32))" in to_text(lowered)


def test_of_a_choice_that_reads_memory_one_side_is_computed() -> None:
    i, a = Var("i"), decl_buffer((10,), "int32", "A")
    unsafe, safe = Select(i > 1, a[i - 1], IntImm(1)), Select(i > 1, i - 1, IntImm(1))
    for value, lazy in ((unsafe, True), (Select(i > 1, FloorDiv(i, i), IntImm(1)), True), (safe, False)):
        func = rewrite_unsafe_select(PrimFunc([i, a], Evaluate(value)), CONFIG)  # type: ignore[arg-type]
        assert isinstance(func.body, Evaluate)
        new = func.body.value
        assert (isinstance(new, Call) and new.op is Builtin.IF_THEN_ELSE) is lazy


def test_a_context_is_asked_for_once() -> None:
    ib = ir_builder.create()
    n = Var("n")
    context = call_intrin("handle", "tir.tvm_thread_context", call_extern("handle", "devctx"))
    for kind in ("serial", "parallel"):
        with ib.for_range(0, n, "i", kind=kind):
            ib.emit(call_extern("int32", "f", context))
            ib.emit(call_extern("int32", "g", context))
    func = combine_context_call(PrimFunc([n], ib.get()), CONFIG)  # type: ignore[arg-type]
    calls = [node for node in walk(func.body) if isinstance(node, Call) and node.op is Builtin.THREAD_CONTEXT]
    assert len(calls) == 2
    assert to_text(func).index("let ctx_cache_: handle") < to_text(func).index("for (i: int32, 0, n)")


def test_prefetches_are_dropped() -> None:
    a = decl_buffer((8,), "int32", "A")
    store = a.vstore([0], 1)
    func = PrimFunc([a], seq([Prefetch(a, (Range(const(0), const(4)),)), store]))  # type: ignore[arg-type]
    assert inject_prefetch(func, CONFIG).body is store


def test_a_kernel_asks_for_a_context_of_its_own() -> None:
    context = call_intrin("handle", "tir.tvm_thread_context", call_extern("handle", "devctx"))
    kernel = uop_scope(AXIS, "push", Evaluate(call_extern("int32", "f", context)))
    outside = AttrStmt(AXIS, "note", const(1), Evaluate(call_extern("int32", "g", context)))
    func = combine_context_call(PrimFunc([], seq([kernel, outside])), CONFIG)  # type: ignore[arg-type]
    [own] = [node for node in walk(func.body) if isinstance(node, AttrStmt) and node.key == AttrKey.COPROC_UOP_SCOPE]
    assert isinstance(own.body, LetStmt)
    assert isinstance(func.body, LetStmt)
    assert sum(isinstance(node, LetStmt) for node in walk(func.body)) == 2


def test_contexts_of_several_devices_have_variables_of_their_own() -> None:
    contexts = [call_intrin("handle", "tir.tvm_thread_context", call_extern("handle", name)) for name in "abc"]
    calls = [Evaluate(call_extern("int32", "f", context)) for context in (*contexts, *contexts)]
    func = combine_context_call(PrimFunc([], seq(calls)), CONFIG)  # type: ignore[arg-type]
    names = [node.var.name for node in walk(func.body) if isinstance(node, LetStmt)]
    assert names == ["ctx_cache_", "ctx_cache_1", "ctx_cache_2"]
