"""The memory of one thread is planned before threads multiply it."""

from isa.config import VTAConfig
from tests.support.compiler.tir_build import alloc, block, buffer, function, loop, store, thread
from vta.passes.storage.early_rewrite import early_rewrite
from vta.passes.storage.storage_rewrite import storage_rewrite
from vta.passes.vthread.inject_virtual_thread import inject_virtual_thread
from vta.tir.buffer import Buffer
from vta.tir.expr import IntImm, Var
from vta.tir.scopes import ACC_SCOPE
from vta.tir.stmt import Allocate, BufferStore, Stmt
from vta.tir.traverse import walk

CONFIG = VTAConfig()


def acc(name: str, elements: int) -> Buffer:
    return buffer(name, [elements * 16], "int32", ACC_SCOPE)


def each(memory: Buffer, value: Buffer | int, count: int) -> Stmt:
    i = Var("i")
    return loop(i, count * 16, store(memory, value if isinstance(value, int) else value.load(i) >> 8, i))


def sizes(stmt: Stmt) -> list[int]:
    found = [n.extents[0] for n in walk(stmt) if isinstance(n, Allocate)]
    return [extent.value for extent in found if isinstance(extent, IntImm)]


def test_a_chain_of_stages_shares_the_memory_of_its_first() -> None:
    conv, shr, out = acc("conv", 49), acc("shr", 49), buffer("out", [784])
    body = thread("v", 2, alloc(conv, alloc(shr, each(conv, 1, 49), each(shr, conv, 49), each(out, shr, 49))))
    assert sizes(early_rewrite(function(body, out), CONFIG).body) == [784]


def test_every_thread_has_the_layout_of_a_single_one() -> None:
    conv, bias = acc("conv", 49), acc("bias", 1)
    v, w, i = Var("v"), Var("w"), Var("i")
    add = loop(i, 16, store(conv, conv.load(i) + bias.load(i), i))
    body = thread(v, 2, thread(w, 2, alloc(conv, alloc(bias, each(conv, 1, 49), each(bias, 2, 1), add))))
    early = early_rewrite(function(body), CONFIG)
    assert sizes(early.body) == [800]
    threaded = storage_rewrite(inject_virtual_thread(early, CONFIG), CONFIG)
    assert sizes(threaded.body) == [3200]
    bases = [str(n.indices[0]) for n in walk(threaded.body) if isinstance(n, BufferStore)]
    assert any("784" in base for base in bases)
    assert all("800" in base for base in bases)


def test_limits_are_left_to_the_plan_for_all_threads() -> None:
    large = acc("large", 5000)
    func = function(block(alloc(large, each(large, 1, 5000))))
    assert sizes(early_rewrite(func, CONFIG).body) == [80000]
