"""The machine that goes back and forth: at every position its state is the reference's."""

import resource
from typing import Any

import numpy as np
import pytest

from isa.program import Program
from isa.reference import Reference
from isa.text.assembler import assemble
from tests.support.configs import CONFIGS
from tests.support.isa.random_programs import random_program
from vta.inspect.debug import reversible
from vta.inspect.debug.reversible import ReplayMachine, StepError


def states(program: Program) -> list[tuple[bytes, ...]]:
    """Return everything before the first instruction and after each."""
    machine = Reference(program.config, program.dram())
    found = [everything(machine)]
    for instruction in program.instructions:
        machine.step(instruction)
        found.append(everything(machine))
    return found


def everything(machine: Reference) -> tuple[bytes, ...]:
    return tuple(a.tobytes() for a in (machine.memory, machine.acc, machine.inp, machine.wgt, machine.uop))


@pytest.mark.parametrize("name", ["default", "b2k16"])
def test_any_position_can_be_reached_from_any_other(name: str) -> None:
    program = random_program(np.random.default_rng(21), CONFIGS[name], length=40)
    expected, machine = states(program), ReplayMachine(program)
    rng = np.random.default_rng(5)
    for place in [len(program.instructions), 0, *rng.integers(len(expected), size=12).tolist()]:
        machine.go_to(place)
        assert machine.position == place
        assert everything(machine.state) == expected[place]


def test_snapshots_stay_few_and_serve_long_programs() -> None:
    loop = "alu.add uop=0:1 imm=1\nstore dram={} x=1\n"
    lines = "".join(loop.format(0x200 + i % 4) for i in range(4500))
    program = assemble(
        f".output C address=0x2000 type=int8 shape=64\n.uop address=0x8000\ndst=0\n.text\n"
        f"load.uop dram=uops x=1\n{lines}finish"
    )
    machine = ReplayMachine(program)
    machine.go_to(9001)
    assert int(machine.state.acc[0, 0, 0]) == 4500
    assert len(machine._snapshots) <= 64
    for place in (8999, 4001, 3, 130):
        machine.go_to(place)
        assert int(machine.state.acc[0, 0, 0]) == place // 2
        stores = (place - 1) // 2 if place else 0  # a load, then an addition and a store in turn
        expected = [0, 0, 0, 0]
        for number in range(max(0, stores - 4), stores):
            expected[number % 4] = number + 1 & 255
        assert machine.state.memory[0x2000:0x2040:16].tolist() == expected


def test_what_cannot_be_executed_is_told() -> None:
    machine = ReplayMachine(assemble("nop.load\nload.inp x=1 dram=0x10000000\nfinish"), first_address=0x1000)
    with pytest.raises(StepError, match=r"^instruction 1: DRAM bytes 0x100000000 to 0x10000000f are out of range"):
        machine.go_to(3)
    assert machine.position == 1
    waiting = ReplayMachine(assemble("nop.load\nnop.compute pop_prev\nfinish"))
    with pytest.raises(StepError, match=r"^instruction 1 waits for a token from l2g that nothing before it gives$"):
        waiting.go_to(2)
    ended = ReplayMachine(assemble("finish"))
    ended.step()
    assert ended.at_end
    with pytest.raises(StepError, match=r"^the program has ended$"):
        ended.step()


def test_snapshots_of_many_pages_share_them_and_are_fewer_than_would_fill_the_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(reversible, "_MOST_BYTES", 40 << 20)
    lines = "".join(f"alu.add uop=0:1 imm=1\nstore dram={0x100 * (1 + i % 300)} x=1\n" for i in range(2000))
    program = assemble(
        ".output C address=0x1000 type=int8 shape=1300000\n.uop address=0x200000\ndst=0\n.text\n"
        f"load.uop dram=uops x=1\n{lines}finish"
    )
    expected: dict[int, Any] = {}
    machine = ReplayMachine(program)
    for place in (500, 1000, 2000, 3500, 4002, 500, 2000, 0, 3500, 1000):
        machine.go_to(place)
        assert machine._snapshot_bytes() <= 40 << 20
        found = everything(machine.state)
        assert expected.setdefault(place, found) == found
    reference = Reference(program.config, program.dram())
    for instruction in program.instructions[:2000]:
        reference.step(instruction)
    assert everything(reference) == expected[2000]


def test_memory_that_nothing_writes_takes_none() -> None:
    program = assemble(
        ".output C address=0xfffff000 type=int8 shape=64\n.uop address=0x2000\ndst=0\n.text\n"
        "load.uop dram=uops x=1\nalu.add uop=0:1 imm=1\nstore dram=C x=1\nfinish"
    )
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    machine = ReplayMachine(program)
    machine.go_to(4)
    machine.go_to(1)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000  # KiB
