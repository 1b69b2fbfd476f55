"""The accumulators of a core after every instruction of a program, beside those of the reference interpreter."""

from typing import Any

import numpy as np

from hw.accumulator import bank_bits
from isa.encoding import encode
from isa.instructions import Finish
from isa.program import Program
from isa.reference import Reference
from tests.support.hw.accumulator_places import bank, place
from tests.support.hw.core_rig import program_image
from tests.support.hw.core_sim import CoreSim, aligned

__all__ = ["first_difference"]


def first_difference(core: CoreSim, program: Program, reference_program: Program | None = None) -> str | None:
    """Run ever longer beginnings of ``program``; name the instruction after which an accumulator is not as it should.

    The reference runs ``reference_program``, by default the same one. Returns None if there is no such instruction.
    """
    expected = reference_program or program
    image, address = program_image(program)
    reference = Reference(core.vta, np.frombuffer(bytes(image), np.uint8).copy())
    for index, instruction in enumerate(expected.instructions):
        if isinstance(instruction, Finish):
            return None
        reference.step(instruction)
        words = _beginning(program, index + 1)
        memory = aligned(image)
        memory[address : address + len(words)] = np.frombuffer(words, np.uint8)
        core.design.reset()
        launch = core.launch(memory, address, len(words) // 16)
        assert launch.done, (index, launch)
        found = _accumulators(core)
        wrong = np.argwhere(found != reference.acc)
        if wrong.size:
            tile, batch, lane = (int(number) for number in wrong[0])
            return (
                f"after instruction {index}, {type(program.instructions[index]).__name__.upper()}: accumulator "
                f"[{tile}, {batch}, {lane}] is {found[tile, batch, lane]}, not {reference.acc[tile, batch, lane]}"
            )
    return None


def _beginning(program: Program, count: int) -> bytes:
    """Return the words of the first ``count`` instructions and of FINISH; tokens that are left are dropped."""
    instructions = [*program.instructions[:count], Finish()]
    return b"".join(encode(instruction, program.config).to_bytes(16, "little") for instruction in instructions)


def _accumulators(core: CoreSim) -> Any:
    """Return the accumulators as numbers, (depth, batch, block_out), from the banks of the design."""
    config = core.vta
    bits = bank_bits(config.log_acc_depth)
    names = sorted(name for name in core.design.memories if ".accumulator.bank_" in f".{name}")
    rows = [core.design.memory(name).view(np.int32) for name in names]
    assert len(rows) == 1 << bits, names
    result = np.zeros((config.acc_depth, config.batch, config.block_out), np.int32)
    lanes = config.batch * config.block_out
    for address in range(config.acc_depth):
        row = rows[bank(place(address, config.log_acc_depth), config.log_acc_depth)]
        result[address] = row.reshape(-1, max(2, lanes))[address >> bits, :lanes].reshape(result.shape[1:])
    return result
