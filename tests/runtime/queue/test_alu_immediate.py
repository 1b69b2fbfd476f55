"""Split immediates: right for every accumulator value, in few operations, all within 16 bits."""

import random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from isa.instructions import AluOpcode
from runtime.queue.alu_immediate import split_immediate
from tests.support.isa.alu_judge import judge

INT32 = st.integers(-(1 << 31), (1 << 31) - 1)


def apply(steps: tuple[tuple[AluOpcode, int], ...], value: int) -> int:
    for opcode, imm in steps:
        assert -(1 << 15) <= imm < 1 << 15
        value = judge(opcode, value, imm)
    return value


@pytest.mark.parametrize(("opcode", "most"), [(AluOpcode.ADD, 6), (AluOpcode.MUL, 4), (AluOpcode.SHR, 1)])
@given(imm=INT32, value=INT32)
@example(imm=(1 << 31) - 1, value=-1)
@example(imm=-(1 << 31), value=(1 << 31) - 1)
@example(imm=6 * 32767, value=5)
@example(imm=6 * 32767 + 1, value=5)
@settings(max_examples=150, deadline=None)
def test_a_split_immediate_does_what_the_whole_one_does(opcode: AluOpcode, most: int, imm: int, value: int) -> None:
    steps = split_immediate(opcode, imm, each_once=lambda: True)
    assert len(steps) <= most
    assert apply(steps, value) == judge(opcode, value, imm)


@pytest.mark.parametrize("opcode", list(AluOpcode))
@pytest.mark.parametrize("imm", [-32768, -1, 0, 8, 32767])
def test_an_immediate_that_fits_stays_one_operation(opcode: AluOpcode, imm: int) -> None:
    assert split_immediate(opcode, imm, each_once=lambda: False) == ((opcode, imm),)


def test_a_sum_of_up_to_six_pieces_is_plain_and_does_not_ask_for_more() -> None:
    steps = split_immediate(AluOpcode.ADD, 70000, each_once=lambda: pytest.fail("not needed"))
    assert steps == ((AluOpcode.ADD, 32767), (AluOpcode.ADD, 32767), (AluOpcode.ADD, 4466))


def test_repeated_visits_keep_the_meaning_of_sums_and_products() -> None:
    rng = random.Random(3)
    for _ in range(50):
        value, visits = rng.randrange(-(1 << 31), 1 << 31), rng.randrange(1, 4)
        for opcode, limit in ((AluOpcode.ADD, 1 << 21), (AluOpcode.MUL, 1 << 31)):
            imm = rng.randrange(-limit, limit)
            expected = found = value
            for _ in range(visits):
                expected = judge(opcode, expected, imm)
            for step in split_immediate(opcode, imm, each_once=lambda: False):
                for _ in range(visits):  # an instruction visits all accumulators before the next one begins
                    found = apply((step,), found)
            assert found == expected
