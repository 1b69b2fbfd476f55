"""The compute module with an ALU that has fused steps, with tokens, memory and scratchpads around it."""

from dataclasses import replace
from typing import Any

import cocotb

from isa.instructions import FUSED, Alu, AluOpcode, Gemm, Instruction, MicroOp
from tests.cocotb.bench_compute import ORIGIN, ComputeBench


@cocotb.test()
async def fused_steps_do_two_operations_and_a_shift_between_others(dut: Any) -> None:
    bench = ComputeBench(dut, stall=0.2)
    choose = bench.random.randrange
    uops = [ORIGIN] + [MicroOp(dst=choose(30), src=choose(30)) for _ in range(8)]
    await bench.begin(uops)
    loops = Alu(
        alu_opcode=AluOpcode.MAX,
        uop_bgn=1,
        uop_end=9,
        iter_out=2,
        iter_in=3,
        dst_factor_out=3,
        dst_factor_in=1,
        src_factor_out=1,
    )
    program: list[Instruction] = []
    for opcode in FUSED:
        for shift in (0, 3, 31, -2, -40):
            program.append(replace(loops, alu_opcode=opcode, fused=True, imm=shift))
        program.append(replace(loops, alu_opcode=AluOpcode.ADD))
        program.append(Gemm(uop_bgn=2, uop_end=8, iter_in=3, dst_factor_in=2))
    await bench.execute(program)
    await bench.check(48)


@cocotb.test()
async def a_run_of_fused_steps_keeps_its_operands(dut: Any) -> None:
    bench = ComputeBench(dut)
    await bench.begin([ORIGIN, MicroOp(dst=0, src=40), MicroOp(dst=30, src=36)])
    run = Alu(alu_opcode=AluOpcode.MUL, fused=True, imm=5, uop_bgn=1, uop_end=2, iter_in=30, dst_factor_in=1)
    onto_itself = replace(run, alu_opcode=AluOpcode.MAX, imm=1, uop_bgn=2, uop_end=3, iter_in=12)
    await bench.execute([run, onto_itself, replace(run, alu_opcode=AluOpcode.MAX, imm=-1)])
    await bench.check(48)
