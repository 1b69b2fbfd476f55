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


def test_instructions_leave_in_order_and_none_is_lost() -> None:
    rng = np.random.default_rng(5)
    design = compile_design(InstructionQueue(CONFIG, depth=4))
    words = [encode(Gemm(uop_bgn=int(rng.integers(9)), uop_end=int(rng.integers(30))), CONFIG) for _ in range(80)]
    given = 0
    got: list[int] = []
    while len(got) < len(words):
        offers, takes = int(given < len(words) and rng.random() < 0.6), int(rng.random() < 0.5)
        design.poke("source__valid", offers)
        design.poke("source__payload", words[min(given, len(words) - 1)])
        design.poke("sink__ready", takes)
        if takes and design.peek("sink__valid"):
            got.append(_ranged(design.peek("sink__payload"))[0])
        given += offers and design.peek("source__ready")
        design.step()
    assert got == words
