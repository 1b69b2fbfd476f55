"""Statements that other passes must have lowered are refused by name, wherever one stands."""

from collections.abc import Callable

import pytest

from isa.config import VTAConfig
from tests.support.compiler.tir_build import block, buffer, call, host_load, on, store, when
from vta.passes.sync.barriers import plan_barriers
from vta.passes.sync.dependencies import plan_dependencies
from vta.passes.sync.inject_coproc_sync import _may_leave_pushes
from vta.passes.sync.insertions import Insertions
from vta.passes.sync.sync_plan import plan_syncs
from vta.passes.vthread.thread_touched import touched_variables
from vta.tir.blocks import BlockError
from vta.tir.expr import Range, Var, convert
from vta.tir.stmt import Block, Prefetch, Stmt, While

CONFIG = VTAConfig()
A = buffer("A", [64])
SHARED = store(A, host_load(A, 0), 1)
"""The host touches A, so that barriers are planned for it."""


def inside(stmt: Stmt) -> Stmt:
    return block(SHARED, when(Var("n") > 0, stmt))


def syncs(stmt: Stmt) -> None:
    plan_syncs(inside(stmt), CONFIG)


def barriers_of_the_host(stmt: Stmt) -> None:
    plan_barriers(inside(stmt), CONFIG, {}, (), Insertions())


def barriers_of_a_module(stmt: Stmt) -> None:
    plan_barriers(block(SHARED, on(2, stmt)), CONFIG, {}, (), Insertions())


def threads(stmt: Stmt) -> None:
    touched_variables(inside(stmt), Var("v"), CONFIG)


def dependencies(stmt: Stmt) -> None:
    plan_dependencies(inside(stmt), (), Insertions())


def pushes(stmt: Stmt) -> None:
    _may_leave_pushes(inside(stmt), queued=False)


WALKS = (syncs, barriers_of_the_host, barriers_of_a_module, dependencies, pushes, threads)


@pytest.mark.parametrize("walk", WALKS)
def test_a_while_loop_is_refused(walk: Callable[[Stmt], None]) -> None:
    with pytest.raises(BlockError, match="a while loop is for programs of the host"):
        walk(While(Var("n") > 0, call("f")))


@pytest.mark.parametrize("walk", WALKS)
def test_a_prefetch_is_refused(walk: Callable[[Stmt], None]) -> None:
    with pytest.raises(BlockError, match="a prefetch of 'A' is left"):
        walk(Prefetch(A, (Range(convert(0), convert(4)),)))


@pytest.mark.parametrize("walk", WALKS)
def test_a_block_is_refused(walk: Callable[[Stmt], None]) -> None:
    with pytest.raises(BlockError, match="block 'update' is left; LowerBlocks must run"):
        walk(Block("update", (), (), call("f")))
