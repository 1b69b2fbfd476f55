"""ALU stages as kernels: the recorded ones for simple stages, room for temporaries, what is refused."""

import pytest

from tests.support.compiler.tir_build import alloc, block, buffer, call, function, loop, store
from tests.support.configs import CONFIGS
from tests.support.hw.alu_stage import (
    ADD,
    DEFAULT,
    MAX,
    SHR,
    accumulator,
    check,
    elementwise,
    kernels,
    lower,
    refusal,
    stage,
)
from tests.support.isa.alu_model import Kernel, kernels_of
from vta.passes.alu.expression import AluError
from vta.passes.alu.inject_alu_intrin import inject_alu_intrin
from vta.passes.storage.tagged_merge import CapacityError
from vta.tir import ops
from vta.tir.expr import Var, convert
from vta.tir.scopes import ACC_SCOPE
from vta.tir.stmt import Allocate, Stmt


def test_an_immediate_operation_in_place_is_one_kernel() -> None:
    assert kernels(elementwise(lambda x: x >> 8, 8, 0, 0)) == [Kernel(((8, 1, 1, 0),), ((1, 0, 0, 0, 0, SHR, 1, 8),))]


def test_two_operands_are_one_kernel() -> None:
    expected = [Kernel(((8, 1, 1, 0),), ((1, 0, 0, 8, 0, ADD, 0, 0),))]
    assert kernels(elementwise(lambda x, y: x + y, 8, 0, 0, 8)) == expected


def test_the_operand_that_is_not_the_result_is_the_source() -> None:
    expected = [Kernel(((8, 1, 1, 0),), ((1, 0, 8, 0, 0, MAX, 0, 0),))]
    assert kernels(elementwise(lambda x, y: ops.max(x, y), 8, 8, 0, 8)) == expected


def test_a_copy_in_place_shifts_by_nothing() -> None:
    assert kernels(elementwise(lambda x: x, 8, 0, 0)) == [Kernel(((8, 1, 1, 0),), ((1, 0, 0, 0, 0, SHR, 1, 0),))]


def test_a_left_shift_is_a_negative_right_shift() -> None:
    assert kernels(elementwise(lambda x: x << 3, 4, 0, 0)) == [Kernel(((4, 1, 1, 0),), ((1, 0, 0, 0, 0, SHR, 1, -3),))]


def test_a_single_element_needs_no_loop() -> None:
    assert kernels(elementwise(lambda x: x + 1, 1, 2, 2)) == [Kernel((), ((1, 0, 2, 2, 0, ADD, 1, 1),))]


def test_loops_that_continue_each_other_are_folded() -> None:
    acc = accumulator(64)
    i, j, k = Var("i"), Var("j"), Var("k")
    at = i * 128 + j * 16 + k
    body = loop(i, 4, loop(j, 8, loop(k, 16, store(acc, acc.load(at) + 1, at))))
    expected = [Kernel(((32, 1, 1, 0),), ((1, 0, 0, 0, 0, ADD, 1, 1),))]
    assert kernels_of(check(acc, stage(body)).body) == expected


def test_an_operand_that_is_the_same_for_a_loop_has_step_zero() -> None:
    acc = accumulator(64)
    i, k = Var("i"), Var("k")
    body = loop(i, 49, loop(k, 16, store(acc, acc.load(i * 16 + k) + acc.load(k + 784), i * 16 + k)))
    expected = [Kernel(((49, 1, 0, 0),), ((1, 0, 0, 49, 0, ADD, 0, 0),))]
    assert kernels_of(check(acc, stage(body)).body) == expected


@pytest.mark.parametrize("name", CONFIGS)
def test_every_configuration_counts_in_its_own_elements(name: str) -> None:
    config = CONFIGS[name]
    acc = accumulator(12, config)
    lanes = config.batch * config.block_out
    i, b, k = Var("i"), Var("b"), Var("k")
    row = b * config.block_out if config.batch > 1 else convert(0)
    at = i * lanes + row + k
    inner: Stmt = loop(k, config.block_out, store(acc, acc.load(at) + acc.load(at + 6 * lanes), at))
    body = loop(i, 6, loop(b, config.batch, inner) if config.batch > 1 else inner)
    lowered = check(acc, stage(body), config)
    assert kernels_of(lowered.body) == [Kernel(((6, 1, 1, 0),), ((1, 0, 0, 6, 0, ADD, 0, 0),))]


def test_temporaries_of_one_stage_are_used_again_by_the_next() -> None:
    acc = accumulator(8)
    twice = elementwise(lambda b: ops.max(b, ops.min(b + 9, 4)), 8, 0, 0)
    lowered = check(acc, block(stage(twice(acc)), stage(twice(acc))))
    assert isinstance(lowered.body, Allocate)
    assert [e.value for e in lowered.body.extents] == [256]


def test_a_function_without_alu_stages_is_left_alone() -> None:
    func = function(alloc(acc := accumulator(4), store(acc, 1, 0)))
    assert inject_alu_intrin(func, DEFAULT) is func


def test_two_blocks_of_accumulator_memory_are_refused() -> None:
    acc, other = accumulator(8), buffer("more", [128], "int32", ACC_SCOPE)
    with pytest.raises(AluError) as error:
        inject_alu_intrin(function(alloc(acc, alloc(other, stage(store(acc, 1, 0))))), DEFAULT)
    assert str(error.value) == (
        "the function: ALU stages: expected one block of accumulator memory, got 2: 'acc', 'more'; StorageRewrite puts "
        "them into one; do not disable it"
    )


def test_temporaries_that_do_not_fit_are_refused() -> None:
    acc = accumulator(DEFAULT.acc_depth)
    with pytest.raises(CapacityError) as error:
        lower(acc, stage(elementwise(lambda x: ops.min(x, 40000), 8, 0, 0)(acc)))
    assert str(error.value) == (
        "the function: memory 'local.acc_buffer' is too small for the stages' buffers (2048 elements) and the "
        "temporaries of ALU stages (1): expected at most 2048 elements (131072 bytes), got 2049 elements (131136 "
        "bytes); use smaller tiles, or compute the stage in several stages of one operation each"
    )


def test_a_copy_inside_an_alu_stage_is_refused() -> None:
    assert refusal(lambda _: call("VTALoadBuffer2D")) == (
        "the function: ALU stage: expected loops and conditions around stores into the accumulator, got a call; put "
        "env.alu on a stage that computes, not on one that copies or is tensorized, and inside of the loops in which "
        "its operands are loaded"
    )


def test_temporaries_may_take_the_last_element() -> None:
    acc = accumulator(DEFAULT.acc_depth - 1)
    lowered = lower(acc, stage(elementwise(lambda x: ops.min(x, 40000), 8, 0, 0)(acc)))
    assert isinstance(lowered.body, Allocate)
    assert [int(extent) for extent in lowered.body.extents] == [DEFAULT.acc_depth * 16]


def test_temporaries_come_after_an_element_of_which_a_part_is_in_use() -> None:
    acc = buffer("acc", [8 * 16 + 1], "int32", ACC_SCOPE)
    lowered = lower(acc, stage(elementwise(lambda x: ops.min(x, 40000), 8, 0, 0)(acc)))
    assert kernels_of(lowered.body)[0].pushes[0][2] == 9
