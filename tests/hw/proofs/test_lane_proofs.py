# amaranth: UnusedElaboratable=no
"""Lanes of the tensor ALU compute what the instruction set says, for all operands, whatever was asked for before.

A lane forgets within its latency, so all inputs of so many cycles after any state are everything. No solver multiplies
32 by 32 bits: a product is proved to be the sum of the products of halves that a multiplier makes, and what a fused
step does with it is compared with what a lane gives for the product alone.
"""

import subprocess
import time
from collections.abc import Callable, Mapping
from functools import reduce
from operator import or_
from typing import Any

import pytest
from amaranth.hdl import Const, Module, Mux, Signal, Value
from amaranth.lib.wiring import In

from hw.compute.alu_lane import LANE_LATENCY, AluLane
from hw.compute.fused_lane import FUSED_LATENCY, FusedLane
from isa.instructions import AluOpcode
from tests.support.faults.proof_faults import FUNNEL_FAULT, LANE_FAULTS
from tests.support.hw import proofs
from tests.support.hw.proofs import Claims, claim, holds_after

pytestmark = pytest.mark.long

WIDTH = 32
OPERANDS = {"x": WIDTH, "y": WIDTH, "z": WIDTH, "count": 16}
Lane = AluLane | FusedLane


def _later(m: Module, value: Value, cycles: int, name: str) -> Value:
    """Return the bits of ``value`` that many cycles later."""
    for cycle in range(cycles):
        register = Signal(len(value), name=f"{name}_{cycle}", reset_less=True)
        m.d.sync += register.eq(value)
        value = register
    return value


def _drive(m: Module, lane: Any, free: Any, **chosen: Any) -> None:
    """Give a lane the inputs that are left open, and those that are chosen."""
    inputs = {name for name, member in lane.signature.members.items() if member.flow is In}
    if "adds" in inputs:
        shifts = Value.cast(chosen["opcode"]) == AluOpcode.SHR
        chosen |= {"adds": shifts | (Value.cast(chosen["opcode"]) == AluOpcode.ADD), "shifts": shifts}
    for name in inputs:
        m.d.comb += getattr(lane, name).eq(chosen[name] if name in chosen else getattr(free, name))


def _seen(m: Module, free: Any, latency: int, *names: str) -> list[Value]:
    """Return what these inputs were when the result that is there now was asked for."""
    return [_later(m, Value.cast(getattr(free, name)), latency, name) for name in names]


def _shifted(x: Value, count: Value) -> Value:
    """Return x, shifted right by a count with a sign: three cases, each of whole numbers."""
    magnitude = Mux(count < 0, -count, count)
    far = magnitude >= WIDTH
    near = magnitude[:5]
    right = Mux(far, x[-1].replicate(WIDTH), (x.as_signed() >> near)[:WIDTH])
    left = Mux(far, 0, (x << near)[:WIDTH])
    return Mux(count < 0, left, right)


def _sum_or_limit(opcode: Any, x: Value, y: Value) -> Value:
    """Return the smaller, the larger or the sum of two numbers with signs."""
    less = x.as_signed() < y.as_signed()
    smaller, larger = Mux(less, x, y), Mux(less, y, x)
    return Mux(opcode == AluOpcode.MIN, smaller, Mux(opcode == AluOpcode.MAX, larger, (x + y)[:WIDTH]))


# ---- everything but products


def single_claims(lane: Lane, latency: int) -> Claims:
    """Operations by themselves: limits, sums and shifts."""

    def state(m: Module, part: Any, free: Any) -> None:
        _drive(m, part, free, opcode=free.opcode, fused=0)
        opcode, x, y = _seen(m, free, latency, "opcode", "x", "y")
        expected = Mux(opcode == AluOpcode.SHR, _shifted(x, y.as_signed()), _sum_or_limit(opcode, x, y))
        operations = (AluOpcode.MIN, AluOpcode.MAX, AluOpcode.ADD, AluOpcode.SHR)
        claim(m, ~reduce(or_, [opcode == one for one in operations]) | (part.result == expected))

    return Claims(lane, {"opcode": 3, **OPERANDS}, state)


def limited_claims() -> Claims:
    """Fused limits on both sides, and the shift."""

    def state(m: Module, part: Any, free: Any) -> None:
        _drive(m, part, free, opcode=AluOpcode.MAX, fused=1)
        x, y, z, count = _seen(m, free, FUSED_LATENCY, "x", "y", "z", "count")
        larger = _sum_or_limit(Const(AluOpcode.MAX, 3), x, y)
        limited = _sum_or_limit(Const(AluOpcode.MIN, 3), larger, z)
        claim(m, part.result == _shifted(limited, count.as_signed()))

    return Claims(FusedLane(), OPERANDS, state)


# ---- products


def product_claims(lane: Lane, latency: int) -> Claims:
    """A product is made of three of halves, whose own products are what ``*`` means."""

    def state(m: Module, part: Any, free: Any) -> None:
        _drive(m, part, free, opcode=AluOpcode.MUL, fused=0)
        x, y = _seen(m, free, latency, "x", "y")
        inner = x[:17] * y[:17]
        outer = x[:17] * y[17:] + x[17:] * y[:17]
        claim(m, part.result == (inner + (outer << 17))[:WIDTH])

    return Claims(lane, OPERANDS, state)


def continued_claims() -> Claims:
    """A fused product is the product by itself, then the sum with ``z``, then the shift."""

    def state(m: Module, part: Any, free: Any) -> None:
        m.submodules.other = other = FusedLane()
        _drive(m, part, free, opcode=AluOpcode.MUL, fused=1)
        _drive(m, other, free, opcode=AluOpcode.MUL, fused=0)
        z, count = _seen(m, free, FUSED_LATENCY, "z", "count")
        claim(m, part.result == _shifted((other.result + z)[:WIDTH], count.as_signed()))

    return Claims(FusedLane(), OPERANDS, state)


# ---- the proofs, and faults

CASES: Mapping[str, Callable[[], tuple[Claims, int]]] = {
    "single": lambda: (single_claims(AluLane(), LANE_LATENCY), LANE_LATENCY),
    "product": lambda: (product_claims(AluLane(), LANE_LATENCY), LANE_LATENCY),
    "fused, single": lambda: (single_claims(FusedLane(), FUSED_LATENCY), FUSED_LATENCY),
    "fused, product": lambda: (product_claims(FusedLane(), FUSED_LATENCY), FUSED_LATENCY),
    "fused limits": lambda: (limited_claims(), FUSED_LATENCY),
    "fused product": lambda: (continued_claims(), FUSED_LATENCY),
}


@pytest.mark.parametrize("case", CASES)
def test_a_lane_computes_what_is_claimed_for_all_operands(case: str) -> None:
    assert holds_after(*CASES[case]())


@pytest.mark.parametrize("case", LANE_FAULTS)
def test_the_proof_of_a_lane_fails_with_a_fault(case: str) -> None:
    with LANE_FAULTS[case].planted():
        assert not holds_after(*CASES[case]())


def test_the_proof_of_a_lane_fails_where_the_funnel_takes_other_bits() -> None:
    with FUNNEL_FAULT.planted():
        assert not holds_after(*CASES["fused limits"]())


def test_a_proof_that_takes_too_long_leaves_no_solver_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    def state(m: Module, part: Any, free: Any) -> None:
        _drive(m, part, free, opcode=AluOpcode.MUL, fused=0)
        x, y = _seen(m, free, LANE_LATENCY, "x", "y")
        claim(m, part.result == (x * y)[:WIDTH])  # what no solver finds out

    started: list[Any] = []
    start = subprocess.Popen.__init__

    def noted(process: Any, *arguments: Any, **options: Any) -> None:
        start(process, *arguments, **options)
        started.append(process)

    monkeypatch.setattr(proofs, "_SECONDS", 2)
    monkeypatch.setattr(subprocess.Popen, "__init__", noted)
    with pytest.raises(subprocess.TimeoutExpired):
        holds_after(Claims(AluLane(), OPERANDS, state), LANE_LATENCY)
    group, deadline = started[-1].pid, time.monotonic() + 10
    while _running(group) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not _running(group)


def _running(group: int) -> list[str]:
    """Return the processes of a group that still run."""
    done = subprocess.run(["ps", "-eo", "pgid=,stat=,args="], capture_output=True, text=True, check=True)
    rows = [line.split(maxsplit=2) for line in done.stdout.splitlines()]
    return [row[-1] for row in rows if int(row[0]) == group and not row[1].startswith("Z")]
