"""From a netlist to the text of an LLVM module and the map of its memory.

The work is in functions, one for each partition of the plan; a value that one needs from an earlier one passes through
``io``. Tests: ``tests/hw/sim/test_random_designs.py``, ``tests/hw/sim/run``.
"""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass

from hw.sim.netlist import cells as n
from hw.sim.netlist.gating import Block
from hw.sim.netlist.order import OBSERVE, WHOLE, Step
from hw.sim.netlist.plan import Plan, make_plan
from hw.sim.run.driver import Regions, module_text
from hw.sim.translate.choices import emit_comb
from hw.sim.translate.edge import emit_read, emit_register, emit_write
from hw.sim.translate.effects import Effect, effect_of, emit_effect, record_bytes
from hw.sim.translate.hooks import Hook
from hw.sim.translate.layout import Region, Slot, StateLayout, lay_out
from hw.sim.translate.text import Function
from hw.sim.translate.words import Words

__all__ = ["Translation", "translate"]

_AUX_HEADER = 64


@dataclass(frozen=True, slots=True)
class Translation:
    """The module's text, where things lie, and what its records mean.

    ``observed`` has the slots of all signals that are stored, ``sure`` the names of those that are in every cycle.
    ``records`` is where records begin in ``aux``, ``hooks`` has the ``aux`` offset of each hook's state.
    """

    text: str
    regions: Regions
    layout: StateLayout
    observed: dict[str, Slot]
    sure: set[str]
    effects: list[Effect]
    records: int
    hooks: list[int]
    inputs: dict[str, tuple[int, int]]


def translate(netlist: n.Netlist, observed: Mapping[str, bool], hooks: Sequence[Hook]) -> Translation:
    """Return the module of a netlist.

    ``observed`` names the signals whose values are stored in every cycle, or (True) only while notes are taken.
    """
    noted = [number for number, only_noted in enumerate(observed.values()) if only_noted]
    plan = make_plan(netlist, (netlist.signals[name].value for name in observed), noted)
    layout = lay_out(netlist, plan, {name for hook in hooks for name in hook.drives})
    slots = {name: layout.io.take(len(netlist.signals[name].value)) for name in observed}
    effects = {i: effect_of(cell) for i, cell in enumerate(netlist.cells) if isinstance(cell, n.Print | n.Property)}
    aux = Region(_AUX_HEADER)
    aux.size += sum(map(record_bytes, effects.values()))
    places = []
    for hook in hooks:
        places.append(aux.align(64))
        aux.size += hook.size
    writer = _Writer(netlist, plan, layout, [(name, slots[name]) for name in observed], list(effects))
    partitions = writer.functions()
    after = []
    for number, (hook, place) in enumerate(zip(hooks, places, strict=True)):
        after.append((Function(f"hook_{number}"), not hook.signals and not hook.drives))
        hook.write(after[-1][0], place, {**layout.inputs, **slots})
    regions = Regions.of(layout, aux)
    settle, edge = partitions[: plan.edge_from], partitions[plan.edge_from :]
    text = module_text(layout, regions, settle, edge, after, plan.noting)
    sure = {name for name, only_noted in observed.items() if not only_noted}
    return Translation(
        text, regions, layout, slots, sure, list(effects.values()), _AUX_HEADER, places, dict(netlist.top.inputs)
    )


class _Writer:
    """Writes partitions into functions."""

    def __init__(
        self, netlist: n.Netlist, plan: Plan, layout: StateLayout, observed: list[tuple[str, Slot]], effects: list[int]
    ) -> None:
        self.netlist = netlist
        self.plan = plan
        self.observed = observed
        self.effects = {cell: number for number, cell in enumerate(effects)}
        self.words = Words(netlist, plan, layout, Function("none"))

    def functions(self) -> list[Function]:
        """Return the functions of all partitions, in order."""
        made: list[Function] = []
        for number, blocks in enumerate(self.plan.partitions):
            made.append(Function(f"partition_{number}", number))
            self.words.fn = made[-1]
            for block in blocks:
                self._write_block(block)
        self.words.export()
        return made

    def _write_block(self, block: Block) -> None:
        """Write steps under the branch that they share; one that writes memories wakes itself and the readers."""
        fn, readers = self.words.fn, self.plan.memory_readers
        active = "1"
        for net in block.conditions:
            active = self.words.flag(net) if active == "1" else fn.op(f"or i1 {active}, {self.words.flag(net)}")
        for index, bit in block.steps:
            port = self.netlist.cells[index] if bit == WHOLE else None
            if isinstance(port, n.WritePort):
                fn.wake(active, {fn.number} | readers.get(port.memory, set()))
        with fn.when(active) if block.conditions else nullcontext():
            for step in block.steps:
                self._write(step)

    def _write(self, step: Step) -> None:
        index, bit = step
        if bit == OBSERVE:
            name, slot = self.observed[index]
            if slot.width:
                self.words.store("%io", slot, self.netlist.signals[name].value)
            return
        cell = self.netlist.cells[index]
        match cell:
            case n.FlipFlop():
                emit_register(self.words, index, cell)
            case n.SyncReadPort():
                emit_read(self.words, index, cell)
            case n.WritePort():
                emit_write(self.words, cell)
            case n.Print() | n.Property():
                emit_effect(self.words, cell, self.effects[index], _AUX_HEADER)
            case _:
                emit_comb(self.words, step)
