"""A launch's words as the device of the hardware looks at them."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from isa.bulk import decode_all, encode_all
from isa.config import VTAConfig
from isa.instructions import Alu, AluOpcode, Deps, Finish, Gemm, Instruction, Load, MemoryId, Module, Store
from runtime.devices.device import ModuleHead
from runtime.devices.tsim.stream import Fault, InstructionStream

CONFIG = VTAConfig()
END = 0x10000
LOAD, COMPUTE, STORE = Module.LOAD, Module.COMPUTE, Module.STORE


def stream_of(instructions: Sequence[Instruction], *, skip: bool = False) -> InstructionStream:
    return InstructionStream(encode_all(instructions, CONFIG), CONFIG, skip=skip)


FAULTS: list[tuple[Instruction, str]] = [
    (
        Load(memory=MemoryId.INP, sram_base=2001, dram_base=256, y_size=6, x_size=6, x_pad_0=1, x_pad_1=1),
        "INP elements 2001 to 2048 are out of range, the buffer has 2048 elements",
    ),
    (
        Store(sram_base=2047, dram_base=256, y_size=1, x_size=2),
        "OUT elements 2047 to 2048 are out of range, the buffer has 2048 elements",
    ),
    (
        Load(memory=MemoryId.ACC_8BIT, sram_base=2047, dram_base=256, y_size=2, x_size=1),
        "ACC_8BIT elements 2047 to 2048 are out of range, the buffer has 2048 elements",
    ),
    (
        Load(memory=MemoryId.WGT, dram_base=255, y_size=3, x_size=1, x_stride=1),
        "DRAM bytes 0x10000 to 0x100ff are out of range, memory ends at 0x10000",
    ),
    (
        Load(memory=MemoryId.UOP, dram_base=1023, y_size=1, x_size=2),
        "DRAM bytes 0xffc to 0x1003 are out of range, memory begins at 0x1000",
    ),
    (Gemm(uop_bgn=1, uop_end=8193), "micro-op index 8192 is out of range, the buffer has 8192 elements"),
]
INNOCENT: list[Instruction] = [
    Load(memory=MemoryId.INP, sram_base=2000, dram_base=256, y_size=6, x_size=6, x_pad_0=1, x_pad_1=1),
    Load(memory=MemoryId.WGT, sram_base=1023, dram_base=255, y_size=1, x_size=1, x_stride=9),
    Load(memory=MemoryId.INP, sram_base=65535, y_size=0, x_size=9),
    Store(sram_base=65535, y_size=9, x_size=0),
    Gemm(uop_bgn=5, uop_end=8193, iter_in=0),
    Alu(alu_opcode=AluOpcode.ADD, uop_bgn=8191, uop_end=8191),
]


@pytest.mark.parametrize(
    ("instruction", "message"), FAULTS, ids=[f"{i.module.name}-{n}" for n, (i, _) in enumerate(FAULTS)]
)
def test_the_first_access_out_of_range_is_found(instruction: Instruction, message: str) -> None:
    stream = stream_of([*INNOCENT, instruction, FAULTS[-1][0], instruction, Finish()])
    assert stream.out_of_range(END)[instruction.module] == Fault(len(INNOCENT), message)


def test_what_is_in_range_or_does_nothing_is_no_fault() -> None:
    assert stream_of([*INNOCENT, Finish()]).out_of_range(END) == {}


def test_skipped_work_is_never_out_of_range_but_for_micro_op_loads() -> None:
    uops = Load(memory=MemoryId.UOP, sram_base=8192, dram_base=1024, y_size=1, x_size=1)
    skipped = [instruction for instruction, message in FAULTS if not message.startswith("DRAM bytes 0xffc")]
    found = stream_of([*skipped, uops, Finish()], skip=True).out_of_range(END)
    message = "UOP elements 8192 to 8192 are out of range, the buffer has 8192 elements"
    assert found == {COMPUTE: Fault(len(skipped), message)}


@pytest.mark.parametrize(
    ("instructions", "fault"),
    [
        ([Gemm(), Finish()], None),
        ([Finish(), Gemm(), Finish()], Fault(0, "FINISH must be the last instruction of a launch, and this one has 3")),
        ([Finish(), Gemm()], Fault(0, "FINISH must be the last instruction of a launch, and this one has 2")),
        ([Gemm(), Store()], Fault(1, "the last instruction of a launch must be FINISH, not STORE")),
    ],
)
def test_finish_stands_at_the_end(instructions: list[Instruction], fault: Fault | None) -> None:
    assert stream_of(instructions).refusal() == fault


def test_the_first_illegal_word_is_named_unless_finish_stands_before_it() -> None:
    array = encode_all([Gemm(), Gemm(), FAULTS[0][0], Gemm()], CONFIG)
    array[1:, 0] = 7
    stream = InstructionStream(array, CONFIG)
    assert (stream.legal, len(stream)) == (1, 4)
    text = "opcode 7 is unknown; the opcodes are LOAD 0, STORE 1, GEMM 2, FINISH 3, ALU 4"
    assert stream.refusal() == Fault(1, text)
    array[0] = encode_all([Finish()], CONFIG)
    text = "FINISH must be the last instruction of a launch, and this one has 4"
    assert InstructionStream(array, CONFIG).refusal() == Fault(0, text)


def test_each_module_has_a_first_fault_and_tokens_decide_which_comes_first() -> None:
    wait, give = Deps(pop_prev=True), Deps(push_next=True)
    bad = Load(memory=MemoryId.INP, sram_base=2047, dram_base=256, y_size=1, x_size=2)
    waiting = Gemm(uop_bgn=1, uop_end=8193, deps=wait)
    early = stream_of([waiting, bad, replace(bad, deps=give), Finish()])
    faults = early.out_of_range(END)
    assert {module: fault.index for module, fault in faults.items()} == {LOAD: 1, COMPUTE: 0}
    found = early.up_to_first(faults.values())
    assert (found.places.tolist(), found.fault) == ([], faults[LOAD])
    given = stream_of([waiting, Load(memory=MemoryId.INP, deps=give), bad, Finish()])
    found = given.up_to_first(given.out_of_range(END).values())
    assert (found.places.tolist(), found.fault and found.fault.index) == ([1], 0)
    stuck = stream_of([waiting, Finish()])
    found = stuck.up_to_first(stuck.out_of_range(END).values())
    assert (found.places.tolist(), found.fault) == ([0, 1], None)


def test_stores_over_a_range_are_seen() -> None:
    stream = stream_of(
        [Store(dram_base=0x100, y_size=2, x_size=1, x_stride=4), Store(dram_base=0x180, x_size=0), Finish()]
    )
    hull = [stream.stores_over(begin, begin + 1) for begin in (0xFFF, 0x1000, 0x104F, 0x1050, 0x1800)]
    assert hull == [False, True, True, False, False]
    assert not stream.stores_own_uops


def test_a_shortened_stream_ends_with_finish() -> None:
    instructions: list[Instruction] = [Gemm(), Load(memory=MemoryId.INP, deps=Deps(push_next=True)), Finish()]
    stream = stream_of(instructions)
    assert decode_all(stream.words_to_run(np.arange(1)), CONFIG) == [Gemm(), Finish()]
    assert decode_all(stream.words_to_run(np.arange(3)), CONFIG) == instructions


def test_a_stream_without_work_keeps_tokens_and_micro_op_loads() -> None:
    uops = Load(memory=MemoryId.UOP, dram_base=1024, y_size=1, x_size=3)
    deps = Deps(pop_next=True, push_next=True)
    stream = stream_of(
        [
            uops,
            Load(memory=MemoryId.INP, y_size=2, x_size=4, y_pad_0=1, deps=deps),
            Gemm(uop_end=3, iter_out=2, deps=deps),
            Store(y_size=1, x_size=7, deps=Deps(push_prev=True)),
            Finish(),
        ],
        skip=True,
    )
    assert decode_all(stream.words_to_run(np.arange(5)), CONFIG) == [
        uops,
        Load(memory=MemoryId.INP, y_size=2, x_size=0, y_pad_0=1, deps=deps),
        Gemm(uop_end=3, iter_out=0, deps=deps),
        Store(y_size=1, x_size=0, deps=Deps(push_prev=True)),
        Finish(),
    ]


def test_heads_and_what_they_wait_for_follow_from_what_was_started() -> None:
    stream = stream_of(
        [
            Load(memory=MemoryId.INP, deps=Deps(push_next=True)),  # 0
            Gemm(deps=Deps(pop_prev=True, push_next=True)),  # 1
            Store(deps=Deps(pop_prev=True)),  # 2
            Store(deps=Deps(pop_prev=True)),  # 3
            Gemm(deps=Deps(pop_prev=True, pop_next=True)),  # 4
            Load(memory=MemoryId.INP),  # 5
            Finish(),
        ]
    )
    counts = {LOAD: 1, COMPUTE: 1, STORE: 1}
    assert np.flatnonzero(stream.started(counts)).tolist() == [0, 1, 2]
    assert stream.heads(counts, fetched=5) == [
        ModuleHead(LOAD, 5),
        ModuleHead(COMPUTE, 4, ((LOAD, COMPUTE), (STORE, COMPUTE))),
        ModuleHead(STORE, 3, ((COMPUTE, STORE),)),
    ]
    assert stream.heads({LOAD: 2, COMPUTE: 3, STORE: 2}, fetched=7) == [ModuleHead(module, None) for module in Module]


def test_the_ranges_of_loads_and_stores_are_bytes_of_those_that_move_something() -> None:
    stream = stream_of(
        [
            Load(memory=MemoryId.INP, dram_base=256, y_size=2, x_size=3, x_stride=10),
            Load(memory=MemoryId.WGT, dram_base=16, y_size=1, x_size=0, x_stride=1),
            Load(memory=MemoryId.UOP, dram_base=1024, y_size=1, x_size=5, x_stride=5),
            Load(memory=MemoryId.ACC_8BIT, dram_base=512, y_size=1, x_size=1, x_stride=1),
            Store(sram_base=0, dram_base=256, y_size=2, x_size=1, x_stride=4),
            Store(sram_base=0, dram_base=999, y_size=0, x_size=1, x_stride=4),
            Finish(),
        ]
    )
    assert stream.loaded_ranges == [(4096, 4304), (4096, 4116), (8192, 8208)]
    assert stream.stored_ranges == [(4096, 4176)]
    assert stream_of([Finish()]).loaded_ranges == stream_of([Finish()]).stored_ranges == []
