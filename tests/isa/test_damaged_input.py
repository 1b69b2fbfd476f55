"""Damaged text and damaged headers: one error of the right kind, or a program that round-trips; nothing else."""

import hashlib
import json
import random
import struct
from pathlib import Path

import numpy as np
import pytest

from isa.check.checker import check
from isa.config import ConfigError, VTAConfig
from isa.layout import instruction_layouts, uop_layout
from isa.program import ProgramError
from isa.program_file import MAGIC, program_from_bytes, program_to_bytes
from isa.text.assembler import AssemblyError, assemble
from isa.text.disassembler import disassemble
from tests.support.configs import CONFIGS
from tests.support.isa.random_programs import random_program

PROGRAMS = Path(__file__).parent / "text" / "programs"
EVERYTHING = """\
.config LOG_BATCH=1
.data A address=0x1000 type=int8 shape=2,3 1 2 3 4 5 6
.data "b c" type=float32 shape=2 1.5 nan
.output A
.output "b c"
.uop address=0x8000
x: dst=1 src=2 wgt=3
word=0x1
.text
load.acc8 x=1 dram=A+4 @ "s" "t"
load.wgt x=0 dram=x-1
alu.shr uop=0:1 unused_imm=-4 iter=1,2 dst=3,4 src=5,6
gemm reset uop=0:2 wgt=1,2 push_next ; comment
store.acc x=0 y=0
finish pop_prev
"""
TEXTS = [EVERYTHING, *(path.read_text() for path in sorted(PROGRAMS.glob("*.vta")))]
CHARACTERS = ' \t\n"\\=,:;#@.+-0123456789abcdefxyz_ABC\x00é\u2028'
NUMBERS = [10**30, -1, 2**31, 2**32, 2**16, 2**63, 99]


def _damaged(rng: random.Random, text: str) -> str:
    """Return ``text`` with a few characters changed, added, removed or repeated."""
    characters = list(text)
    for _ in range(rng.choice([1, 1, 2, 4])):
        place = rng.randrange(len(characters))
        match rng.randrange(5):
            case 0:
                characters[place] = rng.choice(CHARACTERS)
            case 1:
                characters.insert(place, rng.choice(CHARACTERS))
            case 2:
                del characters[place]
            case 3:
                other = rng.randrange(len(characters))
                characters[place:place] = characters[other : other + rng.randrange(12)]
            case _:
                characters[place] = str(rng.choice(NUMBERS))
    return "".join(characters)


def test_a_damaged_text_is_one_error_or_a_program_that_comes_back() -> None:
    rng = random.Random(1)
    outcomes = {True: 0, False: 0}
    for _ in range(1500):
        text = _damaged(rng, rng.choice(TEXTS))
        try:
            program = assemble(text)
        except AssemblyError:
            outcomes[False] += 1
            continue
        outcomes[True] += 1
        assert assemble(disassemble(program)) == program, text
        assert program_from_bytes(program_to_bytes(program)) == program, text
        check(program)
    assert min(outcomes.values()) > 100


VALUES: list[object] = [None, True, -1, 0, 10**30, 1.5, float("inf"), "x", "", "\ud800", [], [1], {}, [["a", "b"]]]


def _replaced(value: object, new: object) -> list[object]:
    """Return copies of a JSON value, each with one part of it (or all of it) replaced by ``new``."""
    copies = [new]
    if isinstance(value, dict):
        copies += [{**value, key: copy} for key, part in value.items() for copy in _replaced(part, new)]
    if isinstance(value, list):
        copies += [
            [*value[:at], copy, *value[at + 1 :]] for at, part in enumerate(value) for copy in _replaced(part, new)
        ]
    return copies


@pytest.mark.parametrize("new", VALUES, ids=repr)
def test_a_header_with_a_foreign_part_is_one_error_or_a_program(new: object) -> None:
    data = program_to_bytes(random_program(np.random.default_rng(0), CONFIGS["in16out32"], length=2))
    _, version, length = struct.unpack_from("<8sII", data)
    refused = 0
    for header in _replaced(json.loads(data[16 : 16 + length]), new):
        text = json.dumps(header).encode()
        body = struct.pack("<8sII", MAGIC, version, len(text)) + text + data[16 + length : -32]
        try:
            program_from_bytes(body + hashlib.sha256(body).digest())
        except ProgramError:
            refused += 1
    assert refused > 10


def test_any_keys_are_a_configuration_or_one_error() -> None:
    rng = random.Random(2)
    keys = [*VTAConfig().to_dict(), "LOG_BLOCK_IN", "LOG_BLOCK_OUT"]
    legal = longest = 0
    for _ in range(3000):
        given: dict[str, object] = dict(VTAConfig().to_dict())
        for key in rng.sample(keys, rng.randrange(1, 5)):
            given[key] = rng.choice([*range(-3, 24), 10**9, 10**30, None, "x", 1.0, True, []])
        try:
            config = VTAConfig.from_dict(given)
        except ConfigError as error:
            longest = max(longest, len(str(error)))
            continue
        legal += 1
        assert VTAConfig.from_dict(config.to_dict()) == config
        assert {layout.width for layout in instruction_layouts(config).values()} == {128}
        assert uop_layout(config).width == 32
    assert legal > 50
    assert 50 < longest < 300
