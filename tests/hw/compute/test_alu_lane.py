# amaranth: UnusedElaboratable=no
"""A lane computes every operation, every cycle."""

from typing import Any

import numpy as np
import pytest

from hw.compute.alu_lane import LANE_LATENCY, AluLane
from hw.sim import compile_design
from isa.instructions import AluOpcode
from tests.support.isa.alu_judge import judge, judge_lanes

EXTREMES = [0, 1, -1, 2, 31, 32, 33, -31, -32, -33, -64, 64, 2**31 - 1, -(2**31), 0x55555555, -(2**31) + 1]


def _operands() -> Any:
    rng = np.random.default_rng(3)
    pairs = [(x, y) for x in EXTREMES for y in EXTREMES] + [(x, y) for x in EXTREMES[-6:] for y in range(-40, 41)]
    random = rng.integers(-(2**31), 2**31, (400, 2)).tolist()
    return np.array(pairs + random, np.int64).astype(np.int32)


@pytest.mark.parametrize("held", [0, 1])
@pytest.mark.parametrize("opcode", AluOpcode)
def test_a_lane_computes_every_operation_and_has_nothing_that_a_reset_clears(opcode: AluOpcode, held: int) -> None:
    design = compile_design(AluLane())
    design.poke("rst", held)
    operands = _operands()
    results = []
    for x, y in operands.tolist():
        design.poke("opcode", int(opcode))
        design.poke("x", x)
        design.poke("y", y)
        design.step()
        results.append(design.peek("result"))
    expected = judge_lanes(opcode, operands[:, 0], operands[:, 1]).view(np.uint32).tolist()
    assert results[LANE_LATENCY - 1 :] == expected[: len(expected) + 1 - LANE_LATENCY]


def test_operations_may_change_every_cycle() -> None:
    design = compile_design(AluLane())
    rng = np.random.default_rng(4)
    operands = _operands()
    opcodes = [AluOpcode(code) for code in rng.choice(list(AluOpcode), len(operands)).tolist()]
    results = []
    for opcode, (x, y) in zip(opcodes, operands.tolist(), strict=True):
        design.poke("opcode", int(opcode))
        design.poke("x", x)
        design.poke("y", y)
        design.step()
        results.append(design.peek("result"))
    for index, opcode in enumerate(opcodes[: len(opcodes) + 1 - LANE_LATENCY]):
        assert results[index + LANE_LATENCY - 1] == judge(opcode, *operands[index].tolist()) & 0xFFFFFFFF
