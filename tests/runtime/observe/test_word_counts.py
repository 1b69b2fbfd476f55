"""Counting words gives what the reference counts while it executes."""

from dataclasses import asdict

import numpy as np
import pytest

from isa.bulk import decode_fields
from isa.instructions import Finish
from runtime.observe.stats import Statistics, count_instructions
from runtime.observe.word_counts import count_words
from tests.support.configs import CONFIGS
from tests.support.isa.random_programs import random_program
from tests.support.runtime.engine_comparison import run_reference


@pytest.mark.parametrize("name", CONFIGS)
def test_counts_of_random_programs_equal_those_of_the_reference(name: str) -> None:
    config = CONFIGS[name]
    for seed in range(15):
        program = random_program(np.random.default_rng([31, seed]), config)
        tables = decode_fields(program.words, config)
        every = np.ones(len(program.words), np.bool_)
        expected = Statistics(
            **asdict(run_reference(program).counts), instructions=count_instructions(program.instructions)
        )
        assert count_words(tables, every, config) == expected


def test_only_the_chosen_instructions_count() -> None:
    config = CONFIGS["default"]
    program = random_program(np.random.default_rng(32), config)
    tables = decode_fields(program.words, config)
    chosen = np.array([isinstance(instruction, Finish) for instruction in program.instructions])
    assert count_words(tables, chosen, config) == Statistics(instructions=count_instructions([Finish()]))
    chosen = np.arange(len(program.words)) < 9
    assert count_words(tables, chosen, config).instructions == count_instructions(program.instructions[:9])
