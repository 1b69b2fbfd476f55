"""Engines one instruction at a time: the state after each step is the reference's, on every device."""

import numpy as np
import pytest

from isa.instructions import MemoryId
from isa.reference import Reference
from isa.text.assembler import assemble
from runtime.devices.device import ExecutionError
from tests.support.hw.small_designs import SMALL_DESIGNS
from tests.support.isa.random_programs import random_program
from vta.inspect.diff.state import DRAM, first_mismatch
from vta.inspect.diff.stepping import engine

CONFIG = SMALL_DESIGNS["block4"]


@pytest.mark.parametrize("name", ["reference", "sim", "tsim"])
def test_every_step_does_what_the_reference_does(name: str) -> None:
    program = random_program(np.random.default_rng(11), CONFIG)
    machine = engine(program, name)
    expected = Reference(CONFIG, program.dram())
    for index, instruction in enumerate(program.instructions):
        machine.step(index)
        expected.step(instruction)
        assert np.array_equal(machine.contents(MemoryId.ACC), expected.acc), index
        assert first_mismatch(DRAM, expected.memory, machine.contents(DRAM), program) is None, index
    assert np.array_equal(machine.contents(MemoryId.UOP), expected.uop)
    assert (machine.name, machine.config) == (name, CONFIG)


@pytest.mark.parametrize("count", [0, 1, 20])
def test_a_beginning_runs_at_once(count: int) -> None:
    program = random_program(np.random.default_rng(12), CONFIG)
    whole = len(program.instructions)
    for end in (count, whole):
        machine = engine(program, "sim")
        machine.run(end)
        expected = Reference(CONFIG, program.dram())
        for instruction in program.instructions[:end]:
            expected.step(instruction)
        assert np.array_equal(machine.contents(MemoryId.ACC), expected.acc)


def test_an_error_names_the_origin() -> None:
    program = assemble('load.inp x=1 dram=0x1000000 @ "A_buf" "a.py:3"\nfinish')
    with pytest.raises(ExecutionError, match=r"^instruction 0 \(from A_buf \(a.py:3\)\): DRAM bytes .* out of range"):
        engine(program, "sim").step(0)
