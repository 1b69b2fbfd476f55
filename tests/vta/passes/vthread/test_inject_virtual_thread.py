"""Virtual threads: interleaved statement by statement, memory for each, results as if they ran one after the other."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isa.config import VTAConfig
from isa.instructions import MemoryId
from tests.support.compiler.tir_build import (
    AXIS,
    alloc,
    buffer,
    call,
    function,
    loop,
    on,
    outline,
    realize,
    store,
    thread,
    when,
)
from vta.passes.coproc_axis import uop_scope
from vta.passes.sync.calls import command_handle, write_barrier
from vta.passes.vthread.inject_virtual_thread import VIRTUAL_THREADS, VirtualThreadError, inject_virtual_thread
from vta.tir.buffer import Buffer
from vta.tir.expr import Builtin, Call, Expr, IntImm, IterKind, IterVar, Var, convert
from vta.tir.func import PrimFunc
from vta.tir.interpreter.run import run_func
from vta.tir.printer import to_text
from vta.tir.scopes import ACC_SCOPE, INP_SCOPE
from vta.tir.stmt import Allocate, AttrKey, AttrStmt, BufferStore, IfThenElse, LetStmt, Stmt
from vta.tir.traverse import walk

CONFIG = VTAConfig()


def inject(body: Stmt, *params: Buffer) -> PrimFunc:
    return inject_virtual_thread(function(body, *params), CONFIG)


def sizes(func: PrimFunc) -> dict[str, int]:
    found = {}
    for stmt in walk(func.body):
        if isinstance(stmt, Allocate):
            [extent] = stmt.extents
            assert isinstance(extent, IntImm)
            found[stmt.buffer_var.name] = extent.value
    return found


# --- which memory is divided -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("tag", "expected"), [("vthread", 8), ("cthread", 16)])
def test_vthread_divides_for_the_axis_that_matters_cthread_for_every_axis(tag: str, expected: int) -> None:
    a, b, c = buffer("A", [100], "float32"), buffer("B", [4], "float32", "shared"), buffer("C", [200], "float32")
    tx, ty, i = Var("tx"), Var("ty"), Var("i")
    statements = [
        store(b, a.load(i * 2 + tx), i),
        call("Run", b.access_ptr("r")),
        store(c, b.load(i) + 1.0, i * 2 + tx),
    ]
    body = loop(i, 100, thread(tx, 2, thread(ty, 2, alloc(b, *statements), tag=tag), tag=tag))
    assert sizes(inject(body, a, c)) == {"B": expected}


@pytest.mark.parametrize(
    ("tag", "expected"), [("vthread", {"A": 8, "B": 8, "C": 16}), ("cthread", {"A": 16, "B": 16, "C": 16})]
)
def test_memory_that_a_call_writes_depends_on_what_the_call_reads(tag: str, expected: dict[str, int]) -> None:
    a, b, c = (buffer(name, [4], "float32", "shared") for name in "ABC")
    tx, ty = Var("tx"), Var("ty")
    statements = [
        store(a, tx.astype("float32") + 1.0, tx),
        store(b, ty.astype("float32") + 1.0, ty),
        call("Run", a.access_ptr("r"), b.access_ptr("r"), c.access_ptr("rw")),
    ]
    body = thread(tx, 2, thread(ty, 2, alloc(a, alloc(b, alloc(c, *statements))), tag=tag), tag=tag)
    assert sizes(inject(loop("i", 100, body))) == expected


def test_branches_keep_their_structure() -> None:
    a, b = buffer("A", [300], "float32"), buffer("B", [128], "float32", "shared")
    tx, i = Var("tx"), Var("i")
    at = i * 2 + tx
    body = loop(i, 100, thread(tx, 2, alloc(
        b,
        when(i == 0, store(b, a.load(at), i), store(b, a.load(at) + 1.0, i)),
        when(i == 0, store(b, a.load(at) + 2.0, i)),
    ), tag="vthread"))  # fmt: skip
    conditions = [n for n in walk(inject(body, a).body) if isinstance(n, IfThenElse)]
    assert [n.else_case is not None for n in conditions] == [True, False]


def test_memory_that_is_written_under_a_condition_on_the_thread_is_divided() -> None:
    b, out, tx = buffer("B", [1], "int32", "shared"), buffer("out", [2]), Var("tx")
    body = thread(
        tx, 2, alloc(b, when(tx == 0, store(b, 1, 0), store(b, 2, 0)), store(out, b.load(0), tx)), tag="vthread"
    )
    func = inject(body, out)
    assert sizes(func) == {"B": 2}
    result = np.zeros(2, np.int32)
    run_func(func, [result])
    assert result.tolist() == [1, 2]


def test_shared_memory_is_filled_once() -> None:
    b, out, tx = buffer("B", [4], "int32", "shared"), buffer("out", [8]), Var("tx")
    i, j = Var("i"), Var("j")
    body = thread(
        tx, 2, alloc(b, loop(i, 4, store(b, i * 5, i)), loop(j, 4, store(out, b.load(j), tx * 4 + j))), tag="vthread"
    )
    func = inject(body, out)
    assert sizes(func) == {"B": 4}
    assert sum(isinstance(n, BufferStore) and n.buffer.data is b.data for n in walk(func.body)) == 1
    result = np.zeros(8, np.int32)
    run_func(func, [result])
    assert result.tolist() == [0, 5, 10, 15] * 2


@pytest.mark.parametrize("tag", ["vthread", "cthread"])
def test_what_a_load_fills_for_one_thread_is_its_own(tag: str) -> None:
    a, b = buffer("A", [64]), buffer("B", [32], "int32", ACC_SCOPE)
    v = Var("v")
    load = call("VTALoadBuffer2D", command_handle(), a.data, v * 2, 2, 1, 2, 0, 0, 0, 0, b.access_ptr("r"), 3)
    assert sizes(inject(thread(v, 2, alloc(b, on(2, load)), tag=tag), a)) == {"B": 64}


@pytest.mark.parametrize("tag", ["vthread", "cthread"])
def test_temporaries_in_dram_are_divided_in_tiles_for_dma_and_in_elements_for_barriers(tag: str) -> None:
    d, b = buffer("d", [32], "int8"), buffer("B", [32], "int32", ACC_SCOPE)
    v = Var("v")
    place = b.access_ptr("r")
    body = thread(v, 20, alloc(d, alloc(
        b,
        call("VTALoadBuffer2D", command_handle(), Var("x"), v, 2, 1, 2, 0, 0, 0, 0, place, int(MemoryId.ACC)),
        call("VTAStoreBuffer2D", command_handle(), place, int(MemoryId.OUT), d.data, 1, 1, 1, 1),
        write_barrier(d.data, 8, IntImm(16), IntImm(16)),
        call("VTALoadBuffer2D", command_handle(), d.data, 0, 2, 1, 2, 0, 0, 0, 0, place, int(MemoryId.ACC_8BIT)),
    )), tag=tag)  # fmt: skip
    func = inject(body)
    assert sizes(func) == {"d": 640, "B": 640}
    calls = [n for n in walk(func.body) if isinstance(n, Call) and n.op is Builtin.CALL_EXTERN]
    assert [to_text(made.args[at]) for made, at in zip(calls, (3, 5, 4, 3), strict=True)] == [
        "v.s", "(1 + (v.s*2))", "(16 + (v.s*32))", "(v.s*2)",
    ]  # fmt: skip


# --- what is repeated as one -----------------------------------------------------------------------------------------


def test_statements_of_all_threads_stand_side_by_side() -> None:
    body = thread("v", 2, on(1, "pop", "load", "push"), loop("k", 3, on(2, "gemm")), call("pop"))
    assert outline(inject(body).body) == [
        "[1] pop load push",
        "[1] pop load push",
        "for k {",
        "  [2] gemm",
        "  [2] gemm",
        "}",
        "pop",
        "pop",
    ]


def test_a_scope_with_a_loop_inside_is_repeated_by_a_loop() -> None:
    body = thread("cthread", 2, on(2, loop("i", 4, call("gemm"))), on(3, "store"))
    assert outline(inject(body).body) == [
        "for cthread.s {",
        "  [2] for i { gemm }",
        "}",
        "[3] store",
        "[3] store",
    ]


def test_a_kernel_is_repeated_whole_for_vthreads_too() -> None:
    memory, v, i = buffer("m", [16], "int32", ACC_SCOPE), Var("v"), Var("i")
    kernel = uop_scope(AXIS, "VTAPushALUOp", loop(i, 4, when(v * 4 + i < 7, store(memory, v, i))))
    text = outline(inject(thread(v, 2, alloc(memory, on(2, "pop", kernel, "push")), tag="vthread")).body)
    assert text[1:-1] == ["  [2] pop for v.s { coproc_uop_scope { for i { if { m[] } } } } push"]


def test_a_loop_whose_extent_depends_on_the_thread_is_repeated_whole() -> None:
    v = Var("v")
    body = thread(v, 2, loop("i", v + 1, on(1, "load")))
    assert outline(inject(body).body) == ["for v.s {", "  for i {", "    [1] load", "  }", "}"]


def test_a_let_and_a_condition_on_the_thread_are_repeated_whole() -> None:
    v, x = Var("v"), Var("x")
    text = outline(inject(thread(v, 2, LetStmt(x, v * 2, on(1, call("load", x))))).body)
    assert text == ["let x {", "  [1] load", "}", "let x {", "  [1] load", "}"]
    text = outline(inject(thread(v, 2, when(v > 0, on(1, "load")))).body)
    assert text == ["if {", "  [1] load", "}"] * 2


def test_copies_do_not_share_the_variables_that_they_define() -> None:
    v, x = Var("v"), Var("x")
    func = inject(thread(v, 3, LetStmt(x, v * 2, call("f", x))))
    lets = [n.var for n in walk(func.body) if isinstance(n, LetStmt)]
    assert len({id(var) for var in lets}) == 3


def test_access_pointers_move_by_the_size_of_one_thread() -> None:
    memory = buffer("x_buf", [32], "int8", INP_SCOPE)
    body = thread("v", 2, alloc(memory, on(1, call("load", memory.access_ptr("w", "int32", offset=16)))))
    func = inject(body)
    offsets = [n.args[2] for n in walk(func.body) if hasattr(n, "op") and n.op == "tir.tvm_access_ptr"]
    assert [to_text(e) for e in offsets] == ["(16 + (0*32))", "(16 + (1*32))"]
    assert sizes(func) == {"x_buf": 64}


def test_access_pointers_of_vectors_move_in_vectors() -> None:
    memory = buffer("x_buf", [32], "int8", INP_SCOPE)
    v = Var("v")
    body = thread(v, 20, alloc(memory, on(1, call("load", memory.access_ptr("w", "int32", content_lanes=16)))))
    [offset] = [n.args[2] for n in walk(inject(body).body) if hasattr(n, "op") and n.op == "tir.tvm_access_ptr"]
    assert to_text(offset) == "(v.s*2)"


def test_fifteen_threads_are_written_out_sixteen_are_a_loop() -> None:
    assert outline(inject(thread("v", 15, on(1, "load"))).body) == ["[1] load"] * 15
    assert outline(inject(thread("v", 16, on(1, "load"))).body) == ["for v.s {", "  [1] load", "}"]


def test_a_single_thread_leaves_no_trace() -> None:
    assert outline(inject(thread("v", 1, loop("i", 2, on(1, "load")))).body) == ["for i {", "  [1] load", "}"]


def test_memory_inside_of_a_repeated_statement_is_divided_too() -> None:
    memory = buffer("x_buf", [32], "int8", INP_SCOPE)
    body = thread("v", 2, on(1, alloc(memory, loop("i", 2, call("load", memory.access_ptr("w", "int32"))))))
    assert sizes(inject(body)) == {"x_buf": 64}


def test_later_passes_can_tell_that_threads_divide_the_memory() -> None:
    plain = function(on(1, "load"))
    assert inject_virtual_thread(plain, CONFIG) is plain
    assert inject(thread("v", 2, on(1, "load"))).attrs == {VIRTUAL_THREADS: True}


def test_br_068_sixty_four_threads_are_bounded_code() -> None:
    x, y, t = buffer("X", [6400]), buffer("Y", [6400]), buffer("T", [100], "int32", "local")
    v = Var("v")
    i, j = Var("i"), Var("j")
    copy = loop(i, 100, store(t, x.load(v * 100 + i) * 2, i))
    add = loop(j, 100, store(y, t.load(j) + 1, v * 100 + j))
    func = inject(thread(v, 64, alloc(t, copy, add), tag="vthread"), x, y)
    assert sum(1 for _ in walk(func.body)) < 100
    values = np.arange(6400, dtype=np.int32)
    result = np.zeros(6400, np.int32)
    run_func(func, [values, result])
    np.testing.assert_array_equal(result, values * 2 + 1)


# --- refusals --------------------------------------------------------------------------------------------------------


def test_a_number_of_threads_that_is_not_constant_is_refused() -> None:
    axis = IterVar(None, Var("v"), IterKind.THREAD_INDEX, "cthread")
    with pytest.raises(VirtualThreadError) as error:
        inject(AttrStmt(axis, AttrKey.VIRTUAL_THREAD, Var("n"), on(1, "load")))
    assert str(error.value) == (
        "the function: virtual thread axis 'v': expected a constant number of threads, at least 1, got an extent that "
        "is computed; bind an axis whose extent is a constant, for example the outer part of split(nparts=2)"
    )
    with pytest.raises(VirtualThreadError, match="got 0"):
        inject(thread("v", 0, on(1, "load")))


def test_memory_with_dimensions_is_refused() -> None:
    memory = buffer("m", [4, 4])
    body = thread("v", 2, alloc(memory, store(memory, 1, 0, 0)))
    with pytest.raises(VirtualThreadError) as error:
        inject(body)
    assert str(error.value) == (
        "the function: buffer 'm': expected one dimension, got 2 dimensions; run StorageFlatten first"
    )


def test_a_realised_region_is_refused() -> None:
    memory = buffer("m", [4])
    with pytest.raises(VirtualThreadError) as error:
        inject(thread("v", 2, realize(memory, [(0, 4)], store(memory, 1, 0))))
    assert str(error.value) == (
        "the function: buffer 'm': expected one-dimensional memory, got a region of a tensor; run StorageFlatten first"
    )


def test_memory_for_all_threads_that_cannot_be_indexed_is_refused() -> None:
    memory = buffer("m", [1 << 26])
    with pytest.raises(VirtualThreadError) as error:
        inject(thread("v", 64, alloc(memory, store(memory, 1, 0))))
    assert str(error.value) == (
        "the function: buffer 'm': expected at most 2147483647 elements for all threads, got 67108864 for each of 64 "
        "threads of 'v'; use fewer threads or smaller tiles"
    )


def test_a_plain_pointer_to_memory_that_threads_divide_is_refused() -> None:
    memory = buffer("m", [32])
    with pytest.raises(VirtualThreadError) as error:
        inject(thread("v", 2, alloc(memory, call("f", memory.data))))
    assert str(error.value) == (
        "the function: buffer 'm', which every thread of 'v' has a part of: expected an access pointer in every call "
        "that uses it, got a plain pointer in a call of \"f\"; pass buffer.access_ptr('rw')"
    )


def test_a_part_of_dram_that_is_no_number_of_tiles_is_refused() -> None:
    memory, on_chip = buffer("m", [24], "int8"), buffer("b", [32], "int32", ACC_SCOPE)
    store_call = call("VTAStoreBuffer2D", command_handle(), on_chip.access_ptr("r"), 4, memory.data, 0, 1, 1, 1)
    with pytest.raises(VirtualThreadError) as error:
        inject(thread("v", 2, alloc(memory, alloc(on_chip, store_call))))
    assert str(error.value) == (
        "the function: buffer 'm', which every thread of 'v' has a part of: expected a constant number of whole tiles "
        "of 16 numbers for each thread, as DMA counts in tiles, got 24 numbers; make the innermost dimensions of the "
        "tensor a tile"
    )


# --- random programs -------------------------------------------------------------------------------------------------


@st.composite
def threaded(draw: st.DrawFn) -> tuple[Callable[[], tuple[Stmt, Buffer]], str]:
    """A program of one or two nested thread axes that computes through memory of its own."""
    counts = draw(st.lists(st.sampled_from([1, 2, 3, 17]), min_size=1, max_size=2))
    kinds = draw(st.lists(st.sampled_from(["loop", "element", "condition", "nest"]), min_size=1, max_size=5))
    tag = draw(st.sampled_from(["cthread", "vthread"]))

    def make() -> tuple[Stmt, Buffer]:
        variables = [Var(f"v{n}") for n in range(len(counts))]
        linear: Expr = convert(0)
        for var, count in zip(variables, counts, strict=True):
            linear = linear * count + var
        out = buffer("out", [int(np.prod(counts)) * 4])
        memories = [buffer(f"m{n}", [4], "int32", "local") for n in range(2)]
        i = Var("i")
        body: list[Stmt] = [
            loop(i, 4, store(memories[0], i * 7, i)),
            loop(j := Var("j"), 4, store(memories[1], linear * 3 + j, j)),
        ]
        for number, kind in enumerate(kinds):
            body.append(_statement(kind, number, memories, linear))
        k = Var("k")
        body.append(loop(k, 4, store(out, memories[0].load(k) * 5 + memories[1].load(k), linear * 4 + k)))
        stmt: Stmt = alloc(memories[0], alloc(memories[1], *body))
        for var, count in reversed(list(zip(variables, counts, strict=True))):
            stmt = thread(var, count, stmt, tag=tag)
        return stmt, out

    return make, tag


def _statement(kind: str, number: int, memories: list[Buffer], linear: Expr) -> Stmt:
    a, b = memories[number % 2], memories[(number + 1) % 2]
    i, j = Var("i"), Var("j")
    match kind:
        case "loop":
            return loop(i, 4, store(a, a.load(i) + b.load(3 - i), i))
        case "element":
            return store(a, b.load(number % 4) + 1, 1)
        case "condition":
            return when(linear % 2 == 0, store(a, b.load(0) * 2, 2), store(a, 9, 3))
        case _:
            return loop(i, 2, loop(j, 2, store(b, a.load(i * 2 + j) - linear, i * 2 + j)))


@settings(max_examples=120, deadline=None)
@given(threaded())
def test_interleaved_threads_compute_what_they_compute_one_after_the_other(
    made: tuple[Callable[[], tuple[Stmt, Buffer]], str],
) -> None:
    make, _ = made
    body, out = make()
    func = function(body, out)
    [size] = out.shape
    assert isinstance(size, IntImm)
    before, after = np.zeros(size.value, np.int32), np.zeros(size.value, np.int32)
    run_func(func, [before])
    injected = inject_virtual_thread(func, CONFIG)
    run_func(injected, [after])
    np.testing.assert_array_equal(after, before)
    assert not any(isinstance(n, AttrStmt) for n in walk(injected.body))


# --- memory that is used in turn -------------------------------------------------------------------------------------


def test_a_rotating_axis_is_a_loop_with_a_copy_of_its_memory_for_each_iteration() -> None:
    a, b = buffer("A", [4], "int32", ACC_SCOPE), buffer("B", [8], "int32", INP_SCOPE)
    t, k = Var("t"), Var("k")
    inner = thread(
        k,
        3,
        alloc(b, call("Load", b.access_ptr("w")), call("Add", b.access_ptr("r"), a.access_ptr("rw"))),
        tag="rotate",
    )
    func = inject(thread(t, 2, alloc(a, inner), tag="rotate"))
    assert [line.strip() for line in outline(func.body)] == [
        "for t {", "allocate A {", "for k {", "allocate B {", "Load", "Add", "}", "}", "}", "}",
    ]  # fmt: skip
    assert sizes(func) == {"A": 8, "B": 24}  # the inner axis divides its own memory, and the outer one leaves it alone
    offsets = {
        node.args[1]: to_text(node.args[2])
        for node in walk(func.body)
        if isinstance(node, Call) and node.op is Builtin.ACCESS_PTR
    }
    assert offsets == {a.data: "(t*4)", b.data: "(k*8)"}


def test_memory_for_all_threads_may_be_as_large_as_an_index_reaches() -> None:
    memory = buffer("m", [(1 << 31) // 64 - 1])
    inject(thread("v", 64, alloc(memory, store(memory, 1, 0))))
    with pytest.raises(VirtualThreadError):
        inject(thread("v", 64, alloc(buffer("m", [(1 << 31) // 64]), store(memory, 1, 0))))
    whole = buffer("m", [(1 << 31) - 1])
    inject(thread("v", 1, alloc(whole, store(whole, 1, 0))))


@pytest.mark.parametrize(("tag", "size"), [("vthread", 4), ("cthread", 8)])
def test_what_a_repeated_statement_only_reads_is_shared_by_vthreads(tag: str, size: int) -> None:
    memory, out, v = buffer("M", [4], "int32", "local.x"), buffer("out", [64]), Var("v")
    body = alloc(memory, store(out, memory.load(0), v))
    assert sizes(inject(thread(v, 2, loop("i", v + 1, body), tag=tag), out)) == {"M": size}


@pytest.mark.parametrize("tag", ["vthread", "cthread"])
def test_what_a_repeated_statement_fills_is_each_threads_own(tag: str) -> None:
    memory, out, v = buffer("M", [4], "int32", "local.x"), buffer("out", [64]), Var("v")
    body = alloc(memory, store(memory, v, 0), store(out, memory.load(0), v))
    assert sizes(inject(thread(v, 2, loop("i", v + 1, body), tag=tag), out)) == {"M": 8}
