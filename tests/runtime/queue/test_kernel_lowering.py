"""Kernels and the instructions they become do the same, for any loops; what fits becomes what upstream makes of it."""

import dataclasses
import itertools
import random
import re

import pytest

from isa.config import VTAConfig
from isa.encoding import encode
from isa.instructions import Alu, AluOpcode, Gemm, MicroOp
from runtime.queue.kernel_lowering import lower_kernel
from runtime.queue.loop_fitting import Indices, Nest, order_cannot_matter, visits_each_once
from runtime.queue.uop_kernel import KernelError, KernelMode, KernelOperation, UopKernel, UopLoop
from tests.support.configs import CONFIGS
from tests.support.runtime.kernel_model import Pads, run_kernel, run_steps

TINY = VTAConfig(log_block=2, log_uop_buff_size=7, log_inp_buff_size=8, log_wgt_buff_size=9, log_acc_buff_size=9)
"""32 micro-ops, 64 inputs, 32 weights, 32 accumulators: small enough that random kernels meet every limit."""

GEMM = KernelOperation(mode=KernelMode.GEMM)
RESET = KernelOperation(mode=KernelMode.GEMM, reset=True)
PASS = 16383


def alu(opcode: AluOpcode, imm: int | None = None) -> KernelOperation:
    return KernelOperation(mode=KernelMode.ALU, alu_opcode=opcode, use_imm=imm is not None, imm=imm or 0)


def kernel(
    operation: KernelOperation, loops: list[tuple[int, int, int, int]], *uops: tuple[int, int, int]
) -> UopKernel:
    return UopKernel(
        operation, tuple(UopLoop(*loop) for loop in loops), tuple(MicroOp(dst=d, src=s, wgt=w) for d, s, w in uops)
    )


def pads(config: VTAConfig, seed: int) -> Pads:
    rng = random.Random(seed)
    return Pads(
        acc=[rng.randrange(-(1 << 31), 1 << 31) for _ in range(config.acc_depth)],
        inp=[rng.randrange(-128, 128) for _ in range(config.inp_depth)],
        wgt=[rng.randrange(-128, 128) for _ in range(config.wgt_depth)],
    )


def assert_same(k: UopKernel, config: VTAConfig, *, seed: int = 1) -> int:
    """Assert that lowering keeps the meaning and every instruction encodes; return how many there are."""
    steps = lower_kernel(k, config)
    expected, found = pads(config, seed), pads(config, seed)
    run_kernel(k, expected)
    run_steps(steps, found, config)
    assert found.acc == expected.acc
    instructions = [i for step in steps for i in step.instructions]
    for step in steps:
        assert len(step.block.words) <= config.uop_depth
        for i in step.instructions:
            encode(dataclasses.replace(i, uop_bgn=0), config)
    return len(instructions)


def test_one_loop_is_the_outer_one_of_a_gemm_and_the_inner_one_of_an_alu_instruction() -> None:
    config = VTAConfig()
    [step] = lower_kernel(kernel(GEMM, [(16, 1, 2, 3)], (0, 0, 0)), config)
    assert step.instructions == (
        Gemm(uop_end=1, iter_out=16, iter_in=1, dst_factor_out=1, src_factor_out=2, wgt_factor_out=3),
    )
    [step] = lower_kernel(kernel(alu(AluOpcode.ADD), [(16, 1, 2, 3)], (0, 64, 0)), config)
    assert step.instructions == (
        Alu(alu_opcode=AluOpcode.ADD, uop_end=1, iter_out=1, iter_in=16, dst_factor_in=1, src_factor_in=2),
    )


def test_two_loops_stay_as_they_are_even_if_one_would_do() -> None:
    [step] = lower_kernel(kernel(GEMM, [(1, 5, 5, 5), (4, 1, 1, 1)], (0, 0, 0)), VTAConfig())
    assert step.instructions == (
        Gemm(
            uop_end=1,
            iter_out=1,
            iter_in=4,
            dst_factor_out=5,
            dst_factor_in=1,
            src_factor_out=5,
            src_factor_in=1,
            wgt_factor_out=5,
            wgt_factor_in=1,
        ),
    )


@pytest.mark.parametrize(
    "k",
    [
        UopKernel(None, (), ()),
        UopKernel(None, (UopLoop(4, 1, 0, 0),), ()),
        kernel(GEMM, [(0, 1, 1, 1)], (0, 0, 0)),
        kernel(GEMM, [(4, 1, 1, 1), (0, 1, 1, 1), (3, 1, 1, 1)], (0, 0, 0)),
    ],
)
def test_a_kernel_that_does_nothing_becomes_nothing(k: UopKernel) -> None:
    assert lower_kernel(k, VTAConfig()) == ()


def test_evenly_spaced_loops_become_one() -> None:
    k = kernel(GEMM, [(2, 8, 8, 0), (2, 4, 4, 0), (4, 1, 1, 0), (3, 0, 0, 1)], (0, 0, 0))
    [step] = lower_kernel(k, VTAConfig())
    [instruction] = step.instructions
    assert len(step.block.words) == 1
    assert {instruction.iter_out, instruction.iter_in} == {16, 3}


def test_a_third_gemm_loop_becomes_micro_ops_the_shortest_one_does() -> None:
    k = kernel(GEMM, [(14, 16, 1, 0), (3, 1, 0, 9), (14, 0, 20, 1)], (0, 0, 0))
    [step] = lower_kernel(k, VTAConfig())
    assert len(step.block.words) == 3
    assert assert_same(k, VTAConfig()) == 1


def test_the_order_of_alu_iterations_is_kept_where_it_matters() -> None:
    # acc[0] is doubled and added to in turn: loops must not be exchanged.
    k = kernel(alu(AluOpcode.ADD), [(3, 1, 0, 0), (2, 0, 1, 0), (3, 1, 2, 0)], (0, 1, 0))
    assert assert_same(k, VTAConfig()) >= 1


def test_a_nest_that_reads_what_it_wrote_before_keeps_its_order() -> None:
    # Every accumulator is written once, but acc[2] before acc[1] reads it: the loops may not become one that counts up.
    k = kernel(alu(AluOpcode.ADD), [(2, 1, 1, 0), (3, 2, 2, 0), (2, 6, 6, 0)], (0, 1, 0))
    assert len(lower_kernel(k, VTAConfig())[0].block.words) > 1
    assert assert_same(k, VTAConfig()) >= 1


@pytest.mark.parametrize(
    ("operation", "src"), [(alu(AluOpcode.ADD), 1), (alu(AluOpcode.ADD, 5), 0)], ids=["own source", "immediate"]
)
def test_the_order_is_free_where_an_iteration_reads_nothing_but_its_own_accumulator(
    operation: KernelOperation, src: int
) -> None:
    k = kernel(operation, [(2, 1, src, 0), (3, 2, 2 * src, 0), (2, 6, 6 * src, 0)], (0, 0, 0))
    [step] = lower_kernel(k, VTAConfig())
    assert len(step.block.words) == 1
    assert assert_same(k, VTAConfig()) == 1


def test_a_third_loop_may_become_as_many_micro_ops_as_the_buffer_has() -> None:
    k = kernel(alu(AluOpcode.ADD), [(2, 1, 0, 0), (2, 0, 1, 0), (TINY.uop_depth, 0, 0, 0)], (0, 2, 0))
    assert assert_same(k, TINY) == 1
    [step] = lower_kernel(k, TINY)
    assert len(step.block.words) == TINY.uop_depth


def test_loops_are_joined_up_to_the_largest_extent() -> None:
    k = kernel(GEMM, [(129, 0, 0, 0), (127, 0, 0, 0), (2, 1, 0, 0)], (0, 0, 0))
    assert PASS == 129 * 127
    [step] = lower_kernel(k, VTAConfig())
    assert len(step.block.words) == 1


def test_two_loops_around_a_full_buffer_of_micro_ops_stay_as_they_are() -> None:
    k = kernel(GEMM, [(2, 2, 0, 0), (2, 1, 0, 0)], *[(place % 8, 0, 0) for place in range(TINY.uop_depth)])
    [step] = lower_kernel(k, TINY)
    [instruction] = step.instructions
    assert (instruction.iter_out, instruction.iter_in) == (2, 2)


def test_a_long_inner_loop_ends_before_the_outer_one_goes_on() -> None:
    # 20011 is prime, and acc[0] takes all of acc[1] before acc[1] changes.
    k = kernel(alu(AluOpcode.ADD), [(2, 1, 1, 0), (20011, 0, 0, 0)], (0, 1, 0))
    assert assert_same(k, VTAConfig()) == 4


def leaves_a_buffer(k: UopKernel, config: VTAConfig) -> bool:
    """Tell, by visiting every index that has a meaning, whether one is outside of its scratchpad."""
    operation = k.operation
    assert operation is not None
    gemm = operation.mode is KernelMode.GEMM
    depths = {"dst": config.acc_depth}
    if not operation.reset and not operation.use_imm:
        depths["src"] = config.inp_depth if gemm else config.acc_depth
        if gemm:
            depths["wgt"] = config.wgt_depth
    for trip in itertools.product(*(range(loop.extent) for loop in k.loops)):
        for uop in k.uops:
            for name, depth in depths.items():
                moves = sum(i * getattr(loop, name) for i, loop in zip(trip, k.loops, strict=True))
                if not 0 <= getattr(uop, name) + moves < depth:
                    return True
    return False


def test_random_kernels_keep_their_meaning_on_a_tiny_machine() -> None:
    rng = random.Random(7)
    refused = counted = 0
    factors = [0, 0, 1, 1, 2, 3, 4, -1]
    for number in range(900):
        operation = rng.choice(
            [GEMM, RESET, alu(rng.choice(list(AluOpcode))), alu(rng.choice(list(AluOpcode)), rng.randrange(-40, 40))]
        )
        loops = [
            (rng.choice([1, 1, 2, 2, 3, 4, 5]), rng.choice(factors), rng.choice(factors), rng.choice(factors))
            for _ in range(rng.randrange(6))
        ]
        uops = [(rng.randrange(8), rng.randrange(8), rng.randrange(8)) for _ in range(rng.randrange(1, 4))]
        k = kernel(operation, loops, *uops)
        if leaves_a_buffer(k, TINY):
            refused += 1
            with pytest.raises(KernelError, match="runs from"):
                lower_kernel(k, TINY)
        else:
            counted += 1
            assert_same(k, TINY, seed=number)
    assert counted > 400
    assert refused > 100


@pytest.mark.parametrize("name", CONFIGS)
def test_many_loops_keep_their_meaning_in_every_configuration(name: str) -> None:
    config = CONFIGS[name]
    gemm = kernel(GEMM, [(3, 16, 2, 1), (2, 8, 1, 0), (4, 2, 5, 3), (2, 1, 0, 7), (3, 0, 11, 2)], (0, 0, 0), (1, 3, 2))
    assert assert_same(gemm, config) == 1
    add = kernel(alu(AluOpcode.ADD), [(3, 16, 40, 0), (2, 7, 5, 0), (3, 2, 4, 0), (2, 1, 9, 0)], (0, 60, 0))
    assert assert_same(add, config) == 1


@pytest.mark.parametrize("extent", [PASS + 1, 20011, 40000])
def test_loops_longer_than_their_field_keep_their_meaning(extent: int) -> None:
    config = CONFIGS["default"]
    assert assert_same(kernel(GEMM, [(extent, 0, 0, 0)], (3, 2, 1)), config) <= 2
    assert assert_same(kernel(GEMM, [(2, 1, 1, 0), (extent, 0, 0, 0)], (3, 2, 1)), config) <= 2
    assert assert_same(kernel(alu(AluOpcode.ADD, 3), [(extent, 0, 0, 0)], (3, 2, 0)), config) <= 2
    inner = kernel(alu(AluOpcode.ADD), [(3, 1, 0, 0), (extent, 0, 0, 0)], (3, 2, 0))
    assert assert_same(inner, config) <= 6


def test_a_kernel_too_big_when_written_out_becomes_several_instructions() -> None:
    # 5 x 4 x 3 micro-ops inside the two longest loops, 32 fit.
    k = kernel(GEMM, [(5, 0, 1, 0), (4, 0, 7, 1), (3, 5, 0, 2), (6, 1, 2, 3), (6, 3, 0, 1)], (0, 0, 0))
    steps = lower_kernel(k, TINY)
    assert [len(step.block.words) for step in steps] == [32, 28]
    assert assert_same(k, TINY) == 2


@pytest.mark.parametrize("opcode", [AluOpcode.ADD, AluOpcode.MUL, AluOpcode.SHR])
@pytest.mark.parametrize("imm", [32768, -32769, 70000, -100000, 0x7FFFFFFF, -0x80000000, 40000 * 40000, 33])
def test_large_immediates_keep_their_meaning(opcode: AluOpcode, imm: int) -> None:
    once = kernel(alu(opcode, imm), [(4, 8, 8, 0), (4, 2, 2, 0), (2, 1, 1, 0)], (0, 0, 0))
    assert assert_same(once, VTAConfig()) <= 6
    if opcode is AluOpcode.MUL or abs(imm) < 1 << 20:
        repeated = kernel(alu(opcode, imm), [(3, 1, 1, 0), (2, 0, 0, 0)], (0, 0, 0), (1, 1, 0))
        assert_same(repeated, VTAConfig())


def test_a_sum_that_visits_an_accumulator_twice_is_split_into_plain_sums() -> None:
    repeated = kernel(alu(AluOpcode.ADD, 300000), [(2, 0, 0, 0)], (0, 0, 0))
    [step] = lower_kernel(repeated, VTAConfig())
    assert {i.alu_opcode for i in step.instructions if isinstance(i, Alu)} == {AluOpcode.ADD}
    assert assert_same(repeated, VTAConfig()) == 10


def test_min_and_max_with_the_end_of_the_range_do_nothing() -> None:
    assert lower_kernel(kernel(alu(AluOpcode.MIN, 0x7FFFFFFF), [], (0, 0, 0)), VTAConfig()) == ()
    assert lower_kernel(kernel(alu(AluOpcode.MAX, -0x80000000), [], (0, 0, 0)), VTAConfig()) == ()


def test_operands_without_meaning_may_be_anything() -> None:
    config = VTAConfig()
    assert assert_same(kernel(RESET, [(4, 1, 900, 5000)], (0, 100000, 100000)), config) == 1
    assert assert_same(kernel(alu(AluOpcode.ADD, 1), [(4, 1, 5000, 9999)], (0, 100000, 7000)), config) == 1
    assert assert_same(kernel(alu(AluOpcode.ADD), [(4, 1, 1, 1 << 31)], (0, 8, 5000)), config) == 1


def _says(text: str) -> str:
    return f"^{re.escape(text)}$"


def test_a_kernel_larger_than_the_buffer_is_refused_with_both_sizes() -> None:
    with pytest.raises(
        KernelError,
        match=_says(
            "micro-op kernel: it has 33 micro-ops, and the on-chip buffer holds 32 (LOG_UOP_BUFF_SIZE 7); leave a loop "
            "around them, or split it into two kernels"
        ),
    ):
        lower_kernel(kernel(GEMM, [], *[(0, 0, 0)] * 33), TINY)


@pytest.mark.parametrize(
    ("k", "message"),
    [
        (
            kernel(GEMM, [(3, 1024, 0, 0)], (0, 0, 0)),
            "micro-op kernel (GEMM): index dst runs from 0 to 2048, and the ACC buffer has elements 0 to 2047",
        ),
        (
            kernel(GEMM, [(2, 0, 2048, 0)], (0, 0, 0)),
            "micro-op kernel (GEMM): index src runs from 0 to 2048, and the INP buffer has elements 0 to 2047",
        ),
        (
            kernel(GEMM, [(2, 0, 0, -1)], (0, 0, 0)),
            "micro-op kernel (GEMM): index wgt runs from -1 to 0, and the WGT buffer has elements 0 to 1023",
        ),
        (
            kernel(alu(AluOpcode.SHR), [], (0, 2048, 0)),
            "micro-op kernel (ALU SHR): index src runs from 2048 to 2048, and the ACC buffer has elements 0 to 2047",
        ),
        (
            kernel(alu(AluOpcode.MAX, 40000), [], (0, 0, 0)),
            "ALU MAX: the immediate 40000 is outside of -32768 to 32767, and no sequence of operations with immediates "
            "in that range does the same; use a tile of 40000 as the second operand",
        ),
        (
            kernel(alu(AluOpcode.ADD, 1 << 31), [], (0, 0, 0)),
            "ALU ADD: the immediate 2147483648 does not fit the accumulator's 32 bits",
        ),
        (
            kernel(
                alu(AluOpcode.ADD),
                [(9, 1, 0, 0), (9, 1, 0, 0), (16383, 0, 1, 0), (1024, 0, -1, 0), (9, 1, 0, 0)],
                (0, 1024, 0),
            ),
            "micro-op kernel (ALU ADD): index src runs from 1 to 17406, and the ACC buffer has elements 0 to 2047",
        ),
    ],
)
def test_what_cannot_be_done_is_refused_with_the_numbers(k: UopKernel, message: str) -> None:
    with pytest.raises(KernelError, match=_says(message)):
        lower_kernel(k, VTAConfig())


def test_a_kernel_of_millions_of_micro_ops_when_written_out_is_refused() -> None:
    k = kernel(
        alu(AluOpcode.ADD), [(99, 0, 1, 0), (99, 1, 0, 0), (99, 1, 1, 0), (99, 1, -1, 0), (99, 2, 1, 0)], (0, 99, 0)
    )
    with pytest.raises(
        KernelError,
        match=_says(
            "micro-op kernel: its 5 loops do not fit the two of an instruction, and written out it has more than "
            "1048576 micro-ops; make the tile smaller"
        ),
    ):
        lower_kernel(k, VTAConfig())


def test_a_depthwise_kernel_is_a_gemm_with_the_flag_whose_taps_are_on_chip() -> None:
    config = VTAConfig(depthwise_taps=3)
    operation = KernelOperation(mode=KernelMode.GEMM, depthwise=True)
    [step] = lower_kernel(kernel(operation, [(4, 1, 2, 0)], (0, 2039, 1)), config)
    [gemm] = step.instructions
    assert (gemm.depthwise, gemm.reset, gemm.iter_out, gemm.src_factor_out) == (True, False, 4, 2)
    with pytest.raises(KernelError) as caught:
        lower_kernel(kernel(operation, [(4, 1, 2, 0)], (0, 2040, 1)), config)
    assert str(caught.value) == (
        "micro-op kernel (GEMM depthwise): index src runs from 2040 to 2048, and the INP buffer has elements 0 to 2047"
    )


def test_a_fused_kernel_is_one_instruction_whose_second_operand_is_on_chip() -> None:
    config = VTAConfig(fused_alu=1)
    operation = KernelOperation(mode=KernelMode.ALU, alu_opcode=AluOpcode.MUL, fused=True, imm=23)
    [step] = lower_kernel(kernel(operation, [(4, 1, 2, 0)], (0, 2040, 0)), config)
    loops = Alu(alu_opcode=AluOpcode.MUL, uop_end=1, iter_in=4, dst_factor_in=1, src_factor_in=2)
    assert step.instructions == (dataclasses.replace(loops, fused=True, imm=23),)
    with pytest.raises(KernelError) as caught:
        lower_kernel(kernel(operation, [(4, 1, 2, 0)], (0, 2041, 0)), config)
    assert str(caught.value) == (
        "micro-op kernel (ALU MUL ADD shift 23): index src runs from 2041 to 2048, and the ACC buffer has elements 0 "
        "to 2047"
    )


def test_the_second_operand_of_a_fused_kernel_decides_whether_its_order_matters() -> None:
    nest = Nest((UopLoop(4, 2, 0, 0),), (MicroOp(dst=0, src=1),))
    alone = Indices(dst=True, src=True, wgt=False)
    assert order_cannot_matter(nest, alone)
    assert not order_cannot_matter(nest, Indices(dst=True, src=True, wgt=False, neighbour=True))


def test_more_places_than_any_accumulator_has_are_not_looked_through() -> None:
    one = (MicroOp(),)
    whole, more = Nest((UopLoop(1 << 16, 1, 0, 0),), one), Nest((UopLoop((1 << 16) + 1, 1, 0, 0),), one)
    assert visits_each_once(whole)
    assert not visits_each_once(more)
    assert not visits_each_once(Nest((UopLoop(3, 1, 0, 0), UopLoop(2, 2, 0, 0)), one))
    assert visits_each_once(Nest((UopLoop(3, 1, 0, 0), UopLoop(2, 3, 0, 0)), one))
    assert not visits_each_once(Nest((UopLoop(3, 1, 0, 0),), (MicroOp(), MicroOp(dst=2))))
