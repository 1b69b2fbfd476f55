"""The host reaches device memory through the pointer that the runtime gives."""

from isa.config import VTAConfig
from tests.support.compiler.tir_build import alloc, block, buffer, call, function, loop, on, store
from vta.passes.host.cpu_access_rewrite import cpu_access_rewrite
from vta.tir.expr import BufferLoad, Var
from vta.tir.printer import to_text
from vta.tir.stmt import Allocate, BufferStore, LetStmt
from vta.tir.traverse import walk
from vta.tir.verify import verify

CONFIG = VTAConfig()


def test_arguments_get_their_pointers_at_the_beginning() -> None:
    a, c = buffer("A", [16]), buffer("C", [16])
    i = Var("i")
    func = cpu_access_rewrite(function(loop(i, 16, store(c, a.load(i) + 1, i)), a, c), CONFIG)
    queue = "@tir.tvm_thread_context(@tir.vta.command_handle(, dtype=handle), dtype=handle)"
    assert [line.strip() for line in to_text(func.body).splitlines()[:2]] == [
        f'let {x}_ptr: Pointer(int32) = @tir.call_extern("VTABufferCPUPtr", {queue}, {x}: Pointer(int32), dtype=handle)'
        for x in "AC"
    ]
    accessed = {n.buffer.data.name for n in walk(func.body) if isinstance(n, BufferLoad | BufferStore)}
    assert accessed == {"A_ptr", "C_ptr"}
    verify(func)


def test_memory_of_the_function_gets_its_pointer_inside_the_allocation() -> None:
    t, c = buffer("T", [16]), buffer("C", [16])
    body = alloc(t, block(store(t, 1, 0), store(c, t.load(0), 0)))
    func = cpu_access_rewrite(function(body, c), CONFIG)
    assert isinstance(func.body, LetStmt)
    assert func.body.var.name == "C_ptr"
    assert isinstance(func.body.body, Allocate)
    assert isinstance(func.body.body.body, LetStmt)
    assert func.body.body.body.var.name == "T_ptr"
    verify(func)


def test_a_function_in_which_the_host_touches_nothing_is_left_alone() -> None:
    a = buffer("A", [16])
    func = function(on(1, call("VTALoadBuffer2D", a.data)), a)
    assert cpu_access_rewrite(func, CONFIG) is func


def test_indices_that_read_memory_are_redirected_too() -> None:
    a, b, c = buffer("A", [16]), buffer("B", [16]), buffer("C", [16])
    func = cpu_access_rewrite(function(store(c, a.load(b.load(0)), b.load(1)), a, b, c), CONFIG)
    accessed = {n.buffer.data.name for n in walk(func.body) if isinstance(n, BufferLoad | BufferStore)}
    assert accessed == {"A_ptr", "B_ptr", "C_ptr"}
