"""Races and missing tokens: each kind by hand, and brute force's verdict on random programs with a flag changed."""

from dataclasses import replace

import numpy as np
import pytest

from isa.check.checker import FindingKind, Severity, check
from isa.instructions import Instruction, Module
from isa.program import Program
from isa.text.assembler import assemble
from tests.support.compiler.schedules import has_reversed_conflict
from tests.support.configs import CONFIGS
from tests.support.isa.random_programs import random_program

HEAD = """\
.data A address=0x1000 type=int8 shape=4096
zeros
.output C address=0x4000 type=int8 shape=4096
.uop address=0x8000
dst=0 src=0 wgt=0
.text
load.uop dram=uops x=1
gemm reset uop=0:1 iter=1,4 dst=0,1
load.inp dram=0x100 x=4{0}
load.wgt dram=0x11 x=1{1}
gemm uop=0:1 iter=1,4 dst=0,1 src=0,1{2}
load.inp dram=0x110 x=4{3}
store dram=0x400 x=4{4}
finish
"""
GOOD = ("", " push_next", " pop_prev push_prev push_next", " pop_next", " pop_prev")


def _errors(*flags: str) -> list[str]:
    return [str(f) for f in check(assemble(HEAD.format(*flags))) if f.severity == Severity.ERROR]


def test_a_program_with_all_its_tokens_is_in_order() -> None:
    assert _errors(*GOOD) == []


def test_an_operand_that_may_not_have_arrived_is_a_race() -> None:
    assert _errors("", "", " push_prev push_next", *GOOD[3:]) == [
        "error: instruction 4: GEMM reads WGT element 0, which instruction 3 (LOAD WGT) may still write: no "
        "instruction from 3 on gives a token of l2g before it"
    ]


def test_an_operand_that_may_be_overwritten_is_a_race() -> None:
    assert _errors(*GOOD[:3], "", GOOD[4]) == [
        "error: instruction 5: LOAD INP writes INP elements 0 to 3, which instruction 4 (GEMM) may still read: "
        "instruction 5 should take the token of g2l that 4 gives, which nobody takes"
    ]


def test_the_token_that_came_too_early_is_named() -> None:
    assert _errors(" push_next", " push_next", *GOOD[2:])[0] == (
        "error: instruction 4: GEMM reads WGT element 0, which instruction 3 (LOAD WGT) may still write: its "
        "last token of l2g comes from instruction 2; instruction 4 should take the token of l2g that 3 gives, which "
        "nobody takes"
    )


def test_an_accumulator_that_may_be_stored_too_early_is_a_race() -> None:
    assert _errors(*GOOD[:2], " pop_prev push_prev", GOOD[3], "") == [
        "error: instruction 6: STORE reads ACC elements 0 to 3, which instruction 4 (GEMM) may still write: no "
        "instruction from 4 on gives a token of g2s before it"
    ]


STORED = """\
.data A address=0x1000 type=int8 shape=4096
zeros
.text
load.acc dram=0x41 x=1{0}
store dram=0x110 x=4{1}
nop.compute{2}
load.inp dram=0x112 x=2{3}
finish
"""


def test_a_load_waits_for_the_store_over_two_tokens() -> None:
    flags = (" push_next", " pop_prev push_prev", " pop_next push_prev", " pop_next")
    unwritten = "STORE reads ACC elements 1 to 3, which nothing has written"
    ordered = [str(f) for f in check(assemble(STORED.format(*flags)))]
    assert ordered == [f"error: instruction 1: {unwritten}"]
    [_, race] = [f for f in check(assemble(STORED.format(*flags[:3], ""))) if f.severity == Severity.ERROR]
    assert str(race) == (
        "error: instruction 3: LOAD INP reads DRAM bytes 0x1120 to 0x113f, which instruction 1 (STORE) may "
        "still write: "
        "no tokens lead from STORE over COMPUTE to LOAD in between"
    )
    assert (race.kind, race.index, race.others) == (FindingKind.RACE, 3, (1,))


def test_origins_are_named_on_both_sides() -> None:
    text = HEAD.format(*GOOD[:3], "", GOOD[4])
    text = text.replace("src=0,1 pop", 'src=0,1 @ "C_buf" "conv.py:31" pop').replace(
        "load.inp dram=0x110 x=4", 'load.inp dram=0x110 x=4 @ "A_buf" "conv.py:25"'
    )
    lines = [line if "@" not in line else _origin_last(line) for line in text.splitlines()]
    [race] = [f for f in check(assemble("\n".join(lines))) if f.severity == Severity.ERROR]
    assert str(race).startswith(
        "error: instruction 5 (from A_buf (conv.py:25)): LOAD INP writes INP elements 0 to 3, which "
        "instruction 4 (GEMM, "
        "from C_buf (conv.py:31)) may still read: "
    )


def _origin_last(line: str) -> str:
    head, _, rest = line.partition(" @ ")
    stage, source, *flags = rest.split()
    return " ".join([head, *flags, "@", stage, source])


def test_a_race_is_reported_once_for_each_instruction_that_is_not_waited_for() -> None:
    text = HEAD.format(*GOOD[:3], "", GOOD[4]).replace(
        "store", "load.inp dram=0x110 x=2\nload.inp dram=0x110 x=4\nstore"
    )
    assert [f.index for f in check(assemble(text)) if f.severity == Severity.ERROR] == [5]


SHORT = [
    ("nop.compute pop_prev\nnop.load push_next\nfinish", [(0, (1,))]),
    ("nop.load\nnop.compute pop_prev\nfinish", [(1, (0,)), (None, (1,))]),
    ("nop.compute pop_prev\nnop.compute pop_next\nfinish", [(0, ()), (None, (0,))]),
]


@pytest.mark.parametrize(("text", "places"), SHORT)
def test_a_pop_that_finds_no_token_names_who_should_have_given_it(
    text: str, places: list[tuple[int | None, tuple[int, ...]]]
) -> None:
    found = [f for f in check(assemble(text)) if f.severity == Severity.ERROR]
    assert [(f.index, f.others) for f in found] == places
    assert all(f.kind == FindingKind.TOKENS for f in found)


THREADS = """\
.data A address=0x1000 type=int8 shape=8192
zeros
.uop address=0x8000
dst=0 src=0 wgt=0
dst=1 src=1 wgt=0
.text
load.uop dram=uops x=2
load.wgt dram=0x11 x=1 push_next
gemm reset uop=0:2 pop_prev
load.inp dram=0x100 x=1 push_next
load.inp dram=0x101 x=1 sram=1 push_next
gemm uop=0:1 pop_prev{0}
gemm uop=1:2 pop_prev push_prev
load.inp dram=0x100 x=1 pop_next push_next
load.inp dram=0x101 x=1 sram=1 pop_next push_next
gemm uop=0:1 pop_prev
gemm uop=1:2 pop_prev
finish
"""


def test_the_first_of_two_threads_is_blamed_when_the_second_waits_for_ever() -> None:
    assert check(assemble(THREADS.format(" push_prev"))) == []
    first = check(assemble(THREADS.format("")))[0]
    assert str(first) == (
        "error: instruction 8: takes a token from g2l that nothing gives; instruction 7, which takes one too, "
        "must wait "
        "for instruction 5 (GEMM), which gives none"
    )


@pytest.mark.parametrize("name", CONFIGS)
def test_the_checker_judges_changed_tokens_as_brute_force_does(name: str) -> None:
    verdicts = {True: 0, False: 0}
    for seed in range(40):
        rng = np.random.default_rng([seed, 31])
        program = _with_one_flag_changed(random_program(rng, CONFIGS[name], length=14), rng)
        wrong = {FindingKind.RACE, FindingKind.TOKENS} & {
            f.kind for f in check(program) if f.severity == Severity.ERROR
        }
        assert bool(wrong) == has_reversed_conflict(program), f"seed {seed}"
        verdicts[bool(wrong)] += 1
    assert min(verdicts.values()) >= 2


def _with_one_flag_changed(program: Program, rng: np.random.Generator) -> Program:
    """Return ``program`` with one token flag that its module has set or cleared (the latter more often)."""
    choices = [
        (index, flag)
        for index, instruction in enumerate(program.instructions[:-1])
        for flag in _flags(instruction)
        for _ in range(6 if getattr(instruction.deps, flag) else 1)
    ]
    index, flag = choices[int(rng.integers(len(choices)))]
    changed = list(program.instructions)
    deps = changed[index].deps
    changed[index] = replace(changed[index], deps=replace(deps, **{flag: not getattr(deps, flag)}))
    return replace(program, instructions=tuple(changed))


def _flags(instruction: Instruction) -> tuple[str, ...]:
    match instruction.module:
        case Module.LOAD:
            return ("pop_next", "push_next")
        case Module.STORE:
            return ("pop_prev", "push_prev")
        case Module.COMPUTE:
            return ("pop_prev", "pop_next", "push_prev", "push_next")


TWO_STORES = """\
.data A address=0x1000 type=int8 shape=4096
zeros
.output C address=0x4000 type=int8 shape=4096
.uop address=0x8000
dst=0 src=0 wgt=0
.text
load.uop dram=uops x=1
gemm reset uop=0:1 iter=1,2 dst=0,1 push_next
store dram=0x400 x=1{}
store dram=0x401 sram=1 x=1{}
finish
"""


def test_a_module_knows_later_what_a_token_told_it_before() -> None:
    def errors(first: str, second: str) -> list[str]:
        found = check(assemble(TWO_STORES.format(first, second)))
        return [str(each) for each in found if each.severity == Severity.ERROR]

    assert errors(" pop_prev", "") == []
    assert errors("", " pop_prev") != []
