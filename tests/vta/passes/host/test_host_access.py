"""Host code that touches on-chip memory is refused, and the sentence names the stage and what is missing."""

import pytest

import vta
from isa.config import VTAConfig
from isa.origin import Origin
from tests.support.compiler.tir_build import block, buffer, host_load, loop, on, pragma, store
from vta import te
from vta.passes.host.host_access import HostAccessError, check_host_access
from vta.tir.expr import Var
from vta.tir.scopes import ACC_SCOPE, INP_SCOPE
from vta.tir.stmt import BufferStore, Stmt

ACC, INP = buffer("acc", [64], "int32", ACC_SCOPE), buffer("inp", [64], "int8", INP_SCOPE)
DRAM = buffer("d", [64])
MARK = (
    "mark the outermost loop of the stage with pragma env.dma_copy (a copy) or env.alu (arithmetic), or tensorize it "
    "with env.gemm"
)


def refusal(body: Stmt) -> str:
    with pytest.raises(HostAccessError) as error:
        check_host_access(body, VTAConfig())
    return str(error.value)


def test_the_accelerator_and_other_memory_may_be_touched() -> None:
    i = Var("i")
    scope = on(2, loop(i, 4, store(ACC, ACC.load(i) + 1, i)))
    check_host_access(block(scope, loop("j", 4, store(DRAM, 1, 0))), VTAConfig())
    local = buffer("tmp", [4], "int32", "local")
    check_host_access(store(local, local.load(0), 1), VTAConfig())


def test_a_write_names_the_stage_and_the_pragmas_around_it() -> None:
    i = Var("i")
    body = loop(i, 4, BufferStore(ACC, DRAM.load(i), (i,), Origin("A_buf", "add.py:7")))
    assert refusal(body) == (
        "stage 'A_buf' (add.py:7): the host writes 'acc' in local.acc_buffer: expected work of the accelerator, which "
        f"alone reaches this memory, got loops of the host; {MARK}"
    )
    assert "got loops of the host under pragma 'dma_cpy', 'unroll'; " in refusal(
        pragma("dma_cpy", pragma("unroll", body))
    )


def test_a_read_is_refused_wherever_it_stands() -> None:
    expected = (
        "the function: the host reads 'inp' in local.inp_buffer: expected work of the accelerator, which alone reaches "
        f"this memory, got loops of the host; {MARK}"
    )
    assert refusal(store(DRAM, host_load(INP, 0).astype("int32"), 0)) == expected
    assert refusal(loop("i", host_load(INP, 0).astype("int32"), store(DRAM, 1, 0))) == expected


@pytest.mark.parametrize("reorder", [True, False])
def test_initial_values_outside_of_the_pragma_are_refused_with_the_way_out(reorder: bool) -> None:
    env = vta.get_env()
    x = te.placeholder((3, 4, env.BATCH, env.BLOCK_OUT), name="x", dtype=env.acc_dtype)
    loaded = te.compute(x.shape, lambda *i: x(*i), "loaded")
    k = te.reduce_axis((0, 3), "k")
    total = te.compute(x.shape[1:], lambda *i: te.sum(loaded(k, *i), axis=k), "total")
    out = te.compute(x.shape[1:], lambda *i: total(*i).astype(env.out_dtype), "out")
    s = te.create_schedule(out.op)
    for tensor in (loaded, total):
        s[tensor].set_scope(env.acc_scope)
    s[loaded].pragma(s[loaded].op.axis[0], env.dma_copy)
    s[out].pragma(s[out].op.axis[0], env.dma_copy)
    if not reorder:
        s[total].pragma(s[total].op.axis[0], env.alu)
        vta.lower(s, [x, out])
        return
    s[total].reorder(k, *s[total].op.axis)
    marked = s.normalize()
    marked[total].pragma(k, env.alu)
    with pytest.raises(HostAccessError) as error:
        vta.lower(marked, [x, out])
    assert str(error.value).endswith(
        "the host writes 'total' in local.acc_buffer: expected work of the accelerator, which alone reaches this "
        "memory, got loops of the host; the initial values of a reduction are set before its outermost reduction "
        "loop: mark a loop around that one (s[stage].fuse() without arguments makes one)"
    )
    s[total].pragma(s[total].fuse(), env.alu)
    vta.lower(s, [x, out])
