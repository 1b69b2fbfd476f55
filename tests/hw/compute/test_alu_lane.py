# amaranth: UnusedElaboratable=no
"""A lane computes every operation, every cycle."""

from typing import Any

import numpy as np
import pytest

from hw.compute.alu_lane import LANE_LATENCY, AluLane
from hw.errors import ComponentError
from hw.sim import compile_design
from hw.sim.netlist import cells as n
from hw.sim.netlist.frontend import build_netlist
from isa.instructions import AluOpcode
from tests.support.isa.alu_judge import judge, judge_lanes

EXTREMES = [0, 1, -1, 2, 31, 32, 33, -31, -32, -33, -64, 64, 2**31 - 1, -(2**31), 0x55555555, -(2**31) + 1]


def _operands() -> Any:
    rng = np.random.default_rng(3)
    pairs = [(x, y) for x in EXTREMES for y in EXTREMES] + [(x, y) for x in EXTREMES[-6:] for y in range(-40, 41)]
    pairs += [((-1) ** k << i, (1 << j) - k) for i in range(0, 32, 3) for j in range(0, 31, 3) for k in (0, 1)]
    random = rng.integers(-(2**31), 2**31, (400, 2)).tolist()
    return np.array(pairs + random, np.int64).astype(np.int32)


MULTIPLIERS = [(3, False), (2, False), (1, False), (0, False), (2, True), (1, True), (0, True)]


@pytest.mark.parametrize("held", [0, 1])
@pytest.mark.parametrize("opcode", AluOpcode)
def test_a_lane_computes_every_operation_and_has_nothing_that_a_reset_clears(opcode: AluOpcode, held: int) -> None:
    assert _results(AluLane(), opcode, held) == _expected(opcode)


@pytest.mark.parametrize(("multipliers", "wide"), MULTIPLIERS)
def test_a_product_of_fewer_multipliers_is_the_same(multipliers: int, wide: bool) -> None:
    lane = AluLane(multipliers=multipliers, wide=wide)
    assert _results(lane, AluOpcode.MUL, held=1) == _expected(AluOpcode.MUL)


def test_a_lane_has_use_for_three_multipliers() -> None:
    with pytest.raises(ComponentError, match=r"^AluLane has use for 0 to 3 multipliers, not 4$"):
        AluLane(multipliers=4)


def _results(lane: AluLane, opcode: AluOpcode, held: int) -> list[int]:
    design = compile_design(lane)
    design.poke("rst", held)
    operands = _operands()
    results = []
    for x, y in operands.tolist():
        design.poke("opcode", int(opcode))
        design.poke("adds", int(opcode in (AluOpcode.ADD, AluOpcode.SHR)))
        design.poke("shifts", int(opcode is AluOpcode.SHR))
        design.poke("x", x)
        design.poke("y", y)
        design.step()
        results.append(design.peek("result"))
    return results[LANE_LATENCY - 1 :]


def _expected(opcode: AluOpcode) -> list[int]:
    operands = _operands()
    expected: list[int] = judge_lanes(opcode, operands[:, 0], operands[:, 1]).view(np.uint32).tolist()
    return expected[: len(expected) + 1 - LANE_LATENCY]


def test_operations_may_change_every_cycle() -> None:
    design = compile_design(AluLane())
    rng = np.random.default_rng(4)
    operands = _operands()
    opcodes = [AluOpcode(code) for code in rng.choice(list(AluOpcode), len(operands)).tolist()]
    results = []
    for opcode, (x, y) in zip(opcodes, operands.tolist(), strict=True):
        design.poke("opcode", int(opcode))
        design.poke("adds", int(opcode in (AluOpcode.ADD, AluOpcode.SHR)))
        design.poke("shifts", int(opcode is AluOpcode.SHR))
        design.poke("x", x)
        design.poke("y", y)
        design.step()
        results.append(design.peek("result"))
    for index, opcode in enumerate(opcodes[: len(opcodes) + 1 - LANE_LATENCY]):
        assert results[index + LANE_LATENCY - 1] == judge(opcode, *operands[index].tolist()) & 0xFFFFFFFF


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("multipliers", [0, 1, 2, 3])
def test_products_of_a_lane_fit_the_multipliers_that_there_are(multipliers: int, wide: bool) -> None:
    """Of 18 by 18 bits with signs, or 25 by 18; the parts have none, so that a bit of each is the sign's.

    With all three multipliers wide ones have no use. A product of logic leaves two numbers to be added, one of a
    multiplier is one.
    """
    netlist = build_netlist(AluLane(multipliers=multipliers, wide=wide))
    products = [cell.inputs for cell in netlist.cells if isinstance(cell, n.Operator) and cell.kind == "*"]
    sizes = [sorted(max(bit + 1 for bit, net in enumerate(side) if net) for side in sides) for sides in products]
    assert sizes == ([[17, 24], [15, 15]] if wide and multipliers < 3 else [[17, 17], [15, 15], [15, 15]])[:multipliers]
    terms = [name.removeprefix("term_") for name in netlist.signals if name.startswith("term_")]
    assert sorted(terms) == [
        f"{part}_{number}" for part in range(3) for number in range(1 if part < multipliers else 2)
    ]
