"""What counts as work of the accelerator, and what as the host's alone."""

import pytest

from tests.support.compiler.tir_build import block, buffer, call, loop, on, pragma, store, thread
from vta.passes.coproc_axis import coproc_axis, uop_scope
from vta.passes.host.host_only import is_accelerator_scope, is_host_only
from vta.tir.dtype import INT32
from vta.tir.expr import Builtin, Call
from vta.tir.stmt import Evaluate, Stmt

A = buffer("A", [8])
KERNEL = uop_scope(coproc_axis(), "VTAPushALUOp", store(A, 1, 0))


@pytest.mark.parametrize("stmt", [on(2, "gemm"), KERNEL, pragma("alu", store(A, 1, 0))])
def test_scopes_and_alu_pragmas_mark_the_accelerators_work(stmt: Stmt) -> None:
    assert is_accelerator_scope(stmt)
    assert not is_host_only(loop("i", 4, stmt))


@pytest.mark.parametrize(
    "stmt", [call("f"), Evaluate(Call(INT32, Builtin.COPROC_SYNC)), thread("v", 2, store(A, 1, 0))]
)
def test_calls_and_threads_are_not_the_hosts_alone(stmt: Stmt) -> None:
    assert not is_accelerator_scope(stmt)
    assert not is_host_only(block(store(A, 1, 0), stmt))


@pytest.mark.parametrize(
    "stmt", [store(A, A.load(1), 0), pragma("dma_copy", store(A, 1, 0)), loop("i", 4, store(A, 1, 0))]
)
def test_stores_loops_and_other_pragmas_are_the_hosts(stmt: Stmt) -> None:
    assert not is_accelerator_scope(stmt)
    assert is_host_only(stmt)
