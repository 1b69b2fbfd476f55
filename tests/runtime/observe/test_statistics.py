"""Counters add up, keep upstream's names, and tell kinds of instructions apart."""

from isa.instructions import Alu, AluOpcode, Finish, Gemm, Instruction, Load, MemoryId, Store
from runtime.observe.stats import InstructionCounts, LaunchStats, Statistics, count_instructions


def test_the_seven_counters_keep_their_names_and_order() -> None:
    names = [
        "inp_load_nbytes",
        "wgt_load_nbytes",
        "acc_load_nbytes",
        "uop_load_nbytes",
        "out_store_nbytes",
        "gemm_counter",
        "alu_counter",
    ]
    assert list(Statistics().as_dict()) == names
    assert Statistics(cycles=5).as_dict()["cycle_count"] == 5


def test_statistics_add_up() -> None:
    one = Statistics(inp_load_nbytes=1, gemm_counter=2, launches=1, instructions=InstructionCounts(gemm=3))
    two = Statistics(inp_load_nbytes=10, alu_counter=4, launches=2, instructions=InstructionCounts(gemm=1, alu=2))
    total = one + two
    assert total == Statistics(
        inp_load_nbytes=11,
        gemm_counter=2,
        alu_counter=4,
        launches=3,
        instructions=InstructionCounts(gemm=4, alu=2),
    )
    assert total.instructions.total == 6


def test_cycles_are_none_until_a_device_has_a_clock() -> None:
    assert (Statistics() + Statistics()).cycles is None
    assert (Statistics() + Statistics(cycles=3)).cycles == 3
    assert (Statistics(cycles=4) + Statistics()).cycles == 4
    assert (Statistics(cycles=4) + Statistics(cycles=3)).cycles == 7
    assert LaunchStats(statistics=Statistics(cycles=7)).cycles == 7


def test_every_kind_of_instruction_has_its_count() -> None:
    stream: list[Instruction] = [
        *(Load(memory=memory, x_size=1, y_size=1) for memory in MemoryId if memory is not MemoryId.OUT),
        Load(memory=MemoryId.INP),
        Load(memory=MemoryId.UOP),
        Store(memory=MemoryId.UOP),
        Store(x_size=1, y_size=1),
        Gemm(),
        Gemm(reset=True),
        Alu(alu_opcode=AluOpcode.MUL),
        Finish(),
    ]
    counts = count_instructions(stream)
    assert set(counts.as_dict().values()) == {1}
    assert counts.total == len(stream) == 13
    assert LaunchStats(statistics=Statistics(instructions=counts)).instruction_count == 13
