"""Launches that the functional simulator refuses: the instruction, the value and the limit, in one sentence."""

import functools
import re

import numpy as np
import pytest

from isa.config import VTAConfig
from isa.encoding import encode
from isa.instructions import Alu, AluOpcode, Finish, Gemm, Instruction, Load, MemoryId, MicroOp, Store
from isa.origin import Origin
from runtime.devices.device import DeviceError, ExecutionError
from runtime.sim.code_path import CodePath
from tests.support.configs import CONFIGS
from tests.support.runtime.functional_rig import Rig
from tests.support.runtime.launching import encode_words, place_words

gemm = functools.partial(Gemm, uop_end=1, iter_out=2, iter_in=3)
alu = functools.partial(Alu, uop_end=1, iter_out=2, iter_in=3)
LAST = MicroOp(dst=2040, src=2030, wgt=1020)


def refused(rig: Rig, *instructions: Instruction) -> ExecutionError:
    """Launch ``instructions``; the last one before FINISH must be refused."""
    with pytest.raises(ExecutionError) as caught:
        rig.launch(*instructions)
    assert caught.value.index == len(instructions) - 1
    return caught.value


@pytest.mark.parametrize(
    ("instruction", "message"),
    [
        (gemm(dst_factor_in=4), "accumulator index 2048 is out of range, the buffer has 2048 elements"),
        (gemm(dst_factor_out=8), "accumulator index 2048 is out of range, the buffer has 2048 elements"),
        (gemm(src_factor_in=9), "input index 2048 is out of range, the buffer has 2048 elements"),
        (gemm(wgt_factor_out=5), "weight index 1025 is out of range, the buffer has 1024 elements"),
        (
            gemm(reset=True, dst_factor_in=5),
            "accumulator index 2050 is out of range, the buffer has 2048 elements",
        ),
        (
            alu(alu_opcode=AluOpcode.MIN, src_factor_out=20),
            "accumulator index 2050 is out of range, the buffer has 2048 elements",
        ),
        (
            alu(alu_opcode=AluOpcode.MAX, use_imm=True, dst_factor_out=100, src_factor_out=2047),
            "accumulator index 2140 is out of range, the buffer has 2048 elements",
        ),
        (Gemm(uop_bgn=8191, uop_end=8193), "micro-op index 8192 is out of range, the buffer has 8192 elements"),
        (
            Alu(alu_opcode=AluOpcode.ADD, uop_bgn=0, uop_end=9000),
            "micro-op index 8999 is out of range, the buffer has 8192 elements",
        ),
        (
            Load(memory=MemoryId.INP, sram_base=2040, dram_base=256, y_size=2, x_size=4, x_pad_1=1),
            "INP elements 2040 to 2049 are out of range, the buffer has 2048 elements",
        ),
        (
            Load(memory=MemoryId.ACC_8BIT, sram_base=2048, dram_base=256, y_size=1, x_size=1),
            "ACC_8BIT elements 2048 to 2048 are out of range, the buffer has 2048 elements",
        ),
        (
            Load(memory=MemoryId.UOP, sram_base=8190, dram_base=1024, y_size=1, x_size=3),
            "UOP elements 8190 to 8192 are out of range, the buffer has 8192 elements",
        ),
        (
            Store(sram_base=2000, dram_base=256, y_size=7, x_size=7),
            "OUT elements 2000 to 2048 are out of range, the buffer has 2048 elements",
        ),
    ],
)
def test_an_index_beyond_a_scratchpad_is_refused(instruction: Instruction, message: str, code_path: CodePath) -> None:
    rig = Rig(VTAConfig(), code_path)
    rig.array(np.zeros(4096, np.uint8), MemoryId.INP)
    error = refused(rig, rig.micro_ops([LAST]), instruction)
    assert str(error) == f"instruction 1: {message}"


@pytest.mark.parametrize("instruction", [gemm(dst_factor_in=3, src_factor_in=8, wgt_factor_out=3)])
def test_the_last_index_is_allowed(instruction: Instruction, code_path: CodePath) -> None:
    rig = Rig(VTAConfig(), code_path)
    rig.launch(rig.micro_ops([LAST]), instruction)


@pytest.mark.parametrize("store", [False, True])
def test_a_row_beyond_dram_is_named(store: bool, code_path: CodePath) -> None:
    rig = Rig(VTAConfig(), code_path)
    placed = place_words(rig.memory, [0] * 3)
    end = rig.memory.nbytes
    base = end // 16 - 8
    load = Load(memory=MemoryId.INP, dram_base=base, y_size=3, x_size=4, x_stride=4)
    instruction = Store(dram_base=base, y_size=3, x_size=4, x_stride=4) if store else load
    rig.memory.view(placed.address, 32)[:] = np.frombuffer(
        b"".join(word.to_bytes(16, "little") for word in encode_words([instruction, Finish()], rig.config)), np.uint8
    )
    with pytest.raises(ExecutionError) as caught:
        rig.simulator.launch(placed.address, 2)
    assert str(caught.value) == (
        f"instruction 0: DRAM bytes {end:#x} to {end + 63:#x} are out of range, memory ends at {end:#x}"
    )


def test_a_row_may_end_where_dram_ends(code_path: CodePath) -> None:
    rig = Rig(VTAConfig(), code_path)
    placed = place_words(rig.memory, [0] * 2)
    last = rig.memory.alloc(4096).end - 16
    assert last + 16 == rig.memory.nbytes
    rig.memory.view(last, 16)[:] = 7
    load = Load(memory=MemoryId.INP, dram_base=last // 16, y_size=1, x_size=1)
    words = b"".join(word.to_bytes(16, "little") for word in encode_words([load, Finish()], rig.config))
    rig.memory.view(placed.address, 32)[:] = np.frombuffer(words, np.uint8)
    rig.simulator.launch(placed.address, 2)
    assert rig.simulator.scratchpad(MemoryId.INP)[0].tolist() == [[7] * 16]


def test_the_page_of_address_zero_is_out_of_range(code_path: CodePath) -> None:
    rig = Rig(VTAConfig(), code_path)
    error = refused(rig, Load(memory=MemoryId.INP, dram_base=255, y_size=1, x_size=2))
    assert str(error) == ("instruction 0: DRAM bytes 0xff0 to 0x100f are out of range, memory begins at 0x1000")


def test_nothing_is_written_by_a_transfer_that_is_refused(code_path: CodePath) -> None:
    rig = Rig(VTAConfig(), code_path)
    base = rig.array(np.full(16 * 64, 5, np.uint8), MemoryId.INP)
    refused(rig, Load(memory=MemoryId.INP, sram_base=2000, dram_base=base, y_size=1, x_size=64))
    assert not rig.simulator.scratchpad(MemoryId.INP).any()


def test_a_micro_op_with_an_unused_bit_is_refused_where_it_is_used(code_path: CodePath) -> None:
    rig = Rig(CONFIGS["b2k16"], code_path)
    base = rig.array(np.array([0, 0x80000000], "<u4"), MemoryId.UOP)
    load = Load(memory=MemoryId.UOP, dram_base=base, y_size=1, x_size=2)
    rig.launch(load, Gemm(uop_end=1))
    error = refused(rig, load, Gemm(uop_end=2))
    assert re.fullmatch(r"instruction 1: .*unused.*", str(error))


def test_an_error_names_where_the_instruction_came_from(code_path: CodePath) -> None:
    rig = Rig(VTAConfig(), code_path)
    placed = place_words(rig.memory, encode_words([Gemm(uop_end=8193), Finish()], rig.config))
    with pytest.raises(ExecutionError) as caught:
        rig.simulator.launch(placed.address, placed.count, origins=[Origin("C", "gemm.py:12"), None])
    assert caught.value.origin == Origin("C", "gemm.py:12")
    assert str(caught.value) == (
        "instruction 0 (from C (gemm.py:12)): micro-op index 8192 is out of range, the buffer has 8192 elements"
    )


def test_a_launch_without_finish_at_its_end_is_refused(code_path: CodePath) -> None:
    rig = Rig(VTAConfig(), code_path)
    placed = place_words(rig.memory, encode_words([Finish(), Gemm()], rig.config))
    with pytest.raises(ExecutionError) as caught:
        rig.simulator.launch(placed.address, 1 + 1)
    assert str(caught.value) == "instruction 0: FINISH must be the last instruction of a launch, and this one has 2"
    with pytest.raises(ExecutionError) as caught:
        rig.simulator.launch(placed.address + 16, 1)
    assert str(caught.value) == "instruction 0: the last instruction of a launch must be FINISH, not GEMM"


def test_a_launch_of_nothing_or_outside_of_memory_is_refused(code_path: CodePath) -> None:
    rig = Rig(VTAConfig(), code_path)
    placed = place_words(rig.memory, [encode(Finish(), rig.config)])
    with pytest.raises(DeviceError, match=re.escape("a launch has at least one instruction, FINISH, not 0")):
        rig.simulator.launch(placed.address, 0)
    message = "instructions at 0x1000 to 0x200f are outside of the mapped range 0x1000 to 0x2000"
    with pytest.raises(DeviceError, match=re.escape(message)):
        rig.simulator.launch(placed.address, 257)
    message = "instructions at 0x0 to 0xf are outside of the mapped range 0x1000 to 0x2000"
    with pytest.raises(DeviceError, match=re.escape(message)):
        rig.simulator.launch(0, 1)


def test_the_simulator_goes_on_after_a_failure(code_path: CodePath) -> None:
    rig = Rig(VTAConfig(), code_path)
    refused(rig, Gemm(uop_end=8193))
    stats = rig.launch(Gemm(uop_end=1))
    assert stats.statistics.gemm_counter == 1
    assert rig.simulator.stats.launches == 1
