"""The classic text of an instruction stream, as ``DUMP_INSN`` prints it (``docs/runtime.md``).

Scripts read this format, so it stays as upstream's, with one exception: a load of ACC_8BIT says so.

Tests: ``tests/runtime/observe/test_dump.py``.
"""

from collections.abc import Iterator, Sequence
from typing import assert_never

from isa.instructions import FUSED, Alu, AluOpcode, Finish, Gemm, Instruction, Load, Module, Store
from isa.tokens import TokenQueue, pops, pushes
from runtime.queue.launch import Launch

__all__ = ["dump_instructions", "dump_launch"]


def dump_launch(launch: Launch) -> str:
    """Return the text of a launch."""
    return dump_instructions(launch.instructions)


def dump_instructions(instructions: Sequence[Instruction]) -> str:
    """Return the text: each instruction's fields, and the tokens in the four queues after it, in program order."""
    tokens = dict.fromkeys(TokenQueue, 0)
    lines = [f"There are {len(instructions)} instructions"]
    for index, instruction in enumerate(instructions):
        first, *rest = _describe(instruction)
        lines.append(f"INSTRUCTION {index}: {first}")
        lines.extend(f"\t{line}" for line in rest)
        for queue in pops(instruction.module, instruction.deps):
            tokens[queue] -= 1
        for queue in pushes(instruction.module, instruction.deps):
            tokens[queue] += 1
        lines.append(
            f"\tl2g_queue = {tokens[TokenQueue.LOAD_TO_COMPUTE]}, g2l_queue = {tokens[TokenQueue.COMPUTE_TO_LOAD]}"
        )
        lines.append(
            f"\ts2g_queue = {tokens[TokenQueue.STORE_TO_COMPUTE]}, g2s_queue = {tokens[TokenQueue.COMPUTE_TO_STORE]}"
        )
    return "\n".join(lines) + "\n"


def _describe(instruction: Instruction) -> Iterator[str]:
    match instruction:
        case Load() | Store() if instruction.is_nop:
            yield _NOP_NAMES[instruction.module]
            yield _deps(instruction)
        case Load():
            yield f"LOAD {instruction.memory.name}"
            yield from _transfer(instruction)
        case Store():
            yield "STORE:"
            yield from _transfer(instruction)
        case Gemm():
            yield "GEMM"
            yield _deps(instruction)
            yield f"reset_out: {int(instruction.reset)}"
            if instruction.depthwise:
                yield "depthwise: 1"
            yield from _gemm_loops(instruction)
        case Alu():
            yield f"ALU - {_alu_name(instruction)}"
            yield _deps(instruction)
            yield "reset_out: 0"
            yield from _alu_loops(instruction)
        case Finish():
            yield "FINISH"
        case _:
            assert_never(instruction)


_NOP_NAMES = {
    Module.LOAD: "NOP-MEMORY-STAGE",
    Module.COMPUTE: "NOP-COMPUTE-STAGE",
    Module.STORE: "NOP-STORE-STAGE",
}


def _deps(instruction: Instruction) -> str:
    deps = instruction.deps
    return (
        f"dep - pop prev: {int(deps.pop_prev)}, pop next: {int(deps.pop_next)}, "
        f"push prev: {int(deps.push_prev)}, push next: {int(deps.push_next)}"
    )


def _transfer(i: Load | Store) -> Iterator[str]:
    yield _deps(i)
    yield f"DRAM: 0x{i.dram_base:08x}, SRAM:0x{i.sram_base:04x}"
    yield f"y: size={i.y_size}, pad=[{i.y_pad_0}, {i.y_pad_1}]"
    yield f"x: size={i.x_size}, stride={i.x_stride}, pad=[{i.x_pad_0}, {i.x_pad_1}]"


def _gemm_loops(i: Gemm) -> Iterator[str]:
    yield f"range ({i.uop_bgn}, {i.uop_end})"
    yield f"outer loop - iter: {i.iter_out}, wgt: {i.wgt_factor_out}, inp: {i.src_factor_out}, acc: {i.dst_factor_out}"
    yield f"inner loop - iter: {i.iter_in}, wgt: {i.wgt_factor_in}, inp: {i.src_factor_in}, acc: {i.dst_factor_in}"


def _alu_loops(i: Alu) -> Iterator[str]:
    yield f"range ({i.uop_bgn}, {i.uop_end})"
    yield f"outer loop - iter: {i.iter_out}, dst: {i.dst_factor_out}, src: {i.src_factor_out}"
    yield f"inner loop - iter: {i.iter_in}, dst: {i.dst_factor_in}, src: {i.src_factor_in}"


def _alu_name(alu: Alu) -> str:
    name = alu.alu_opcode.name.lower()
    if alu.fused:
        return f"{name} {FUSED[alu.alu_opcode].name.lower()} shr {alu.imm}"
    with_imm = alu.use_imm and alu.alu_opcode not in (AluOpcode.SHR, AluOpcode.MUL)  # upstream leaves it out there
    return f"{name} imm" if with_imm else name
