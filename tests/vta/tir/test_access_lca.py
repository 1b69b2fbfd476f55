"""The innermost statement around all that touches a buffer."""

from vta import te
from vta.tir.analyses.access_lca import detect_buffer_access_lca
from vta.tir.blocks import blocks_in
from vta.tir.buffer import decl_buffer
from vta.tir.expr import IntImm, Var
from vta.tir.func import PrimFunc
from vta.tir.schedule import Schedule
from vta.tir.stmt import BufferStore, For, seq


def test_loops_around_all_accesses() -> None:
    a, b, c = (decl_buffer((16,), "int32", name) for name in "abc")
    i, j, k = Var("i"), Var("j"), Var("k")
    first = For(j, IntImm(0), IntImm(4), BufferStore(b, a.load(j), (j,)))
    second = For(k, IntImm(0), IntImm(4), BufferStore(c, b.load(k), (k,)))
    loop = For(i, IntImm(0), IntImm(4), seq([first, second]))
    found = detect_buffer_access_lca(PrimFunc("f", (a.data,), loop))
    assert (found[a], found[b], found[c]) == (first, loop, second)
    both = PrimFunc("f", (), seq([loop, BufferStore(a, 0, (IntImm(0),))]))
    assert detect_buffer_access_lca(both)[a] is None


def test_memory_between_blocks_and_arguments() -> None:
    x = te.placeholder((8, 8), name="x")
    y = te.compute((8, 8), lambda i, j: x[i, j] + 1.0, name="y")
    z = te.compute((8, 8), lambda i, j: y[i, j] * 2.0, name="z")
    sch = Schedule(te.create_prim_func([x, z]))
    root = next(blocks_in(sch.func.body))
    sch.compute_at("y", sch.get_loops("z")[0])
    found = {buffer.name: stmt for buffer, stmt in detect_buffer_access_lca(sch.func).items()}
    assert found["y"] is sch.get(sch.get_loops("z")[0])
    assert found["x"] is found["z"] is sch.func.body
    assert root.name == "root"
