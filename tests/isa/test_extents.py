"""Numbers that follow from an instruction's fields: the same for one and for columns, and as stepping through it."""

import numpy as np
import pytest

from isa.bulk import decode_fields, encode_all
from isa.config import VTAConfig
from isa.extents import (
    ALU_OPERANDS,
    GEMM_OPERANDS,
    LoopColumns,
    TransferColumns,
    all_row_starts,
    by_memory,
    dram_reach,
    factors_of,
    last_index,
    loop_steps,
    moved_elements,
    operands_of,
    row_starts,
    taps_of,
    tile_elements,
)
from isa.instructions import Alu, AluOpcode, Gemm, Load, MemoryId, Store
from tests.support.configs import CONFIGS
from tests.support.isa.random_programs import random_program

TILE = Load(
    memory=MemoryId.INP, dram_base=5, y_size=3, x_size=4, x_stride=9, y_pad_0=1, y_pad_1=2, x_pad_0=3, x_pad_1=4
)


def test_a_tile_has_its_pads_and_memory_has_not() -> None:
    assert (moved_elements(TILE), tile_elements(TILE)) == (12, 6 * 11)
    assert row_starts(TILE) == [5, 14, 23]
    assert dram_reach(TILE) == 22


def test_a_range_that_runs_backwards_has_no_steps() -> None:
    assert loop_steps(Gemm(uop_bgn=2, uop_end=5, iter_out=7, iter_in=11)) == 231
    assert loop_steps(Gemm(uop_bgn=5, uop_end=2, iter_out=7, iter_in=11)) == 0


def test_flags_say_which_operands_are_used() -> None:
    add, add_imm = (Alu(alu_opcode=AluOpcode.ADD, use_imm=use_imm) for use_imm in (False, True))
    fields = {
        instruction: [operand.field for operand in operands_of(instruction)]
        for instruction in (Gemm(), Gemm(reset=True), add, add_imm)
    }
    assert list(fields.values()) == [["dst", "src", "wgt"], ["dst"], ["dst", "src"], ["dst"]]
    for instruction in fields:
        table = GEMM_OPERANDS if isinstance(instruction, Gemm) else ALU_OPERANDS
        used = tuple(entry for entry in table if not (entry.unless and getattr(instruction, entry.unless)))
        assert operands_of(instruction) == used


def test_the_last_step_of_both_loops_reaches_furthest() -> None:
    gemm = Gemm(iter_out=3, iter_in=4, src_factor_out=10, src_factor_in=2)
    outer, inner = factors_of(gemm, "src")
    assert (outer, inner) == (10, 2)
    assert last_index(7, gemm, outer=outer, inner=inner) == max(7 + i * 10 + j * 2 for i in range(3) for j in range(4))


@pytest.mark.parametrize("name", CONFIGS)
def test_columns_have_the_numbers_of_single_instructions(name: str) -> None:
    config: VTAConfig = CONFIGS[name]
    program = random_program(np.random.default_rng([11, 2]), config)
    for kind, table in decode_fields(encode_all(program.instructions, config), config).items():
        found = [program.instructions[index] for index in table.index.tolist()]
        if kind in ("LOAD", "STORE"):
            transfers = [entry for entry in found if isinstance(entry, Load | Store)]
            columns = TransferColumns.of(table.columns)
            for of in (moved_elements, tile_elements, dram_reach):
                assert of(columns).tolist() == [of(entry) for entry in transfers]
            which, starts = all_row_starts(columns)
            rows = [(at, start) for at, entry in enumerate(transfers) if entry.x_size for start in row_starts(entry)]
            assert list(zip(which.tolist(), starts.tolist(), strict=True)) == rows
            assert by_memory(columns.memory, config.depth).tolist() == [config.depth(e.memory) for e in transfers]
        elif kind != "FINISH":
            loops = [entry for entry in found if isinstance(entry, Gemm | Alu)]
            many = LoopColumns.of(table.columns)
            assert loop_steps(many).tolist() == [loop_steps(entry) for entry in loops]
            outer, inner = table.columns["dst_factor_out"], table.columns["dst_factor_in"]
            last = last_index(outer, many, outer=outer, inner=inner).tolist()
            factors = [factors_of(entry, "dst") for entry in loops]
            assert last == [last_index(o, e, outer=o, inner=i) for e, (o, i) in zip(loops, factors, strict=True)]


def test_a_depthwise_step_takes_an_input_for_each_tap() -> None:
    config = VTAConfig(depthwise_taps=3)
    for gemm, inputs in ((Gemm(), 1), (Gemm(depthwise=True), 3)):
        assert [taps_of(gemm, operand, config) for operand in GEMM_OPERANDS] == [1, inputs, 1]


def test_a_fused_step_takes_two_operands() -> None:
    config = VTAConfig(fused_alu=1)
    for fused, sources in ((False, 1), (True, 2)):
        alu = Alu(alu_opcode=AluOpcode.MAX, fused=fused)
        assert [taps_of(alu, operand, config) for operand in ALU_OPERANDS] == [1, sources]
