"""From a netlist to the text of an LLVM module and the map of its memory.

The module has two entry points: ``settle`` evaluates everything from registers and inputs, ``run`` steps cycles. The
work is in functions of moderate size (LLVM's time grows faster than a function); a value that one needs from an
earlier one passes through ``io``. Tests: ``tests/hw/sim/test_translate.py``.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from hw.sim import netlist as n
from hw.sim.cells import emit_comb
from hw.sim.driver import Regions, driver_text
from hw.sim.edge import emit_read, emit_register, emit_write
from hw.sim.effects import Effect, effect_of, emit_effect, record_bytes
from hw.sim.hooks import Hook
from hw.sim.layout import Layout, Region, Slot, lay_out
from hw.sim.plan import OBSERVE, Plan, Step, make_plan
from hw.sim.text import Function
from hw.sim.words import Words

__all__ = ["Translation", "translate"]

_LINES = 3000
"""Instructions after which a new function begins."""


@dataclass(frozen=True, slots=True)
class Translation:
    """The module's text, where things lie, and what its records mean.

    ``records`` is where records begin in ``aux``, ``hooks`` has the ``aux`` offset of each hook's state.
    """

    text: str
    regions: Regions
    layout: Layout
    observed: dict[str, Slot]
    effects: list[Effect]
    records: int
    hooks: list[int]
    inputs: dict[str, tuple[int, int]]


def translate(netlist: n.Netlist, observed: Sequence[str], hooks: Sequence[Hook]) -> Translation:
    """Return the module of a netlist; ``observed`` names the signals whose values are stored in every cycle."""
    layout = lay_out(netlist)
    slots = {name: layout.io.take(len(netlist.signals[name].value)) for name in observed}
    plan = make_plan(netlist, (netlist.signals[name].value for name in observed))
    effects = {i: effect_of(cell) for i, cell in enumerate(netlist.cells) if isinstance(cell, n.Print | n.Property)}
    aux = Region(64)
    records = aux.size
    aux.size += sum(map(record_bytes, effects.values()))
    places = []
    for hook in hooks:
        aux.size = -(-aux.size // 64) * 64
        places.append(aux.size)
        aux.size += hook.size
    writer = _Writer(netlist, plan, layout, [(name, slots[name]) for name in observed], list(effects), records)
    settle = writer.functions("settle", plan.settle)
    edge = writer.functions("edge", plan.edge)
    after = []
    for number, (hook, place) in enumerate(zip(hooks, places, strict=True)):
        after.append(Function(f"hook_{number}"))
        hook.write(after[-1], place, {**layout.inputs, **slots})
    regions = Regions.of(layout, aux)
    names = [[fn.name for fn in part] for part in (settle, edge, after)]
    text = "".join((*(fn.text() for fn in (*settle, *edge, *after)), driver_text(regions, *names)))
    return Translation(text, regions, layout, slots, list(effects.values()), records, places, dict(netlist.top.inputs))


class _Writer:
    """Writes steps into functions."""

    def __init__(
        self,
        netlist: n.Netlist,
        plan: Plan,
        layout: Layout,
        observed: list[tuple[str, Slot]],
        effects: list[int],
        records: int,
    ) -> None:
        self.netlist = netlist
        self.observed = observed
        self.effects = {cell: number for number, cell in enumerate(effects)}
        self.records = records
        self.words = Words(netlist, plan, layout, Function("none"))

    def functions(self, prefix: str, steps: Sequence[Step]) -> list[Function]:
        """Return functions that do the steps when they are called one after the other."""
        made: list[Function] = []
        for step in steps:
            if not made or len(made[-1].lines) > _LINES:
                made.append(Function(f"{prefix}_{len(made)}"))
                self.words.fn = made[-1]
            self._write(step)
        return made

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
                emit_effect(self.words, cell, self.effects[index], self.records)
            case _:
                emit_comb(self.words, step)
