"""Finding and replacing blocks and loops."""

import pytest

from tests.support.compiler.block_programs import gemm_relu
from vta.tir.expr import Var, const
from vta.tir.func import PrimFunc
from vta.tir.schedule import BlockScheduleError, Schedule
from vta.tir.schedule.tree import (
    block_named,
    chain_between,
    enclosing_block,
    fresh_name,
    loops_around,
    without_statement,
)
from vta.tir.stmt import Block, Evaluate, For, seq


def test_loops_and_blocks_around_a_block() -> None:
    func, _, _ = gemm_relu()
    block = block_named(func, "C")
    loops = loops_around(func, block)
    assert [loop.loop_var.name for loop in loops] == ["i", "j", "k"]
    assert chain_between(loops[0], loops[2]) == loops
    assert chain_between(loops[2], loops[0]) is None
    assert enclosing_block(func, block).name == "root"
    with pytest.raises(BlockScheduleError, match=r"^the root block has nothing around it"):
        enclosing_block(func, block_named(func, "root"))


def test_names_are_made_unique() -> None:
    func, _, _ = gemm_relu()
    assert [fresh_name(func, name) for name in ("C", "E")] == ["C_1", "E"]


def test_a_block_goes_with_the_loops_that_hold_nothing_else() -> None:
    func, _, _ = gemm_relu()
    rest = without_statement(func, block_named(func, "C"))
    assert [loop.loop_var.name for loop in loops_around(rest, block_named(rest, "D"))] == ["i", "j"]
    with pytest.raises(BlockScheduleError) as error:
        without_statement(rest, block_named(rest, "D"))
    assert str(error.value) == "the only thing that a block computes cannot be taken out of it"


def test_two_blocks_of_one_name_or_two_loops_over_one_variable_are_refused() -> None:
    i = Var("i")
    block = Block("B", (), (), Evaluate(i))
    loop = For(i, const(0), const(4), block)
    again = For(Var("j"), const(0), const(4), block)
    twice = PrimFunc("main", (), Block("root", (), (), seq([loop, again])))
    with pytest.raises(BlockScheduleError, match="has two blocks 'B'; rename one of them"):
        Schedule(twice)
    other = For(i, const(0), const(4), Block("C", (), (), Evaluate(i)))
    with pytest.raises(BlockScheduleError, match="has two loops over one variable 'i'"):
        Schedule(PrimFunc("main", (), Block("root", (), (), seq([loop, other]))))
