"""Runs a component in Amaranth's own simulator and in ``hw.sim`` with the same random inputs, and compares.

Inputs change before every edge; every output is compared before the edge, after it has settled.
"""

import random
from typing import Any

from amaranth.hdl import ValueCastable
from amaranth.lib import wiring
from amaranth.sim import Simulator

from hw.sim import CompiledDesign, compile_design
from hw.sim.netlist.frontend import component_ports

__all__ = ["assert_same_trace", "random_value", "reference_trace", "simulated_trace"]

Trace = list[dict[str, int]]


def random_value(rng: random.Random, width: int) -> int:
    """Return a number of ``width`` bits; small, large and single-bit ones more often than chance would have them."""
    if not width:
        return 0
    kind = rng.randrange(6)
    if kind == 0:
        return rng.choice((0, 1, (1 << width) - 1, 1 << (width - 1), (1 << (width - 1)) - 1))
    if kind == 1:
        return 1 << rng.randrange(width)
    if kind == 2:
        return rng.getrandbits(min(width, 4))
    return rng.getrandbits(width)


def stimulus(component: wiring.Component, *, cycles: int, seed: int, hold: float) -> Trace:
    """Return random inputs for each cycle; an input keeps its value with probability ``hold``."""
    rng = random.Random(seed)
    widths = {n: len(v) for n, (v, d) in component_ports(component).items() if d.name == "Input"}
    trace: Trace = []
    for cycle in range(cycles):
        values = {name: random_value(rng, width) for name, width in widths.items()}
        if cycle:
            values = {name: trace[-1][name] if rng.random() < hold else new for name, new in values.items()}
        trace.append(values)
    return trace


def reference_trace(component: wiring.Component, inputs: Trace, *, clocked: bool) -> Trace:
    """Return the outputs of each cycle in Amaranth's simulator."""
    ports = {}
    for path, _, value in component.signature.flatten(component):
        ports["__".join(map(str, path))] = value.as_value() if isinstance(value, ValueCastable) else value
    outputs = [name for name in ports if name not in inputs[0]]
    trace: Trace = []

    simulator = Simulator(component)

    async def bench(ctx: Any) -> None:
        for values in inputs:
            for name, value in values.items():
                ctx.set(ports[name], value)
            trace.append({name: ctx.get(ports[name].as_unsigned()) for name in outputs})
            if clocked:
                await ctx.tick()

    if clocked:
        simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    return trace


def simulated_trace(design: CompiledDesign, inputs: Trace) -> Trace:
    """Return the outputs of each cycle in ``hw.sim``, as unsigned numbers."""
    trace: Trace = []
    for values in inputs:
        for name, value in values.items():
            design.poke(name, value)
        widths = {name: design.image.signals[name].width for name in design.outputs}
        trace.append({name: design.peek(name) & ((1 << width) - 1) for name, width in widths.items()})
        design.step()
    return trace


def assert_same_trace(component: wiring.Component, *, cycles: int, seed: int, hold: float = 0.0) -> CompiledDesign:
    """Compare both simulators; return the one of ``hw.sim`` after the last edge."""
    inputs = stimulus(component, cycles=cycles, seed=seed, hold=hold)
    design = compile_design(component, cache=False)
    actual = simulated_trace(design, inputs)
    expected = reference_trace(component, inputs, clocked="clk" in design.inputs)
    for cycle, (left, right) in enumerate(zip(actual, expected, strict=True)):
        assert left == right, f"seed {seed}, cycle {cycle}, inputs {inputs[cycle]}"
    return design
