"""Random valid programs with one to three fields, bits or words changed: what engines must refuse, or do alike."""

import numpy as np

from isa.bulk import array_to_words
from isa.config import VTAConfig
from isa.instructions import Opcode
from isa.layout import Field, Layout, instruction_layouts
from isa.program import Program
from tests.support.isa.random_programs import random_program

__all__ = ["damaged_program"]

_SHORT_LOOPS = ("iter_out", "iter_in")
_MOST_TRIPS = 40


def damaged_program(rng: np.random.Generator, config: VTAConfig) -> tuple[Program, list[int], list[int]]:
    """Return a random valid program, and its instruction words and micro-op words after the damage."""
    program = random_program(rng, config)
    words, uops = array_to_words(program.words), list(program.uops)
    for _ in range(int(rng.integers(1, 4))):
        place = int(rng.integers(len(words)))
        match int(rng.integers(12)):
            case 0:
                words[place] ^= 1 << int(rng.integers(128))
            case 1:
                del words[place]
            case 2:
                words.insert(place, words[int(rng.integers(len(words)))])
            case 3:
                other = int(rng.integers(len(words)))
                words[place], words[other] = words[other], words[place]
            case 4 if uops:
                uops[int(rng.integers(len(uops)))] ^= 1 << int(rng.integers(32))
            case _:
                words[place] = _with_another_value(rng, words[place], config)
        if not words:
            return program, array_to_words(program.words), uops
    return program, [_with_short_loops(word, config) for word in words], uops


def _layout(word: int, config: VTAConfig) -> Layout | None:
    return next((instruction_layouts(config)[kind.name] for kind in Opcode if kind == word & 7), None)


def _with_another_value(rng: np.random.Generator, word: int, config: VTAConfig) -> int:
    layout = _layout(word, config)
    if layout is None:
        return word
    field = layout.fields[int(rng.integers(len(layout.fields)))]
    offset, mask = layout.offsets[layout.fields.index(field)], (1 << field.width) - 1
    old = word >> offset & mask
    new = (0, 1, mask, old + 1, old - 1, old + 7, 2 * old)[int(rng.integers(7))] & mask
    return word & ~(mask << offset) | new << offset


def _with_short_loops(word: int, config: VTAConfig) -> int:
    """Return the word with loops that the reference gets through in no time."""
    layout = _layout(word, config)
    for field in layout.fields if layout is not None else ():
        if field.name in _SHORT_LOOPS:
            assert layout is not None
            word = _limited(word, field, layout.offsets[layout.fields.index(field)])
    return word


def _limited(word: int, field: Field, offset: int) -> int:
    mask = (1 << field.width) - 1
    value = word >> offset & mask
    return word & ~(mask << offset) | (value if value <= _MOST_TRIPS else value % _MOST_TRIPS) << offset
