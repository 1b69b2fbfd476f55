# amaranth: UnusedElaboratable=no
"""How work is grouped: into functions that sleep, in an order that works, behind branches that pay."""

from typing import Any

import pytest
from amaranth.hdl import Cat, Module, Signal

from hw.sim.netlist import cells as n
from hw.sim.netlist.frontend import build_netlist
from hw.sim.netlist.order import OBSERVE, WHOLE, Order, Step
from hw.sim.netlist.plan import Plan, make_plan
from hw.sim.netlist.simplify import simplify
from tests.support.hw.amaranth_trace import assert_same_trace
from tests.support.hw.inline_design import Small
from tests.support.hw.random_designs import Gated, MemoryMix, RandomDesign, Registers


def planned(component: Any, noted: tuple[str, ...] = ()) -> tuple[n.Netlist, Order, Plan]:
    netlist = simplify(build_netlist(component))
    names = [*netlist.top.outputs, *noted]
    values = [netlist.signals[name].value for name in names]
    plan = make_plan(netlist, values, range(len(netlist.top.outputs), len(names)))
    return netlist, Order(netlist, values), plan


def steps_of(plan: Plan) -> list[list[Step]]:
    return [[step for block in blocks for step in block.steps] for blocks in plan.partitions]


DESIGNS: list[RandomDesign] = [kind(seed=seed) for kind in (Registers, MemoryMix, Gated) for seed in range(3)]


@pytest.mark.parametrize("design", DESIGNS, ids=lambda design: f"{type(design).__name__}-{design.seed}")
def test_every_step_is_done_once_and_behind_what_it_needs(design: RandomDesign) -> None:
    netlist, order, plan = planned(design)
    parts = steps_of(plan)
    everything = [step for part in parts for step in part]
    assert len(everything) == len(set(everything))
    position = {step: place for place, step in enumerate(everything)}
    for step in everything:
        assert all(position[need] < position[step] for need in order.needs(step)), step
    sinks = {index for index, bit in everything if bit == WHOLE and not order.is_comb[index]}
    kinds = (n.FlipFlop, n.SyncReadPort, n.WritePort)
    assert sinks == {index for index, cell in enumerate(netlist.cells) if isinstance(cell, kinds)}


@pytest.mark.parametrize("design", DESIGNS, ids=lambda design: f"{type(design).__name__}-{design.seed}")
def test_the_partitions_of_a_value_are_those_that_read_it(design: RandomDesign) -> None:
    _, order, plan = planned(design)
    for number, part in enumerate(steps_of(plan)):
        for step in part:
            for value in order.inputs(step):
                for net in value:
                    if net > 1 and (net >> 16) in plan.writer:
                        assert number in plan.register_readers[net >> 16]


def counting(m: Module, io: Any) -> None:
    """A block with state that is rarely changed, and counters in it that always are."""
    m.submodules.block = block = Module()
    cycles = Signal(32, name="cycles")
    others = [Signal(16, name=f"other_{k}") for k in range(6)]
    state = [Signal(16, name=f"state_{k}") for k in range(8)]
    block.d.sync += [cycles.eq(cycles + 1), *(other.eq(other + io.a) for other in others)]
    for register in state:
        with block.If(io.b & (Cat(state).any() | io.a.any())):
            block.d.sync += register.eq(register * 3 + io.a)
    m.d.comb += io.q.eq(cycles[-4:] ^ Cat(register.xor() for register in state[:4]))


def test_what_counts_for_itself_lets_the_rest_of_its_block_sleep() -> None:
    netlist, _, plan = planned(Small(counting))
    writers = {name: plan.writer[netlist.signals[f"block.{name}"].value[0] >> 16] for name in ("cycles", "state_0")}
    assert writers["cycles"] != writers["state_0"]
    cycles = netlist.signals["block.cycles"].value[0] >> 16
    assert writers["state_0"] not in plan.register_readers[cycles]


def gated(m: Module, io: Any) -> None:
    """Much work for registers behind one condition, and little behind another."""
    wide = [Signal(32, name=f"wide_{k}") for k in range(24)]
    small = Signal(4, name="small")
    with m.If(io.b):
        m.d.sync += [register.eq((register << 3) ^ Cat(wide[k - 1], io.a)[2:]) for k, register in enumerate(wide)]
    with m.If(io.a[0]):
        m.d.sync += small.eq(io.a)
    m.d.comb += io.q.eq(small ^ wide[0][:4])


def test_much_work_behind_a_condition_is_branched_around_and_little_is_not() -> None:
    netlist, _, plan = planned(Small(gated))
    [block] = [block for blocks in plan.partitions for block in blocks if block.conditions]
    assert block.conditions == (*netlist.signals["b"].value, *netlist.signals["rst"].value)
    inside = {index for index, bit in block.steps if bit == WHOLE}
    assert {netlist.signals[f"wide_{k}"].value[0] >> 16 for k in range(24)} <= inside
    assert netlist.signals["small"].value[0] >> 16 not in inside


def test_what_is_only_noted_has_partitions_of_its_own() -> None:
    def build(m: Module, io: Any) -> None:
        inner = Signal(4, name="inner")
        m.d.comb += [inner.eq((io.a * io.a)[2:6] ^ 3), io.q.eq(io.a)]

    _, _, plan = planned(Small(build), noted=("inner",))
    parts = steps_of(plan)
    [number] = plan.noting
    assert (1, OBSERVE) in parts[number]
    assert any(bit == WHOLE for _, bit in parts[number])  # and what it is made of
    assert all((0, OBSERVE) not in part or place != number for place, part in enumerate(parts))


def many_blocks(m: Module, io: Any) -> None:
    """More blocks than the bits of any integer that a processor returns from a function."""
    link = io.a
    for k in range(400):
        m.submodules[f"block_{chr(97 + k % 26)}{chr(97 + k // 26)}"] = block = Module()
        state = Signal(12, name=f"state_{k}")
        with block.If(link.any() ^ io.b):
            block.d.sync += state.eq((state << 1) ^ (state * 5) ^ link ^ k)
        link = state
    m.d.comb += io.q.eq(link)


@pytest.mark.long
def test_a_design_of_hundreds_of_partitions_runs() -> None:
    _, _, plan = planned(Small(many_blocks))
    assert len(plan.partitions) > 320
    assert_same_trace(Small(many_blocks), cycles=30, seed=5)
