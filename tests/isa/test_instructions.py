"""Which module runs an instruction, and which instructions only carry tokens."""

import pytest

from isa.instructions import Alu, AluOpcode, Finish, Gemm, Instruction, Load, MemoryId, MicroOp, Module, Store

ROUTES = [
    (Load(memory=MemoryId.UOP), Module.COMPUTE),
    (Load(memory=MemoryId.WGT), Module.LOAD),
    (Load(memory=MemoryId.INP), Module.LOAD),
    (Load(memory=MemoryId.ACC), Module.COMPUTE),
    (Load(memory=MemoryId.OUT), Module.COMPUTE),
    (Load(memory=MemoryId.ACC_8BIT), Module.COMPUTE),
    (Store(), Module.STORE),
    (Store(memory=MemoryId.UOP), Module.STORE),
    (Gemm(), Module.COMPUTE),
    (Alu(alu_opcode=AluOpcode.ADD), Module.COMPUTE),
    (Finish(), Module.COMPUTE),
]


@pytest.mark.parametrize(("instruction", "module"), ROUTES)
def test_an_instruction_goes_to_its_module(instruction: Instruction, module: Module) -> None:
    assert instruction.module == module


def test_a_no_op_is_a_load_or_store_without_elements_in_a_row() -> None:
    assert Load(memory=MemoryId.INP, y_size=3).is_nop
    assert Store(y_size=3).is_nop
    assert not Load(memory=MemoryId.INP, x_size=3).is_nop
    assert not Store(x_size=3).is_nop
    assert not any(i.is_nop for i in (Gemm(), Alu(alu_opcode=AluOpcode.MIN), Finish()))


def test_what_is_left_out_is_zero() -> None:
    assert MicroOp() == MicroOp(dst=0, src=0, wgt=0)


def test_an_instruction_that_says_nothing_does_a_single_step_of_nothing() -> None:
    for made in (Gemm(), Alu(alu_opcode=AluOpcode.ADD)):
        assert (made.uop_bgn, made.uop_end, made.iter_out, made.iter_in) == (0, 0, 1, 1)
        assert (made.dst_factor_out, made.dst_factor_in, made.src_factor_out, made.src_factor_in) == (0, 0, 0, 0)
