"""Questions about programs."""

from vta.target import Target
from vta.tir import analysis
from vta.tir.buffer import decl_buffer
from vta.tir.calls import call_extern, call_pure_extern
from vta.tir.dtype import HANDLE, DType
from vta.tir.expr import IterVar, Let, PointerType, Var, const
from vta.tir.func import PrimFunc
from vta.tir.stmt import Allocate, AttrKey, AttrStmt, BufferStore, Evaluate, For, ForKind, LetStmt, Stmt, seq

i, n = Var("i"), Var("n")


def func(body: Stmt) -> PrimFunc:
    return PrimFunc("main", (n,), body)


def allocation(name: str, elements: int, body: Stmt, scope: str = "global") -> Allocate:
    return Allocate(Var(name, HANDLE, PointerType(DType("int16"), scope)), DType("int16"), (const(elements),), body)


def test_deep_equality_is_node_for_node() -> None:
    assert analysis.expr_deep_equal(i + 1, i + 1)
    assert not analysis.expr_deep_equal(i + 1, n + 1)


def test_a_variable_is_defined_once() -> None:
    loop = For(i, const(0), n, Evaluate(i))
    assert analysis.verify_ssa(func(loop))
    assert not analysis.verify_ssa(func(seq([loop, loop])))
    assert not analysis.verify_ssa(func(LetStmt(n, const(1), Evaluate(n))))
    assert not analysis.verify_ssa(func(For(i, const(0), n, Evaluate(Let(i, const(1), i)))))


def test_well_formed_means_verified() -> None:
    assert analysis.verify_well_formed(func(Evaluate(n)))
    assert not analysis.verify_well_formed(func(Evaluate(i)))


def test_host_code_keeps_out_of_scratchpads() -> None:
    pad = decl_buffer((8,), "int32", "pad", scope="local.acc_buffer")
    store = BufferStore(pad, const(1), (const(0),))
    assert not analysis.verify_memory(func(store))
    axis = IterVar(None, Var("vta"), thread_tag="vta")
    assert analysis.verify_memory(func(AttrStmt(axis, AttrKey.COPROC_SCOPE, const(2), store)))
    assert analysis.verify_memory(func(BufferStore(decl_buffer((8,), "int32", "a"), const(1), (const(0),))))


def test_workspace_is_what_is_held_at_one_time() -> None:
    one = allocation("a", 10, allocation("b", 3, Evaluate(n)))
    other = allocation("c", 12, Evaluate(n))
    assert analysis.calculate_workspace_bytes(func(seq([one, other]))) == 26
    assert analysis.calculate_workspace_bytes(func(seq([one, other])), 16) == 48
    assert analysis.calculate_workspace_bytes(func(allocation("p", 8, Evaluate(n), "local.acc_buffer"))) == 0


def test_variables_and_effects() -> None:
    assert analysis.undefined_vars(For(i, const(0), n, Evaluate(i))) == [n]
    assert analysis.undefined_vars(i + n, [n]) == [i]
    assert analysis.has_side_effect(call_extern("int32", "f", n))
    assert not analysis.has_side_effect(call_pure_extern("int32", "f", n))


def test_a_program_of_a_gpu_touches_memory_in_threads_alone() -> None:
    store = BufferStore(decl_buffer((8,), "int32", "a"), const(1), (i,))
    axis = IterVar(None, i, thread_tag="threadIdx.x")
    for target, plain in (("cuda", False), ("llvm", True)):
        bare = func(store).with_attr({"target": Target(target)})  # type: ignore[dict-item]  # a script's
        assert analysis.verify_memory(bare) is plain
        assert analysis.verify_memory(bare.with_body(AttrStmt(axis, AttrKey.THREAD_EXTENT, const(8), store)))
        threads = For(i, const(0), const(8), store, ForKind.THREAD_BINDING, "threadIdx.x")
        assert analysis.verify_memory(bare.with_body(threads))
