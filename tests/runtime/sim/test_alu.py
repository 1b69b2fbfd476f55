"""ALU of the functional simulator: every operation, both operand forms, order of dependent steps."""

import functools
import itertools
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from llvmlite import ir

from isa.config import VTAConfig
from isa.instructions import FUSED, Alu, AluOpcode, Load, MemoryId, MicroOp
from runtime.devices.device import ExecutionError
from runtime.sim.alu import _chunks
from runtime.sim.code_path import CodePath
from runtime.sim.emit import Emitter
from tests.support.configs import CONFIGS
from tests.support.odd_configs import ODD_CONFIGS
from tests.support.runtime.functional_rig import Rig
from tests.support.turns import in_turn

ALL_CONFIGS = {**CONFIGS, **ODD_CONFIGS}
EXTREMES = [0, 1, -1, 2, 127, -128, 32767, -32768, 65536, 2**31 - 1, -(2**31), 0x12345678, -0x12345678]
COUNTS = [0, 1, 5, 30, 31, 32, 33, 100, 2**31 - 1, -1, -5, -31, -32, -33, -100, -(2**31)]
IMMEDIATES = [0, 1, -1, 8, 31, 32, 33, 127, 32767, -8, -31, -32, -33, -128, -32768]


def rig_with(config: VTAConfig, code_path: CodePath, numbers: npt.NDArray[np.integer[Any]]) -> Rig:
    """A rig whose accumulator begins with ``numbers``, repeated up to whole elements."""
    rig = Rig(config, code_path)
    per_element = config.batch * config.block_out
    count = min(config.acc_depth, -(-len(numbers) // per_element))
    base = rig.array(np.resize(numbers, count * per_element).astype(np.int32), MemoryId.ACC)
    rig.run(Load(memory=MemoryId.ACC, dram_base=base, y_size=1, x_size=count), rig.micro_ops([MicroOp()]))
    return rig


@pytest.mark.parametrize("operation", AluOpcode)
def test_immediates_are_sign_extended_and_every_count_shifts(operation: AluOpcode, code_path: CodePath) -> None:
    rig = rig_with(VTAConfig(), code_path, np.array(EXTREMES))
    rig.run(*[Alu(alu_opcode=operation, use_imm=True, imm=imm, uop_end=1) for imm in IMMEDIATES[:3]])
    for imm in IMMEDIATES:
        rig = rig_with(VTAConfig(), code_path, np.array(EXTREMES)) if operation is AluOpcode.SHR else rig
        rig.run(Alu(alu_opcode=operation, use_imm=True, imm=imm, uop_end=1))


@pytest.mark.parametrize("operation", AluOpcode)
def test_every_pair_of_operands_gives_what_the_reference_gives(operation: AluOpcode, code_path: CodePath) -> None:
    pairs = list(itertools.product(EXTREMES, EXTREMES + COUNTS))
    half = -(-len(pairs) // 16)
    numbers = np.zeros((2, half * 16), np.int64)
    numbers[:, : len(pairs)] = np.array(pairs).T
    rig = rig_with(VTAConfig(), code_path, numbers.ravel().astype(np.int32))
    rig.run(
        rig.micro_ops([MicroOp(dst=0, src=half)]),
        Alu(alu_opcode=operation, uop_end=1, iter_in=half, dst_factor_in=1, src_factor_in=1),
    )


def test_a_shift_by_32_or_more_is_the_mathematical_one(code_path: CodePath) -> None:
    rig = rig_with(VTAConfig(), code_path, np.array([5, -5]))
    rig.run(Alu(alu_opcode=AluOpcode.SHR, use_imm=True, imm=40, uop_end=1))
    assert rig.acc[0, 0, :2].tolist() == [0, -1]
    rig.run(Alu(alu_opcode=AluOpcode.SHR, use_imm=True, imm=-32, uop_end=1))
    assert rig.acc[0, 0, :2].tolist() == [0, 0]


@pytest.mark.parametrize(("name", "use_imm"), in_turn(ALL_CONFIGS, (False, True), quick=1))
def test_every_operation_runs_on_every_shape_of_element(name: str, use_imm: bool, code_path: CodePath) -> None:
    config = ALL_CONFIGS[name]
    rng = np.random.default_rng(11)
    rig = rig_with(config, code_path, rng.integers(-(2**31), 2**31, 4096).astype(np.int32))
    last = config.acc_depth - 1
    micro_ops = [MicroOp(), MicroOp(dst=min(3, last), src=min(2, last))]
    inner = min(3, config.acc_depth // 8)
    alu = functools.partial(Alu, use_imm=use_imm, imm=-3, iter_out=2, iter_in=inner, dst_factor_in=1, src_factor_in=1)
    rig.run(
        rig.micro_ops(micro_ops),
        *[alu(alu_opcode=operation, uop_end=count) for operation in AluOpcode for count in (1, 2)],
    )


def test_an_immediate_operation_reads_its_destination_and_ignores_the_source(code_path: CodePath) -> None:
    rig = rig_with(VTAConfig(), code_path, np.arange(64))
    rig.run(
        rig.micro_ops([MicroOp(dst=1, src=2047)]),
        Alu(alu_opcode=AluOpcode.ADD, use_imm=True, imm=1000, uop_end=1, iter_in=2, src_factor_in=2047),
    )
    assert rig.acc[1, 0].tolist() == [2000 + lane for lane in range(16, 32)]


def test_steps_see_what_earlier_steps_wrote(code_path: CodePath) -> None:
    rig = rig_with(VTAConfig(), code_path, np.array([1]))
    # acc[i + 1] += acc[i], one after the other: the one at the start reaches every element.
    rig.run(
        rig.micro_ops([MicroOp(dst=1, src=0)]),
        Alu(alu_opcode=AluOpcode.ADD, uop_end=1, iter_in=10, dst_factor_in=1, src_factor_in=1),
    )
    assert rig.acc[10, 0, 0] == 1


def test_micro_ops_take_turns_within_each_step(code_path: CodePath) -> None:
    rig = rig_with(VTAConfig(), code_path, np.arange(16 * 8))
    rig.run(
        rig.micro_ops([MicroOp(dst=1, src=0), MicroOp(dst=0, src=1), MicroOp(dst=2, src=1)]),
        Alu(
            alu_opcode=AluOpcode.ADD,
            uop_end=3,
            iter_out=2,
            iter_in=3,
            dst_factor_in=1,
            src_factor_in=1,
            dst_factor_out=2,
            src_factor_out=1,
        ),
    )


def test_zero_iterations_do_no_work(code_path: CodePath) -> None:
    rig = rig_with(VTAConfig(), code_path, np.arange(16))
    before = rig.acc
    alu = functools.partial(Alu, alu_opcode=AluOpcode.ADD, use_imm=True, imm=1, dst_factor_in=2047, dst_factor_out=2047)
    stats = rig.run(alu(uop_end=1, iter_out=0, iter_in=9), alu(uop_end=1, iter_in=0), alu(uop_bgn=1, uop_end=1))
    assert np.array_equal(rig.acc, before)
    assert stats.statistics.alu_counter == 0
    assert stats.statistics.instructions.alu == 3


def test_two_micro_ops_take_turns_inside_of_the_inner_loop(code_path: CodePath) -> None:
    # The second micro-op writes what the first one reads a turn later.
    rig = Rig(VTAConfig(), code_path)
    numbers = rig.array(np.arange(16 * 16, dtype="<i4"), MemoryId.ACC)
    rig.run(
        Load(memory=MemoryId.ACC, dram_base=numbers, y_size=1, x_size=16),
        rig.micro_ops([MicroOp(dst=8, src=0), MicroOp(dst=1, src=8)]),
        Alu(alu_opcode=AluOpcode.ADD, uop_end=2, iter_in=4, dst_factor_in=1, src_factor_in=1),
    )


@pytest.mark.parametrize(("chunks", "yields"), [(1, 1), (4, 4), (1000, 1)])
def test_short_rows_are_written_out_and_long_ones_are_a_loop(chunks: int, yields: int) -> None:
    emit = Emitter(ir.Module(), "f", ())
    assert len(list(_chunks(emit, chunks * 16, 16))) == yields


@pytest.mark.parametrize("operation", FUSED)
@pytest.mark.parametrize("name", ["fused", "fused_all"])
def test_fused_steps_are_the_references(name: str, operation: AluOpcode, code_path: CodePath) -> None:
    rng = np.random.default_rng(5)
    rig = rig_with(ALL_CONFIGS[name], code_path, rng.choice([*EXTREMES, *COUNTS], 4096))
    rig.run(rig.micro_ops([MicroOp(dst=0, src=8), MicroOp(dst=3, src=10)]))
    for imm in (0, 1, 8, 31, 32, -1, -31, -32, -32768, 32767):
        for loops in ({"iter_in": 3, "dst_factor_in": 2}, {"iter_out": 2, "iter_in": 2, "src_factor_out": 1}):
            alu = Alu(alu_opcode=operation, fused=True, imm=imm, uop_end=2, **loops)  # type: ignore[arg-type]
            rig.run(alu)


def test_a_fused_step_that_writes_its_operands_reads_them_first(code_path: CodePath) -> None:
    rig = rig_with(ALL_CONFIGS["fused"], code_path, np.arange(-600, 3000, 7))
    rig.run(rig.micro_ops([MicroOp(dst=1, src=0), MicroOp(dst=0, src=0), MicroOp(dst=2, src=1)]))
    for operation in FUSED:
        rig.run(Alu(alu_opcode=operation, fused=True, imm=1, uop_end=3, iter_in=5, dst_factor_in=1, src_factor_in=1))


def test_the_second_operand_of_a_fused_step_has_to_be_inside_of_the_buffer(code_path: CodePath) -> None:
    config = ALL_CONFIGS["fused"]
    rig = rig_with(config, code_path, np.arange(8))
    last = config.acc_depth - 2
    rig.run(Alu(alu_opcode=AluOpcode.MAX, fused=True, uop_end=1, iter_in=2, src_factor_in=last))
    with pytest.raises(ExecutionError) as caught:
        rig.launch(Alu(alu_opcode=AluOpcode.MAX, fused=True, uop_end=1, iter_in=2, src_factor_in=last + 1))
    depth = config.acc_depth
    text = f"instruction 0: accumulator index {depth} is out of range, the buffer has {depth} elements"
    assert str(caught.value) == text
