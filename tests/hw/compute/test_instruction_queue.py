"""Instructions leave the queue in order, with their unit and their range of micro-ops."""

import numpy as np
import pytest

from hw.compute.instruction_queue import InstructionQueue, classified_layout
from hw.compute.jobs import Unit
from hw.sim import compile_design
from isa.encoding import encode
from isa.instructions import Alu, AluOpcode, Finish, Gemm, Instruction, Load, MemoryId
from tests.support.hw.compute_rig import COMPUTE_CONFIGS

CONFIG = COMPUTE_CONFIGS["block4"]

KINDS: list[tuple[Instruction, Unit, int, int]] = [
    (Gemm(uop_bgn=3, uop_end=7, iter_out=2), Unit.GEMM, 3, 7),
    (Gemm(uop_bgn=3, uop_end=7, reset=True), Unit.GEMM, 3, 7),
    (Gemm(uop_bgn=7, uop_end=7), Unit.NONE, 7, 7),
    (Gemm(uop_bgn=8, uop_end=7), Unit.NONE, 8, 7),
    (Gemm(uop_bgn=3, uop_end=7, iter_in=0), Unit.NONE, 3, 7),
    (Gemm(uop_bgn=3, uop_end=7, iter_out=0), Unit.NONE, 3, 7),
    (Alu(alu_opcode=AluOpcode.MAX, uop_bgn=0, uop_end=1), Unit.ALU, 0, 1),
    (Alu(alu_opcode=AluOpcode.MAX, uop_bgn=0, uop_end=1, iter_in=0), Unit.NONE, 0, 1),
    (Load(memory=MemoryId.UOP, sram_base=5, y_size=1, x_size=4), Unit.UOP, 5, 9),
    (Load(memory=MemoryId.UOP, sram_base=60, y_size=1, x_size=4), Unit.UOP, 60, 64),
    (Load(memory=MemoryId.UOP, sram_base=5, y_size=1, x_size=0), Unit.NONE, 5, 5),
]


def _ranged(word: int) -> tuple[int, Unit, int, int]:
    found = classified_layout(CONFIG).from_bits(word)
    return int(found["word"]), Unit(int(found["unit"])), int(found["uop_bgn"]), int(found["uop_end"])


@pytest.mark.parametrize(("instruction", "unit", "bgn", "end"), KINDS)
def test_an_instruction_leaves_with_its_unit_and_its_micro_ops(
    instruction: Instruction, unit: Unit, bgn: int, end: int
) -> None:
    design = compile_design(InstructionQueue(CONFIG, depth=3))
    word = encode(instruction, CONFIG)
    design.poke("source__valid", 1)
    design.poke("source__payload", word)
    assert not design.peek("sink__valid")
    design.step()
    assert design.peek("sink__valid")
    assert _ranged(design.peek("sink__payload")) == (word, unit, bgn, end)


@pytest.mark.parametrize(
    ("instruction", "unit"),
    [
        (Load(memory=MemoryId.ACC, sram_base=1, y_size=1, x_size=1), Unit.ACC),
        (Load(memory=MemoryId.ACC, sram_base=1, y_size=0, x_size=1), Unit.NONE),
        (Load(memory=MemoryId.ACC, sram_base=1, y_size=1, x_size=0), Unit.NONE),
        (Finish(), Unit.NONE),
    ],
)
def test_an_instruction_without_micro_ops_leaves_with_its_unit(instruction: Instruction, unit: Unit) -> None:
    design = compile_design(InstructionQueue(CONFIG, depth=1))
    design.poke("source__valid", 1)
    design.poke("source__payload", encode(instruction, CONFIG))
    design.step()
    assert _ranged(design.peek("sink__payload"))[1] == unit


@pytest.mark.parametrize("depth", range(1, 7))
@pytest.mark.parametrize(("most_gap", "most_pause"), [(0, 0), (0, 9), (9, 0), (4, 4)])
def test_instructions_leave_in_order_and_none_is_lost(depth: int, most_gap: int, most_pause: int) -> None:
    """Each is offered after a gap, and kept on offer until there is room; each is taken after a pause."""
    rng = np.random.default_rng([depth, most_gap, most_pause])
    design = compile_design(InstructionQueue(CONFIG, depth=depth))
    words = [encode(Gemm(uop_bgn=int(rng.integers(9)), uop_end=int(rng.integers(30))), CONFIG) for _ in range(60)]
    given = gap = pause = waiting = 0
    got: list[int] = []
    for _ in range(60 * (2 + most_gap + most_pause)):
        offers, takes = int(given < len(words) and gap == 0), int(pause == 0)
        gap, pause = max(0, gap - 1), max(0, pause - 1)
        design.poke("source__valid", offers)
        design.poke("source__payload", words[min(given, len(words) - 1)])
        design.poke("sink__ready", takes)
        taken, room = takes and design.peek("sink__valid"), offers and design.peek("source__ready")
        assert design.peek("sink__valid") == (waiting > 0)
        assert waiting < depth if room else (not offers or waiting >= max(1, depth - 1))
        if taken:
            got.append(_ranged(design.peek("sink__payload"))[0])
            pause = int(rng.integers(most_pause + 1))
        if room:
            given, gap = given + 1, int(rng.integers(most_gap + 1))
        waiting += room - taken
        design.step()
    assert got == words
