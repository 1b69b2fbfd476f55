"""Blocks as plain statements, and what they read and write."""

import pytest

from isa.config import VTAConfig
from tests.support.compiler.block_programs import gemm_relu
from vta.passes.generic.lift_attr_scope import lift_attr_scope
from vta.tir.blocks import BlockError, block_as_loops, block_reads, block_writes, blocks_in, without_blocks
from vta.tir.printer import to_text
from vta.tir.schedule.tree import block_named
from vta.tir.stmt import AttrKey


def test_a_reduction_starts_where_its_axes_do() -> None:
    func, _, _ = gemm_relu()
    text = to_text(block_as_loops(block_named(func, "C")))
    assert text.startswith("if (k: int32 == 0) {\n  C: Buffer(")
    assert (
        text.splitlines()[-1] == "C[i, j] = (C[i, j] + (A: Buffer(A_1: Pointer(float32), float32, [12, 8], [])[i, k]*"
        "B: Buffer(B_1: Pointer(float32), float32, [8, 10], [])[k, j]))"
    )


def test_no_block_is_left() -> None:
    func, _, _ = gemm_relu()
    assert [block.name for block in blocks_in(func.body)] == ["root", "C", "D"]
    assert list(blocks_in(without_blocks(func.body))) == []
    assert to_text(without_blocks(func.body)).startswith("realize(C: Buffer(")


def test_a_reduction_does_not_read_its_own_result() -> None:
    func, _, _ = gemm_relu()
    block = block_named(func, "C")
    assert [load.buffer.name for load in block_reads(block)] == ["A", "B"]
    assert {store.buffer.name for store in block_writes(block)} == {"C"}


def test_passes_refuse_a_block_that_is_left() -> None:
    func, _, _ = gemm_relu()
    with pytest.raises(BlockError) as error:
        lift_attr_scope(AttrKey.COPROC_SCOPE)(func, VTAConfig())
    assert str(error.value) == "block 'root' is left; LowerBlocks must run before this pass"
