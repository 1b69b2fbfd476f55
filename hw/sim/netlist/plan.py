"""What is evaluated in which order and in which function, who reads what, and how wide values are cut.

``Plan.partitions`` first settle the design, then (from ``edge_from`` on) do what the clock's edge does to memories.
Tests: ``tests/hw/sim/netlist``, ``tests/hw/sim/test_random_designs.py``.
"""

import string
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from hw.sim.netlist import cells as n
from hw.sim.netlist.gating import Block, gate
from hw.sim.netlist.order import BITWISE, OBSERVE, WHOLE, Order, Step, input_values
from hw.sim.netlist.partitions import PartitionOrder, Steps, make_schedule

__all__ = ["WORD", "Plan", "make_plan"]

WORD = 64
"""Bits of the widest piece."""

_MIN_MEAN_PIECE = 8
"""Cuts that would make the mean piece narrower than this are not worth following."""


_FEW = 20
"""A register with more than this many steps after it counts as serving others."""


@dataclass(frozen=True, slots=True)
class Plan:
    """``used`` has the number of low output bits of a cell that anybody reads, ``cuts`` where its pieces start.

    ``noting`` are the partitions that matter only while notes are taken.
    ``writer`` is the partition of each register; ``register_readers``, ``input_readers`` and ``memory_readers`` are the
    partitions that read a register, a port or a memory.
    """

    partitions: list[list[Block]]
    edge_from: int
    noting: set[int]
    used: dict[int, int]
    cuts: dict[int, list[int]]
    writer: dict[int, int]
    register_readers: dict[int, set[int]]
    input_readers: dict[str, set[int]]
    memory_readers: dict[int, set[int]]


def make_plan(netlist: n.Netlist, observed: Iterable[n.Value], noted: Collection[int]) -> Plan:
    """Return the plan; ``observed`` are the values that are stored when the design has settled, outputs included.

    Those whose places in it are ``noted`` are stored only while notes are taken.
    """
    return _Planner(netlist, tuple(observed), noted).plan()


class _Planner:
    """The work of ``make_plan``."""

    def __init__(self, netlist: n.Netlist, observed: tuple[n.Value, ...], noted: Collection[int]) -> None:
        self.noted = noted
        self.netlist = netlist
        self.cells = netlist.cells
        self.observed = observed
        self.order = Order(netlist, observed)
        self.used: dict[int, int] = {}
        self.places: dict[int, set[int]] = {}

    def plan(self) -> Plan:
        """Return the plan."""
        self._note_uses()
        schedule = self._schedule()
        partitions = schedule.settle + schedule.edge
        steps = {cell for part in partitions for cell, bit in part if bit != OBSERVE}
        writer = {cell: number for number, part in enumerate(schedule.settle) for cell, bit in part if bit == WHOLE}
        plan = Plan(
            [gate(part, self.order) for part in partitions],
            len(schedule.settle),
            {number for number, part in enumerate(schedule.settle) if self._only_notes(part)},
            self.used,
            {cell: self._cuts(cell) for cell in steps if self.order.is_comb[cell]},
            writer=writer,
            register_readers={},
            input_readers={name: set() for name in self.netlist.top.inputs},
            memory_readers={},
        )
        self._note_readers(plan)
        return plan

    def _only_notes(self, part: list[Step]) -> bool:
        """Return whether all that a partition is for is to store noted values."""
        ends = [step for step in part if step[1] == OBSERVE or not self.order.is_comb[step[0]]]
        return bool(ends) and all(bit == OBSERVE and index in self.noted for index, bit in ends)

    # ---- who reads what

    def _note_uses(self) -> None:
        """Fill ``used`` and, for wide cells, the places where readers cut them."""
        for value in self.observed:
            self._note_value(value)
        for cell in self.cells[1:]:
            for value in input_values(cell):
                self._note_value(value)

    def _note_value(self, value: n.Value) -> None:
        for run in n.runs(value):
            if run.cell is not None:
                end = run.start + run.width
                if end > self.used.get(run.cell, 0):
                    self.used[run.cell] = end
                self.places.setdefault(run.cell, set()).update((run.start, end))

    def _note_readers(self, plan: Plan) -> None:
        ports: dict[int, str] = {}
        for name, (start, width) in self.netlist.top.inputs.items():
            ports.update(dict.fromkeys(range(start, start + width), name))
        for number, blocks in enumerate(plan.partitions):
            for step in (step for block in blocks for step in block.steps):
                nets = {net for value in self.order.inputs(step) for net in value if net > 1}
                for cell in {net >> 16 for net in nets}:
                    plan.register_readers.setdefault(cell, set()).add(number)
                for net in nets:
                    if net >> 16 == 0:
                        plan.input_readers[ports[net]].add(number)
                reader = self.cells[step[0]] if step[1] == WHOLE else None
                if isinstance(reader, n.AsyncReadPort | n.SyncReadPort):
                    plan.memory_readers.setdefault(reader.memory, set()).add(number)

    # ---- order

    def _schedule(self) -> PartitionOrder:
        """Group everything that has to be done."""
        order: list[Step] = []
        sinks: dict[Step, str] = {}
        early: list[Step] = []
        at_edge: list[Step] = []

        def add(step: Step, block: str) -> None:
            order.extend(self.order.before(net for value in self.order.inputs(step) for net in value))
            order.append(step)
            sinks[step] = block

        for index, cell in enumerate(self.cells):
            step = (index, WHOLE)
            match cell:
                case n.FlipFlop() | n.SyncReadPort():
                    add(step, self._block(step))
                case n.AsyncReadPort() if self.used.get(index):
                    order += self.order.before((index << 16,))
                    early.append(step)
                case n.Print() | n.Property():
                    add(step, "messages")
                    at_edge.append(step)
                case n.WritePort():
                    add(step, self._block(step))
                    at_edge.append(step)
                case _:
                    pass  # its code is written where its value is needed
        for number in range(len(self.observed)):
            add((number, OBSERVE), "noted" if number in self.noted else "observed")
        for step in self._counters(order, sinks):
            sinks[step] += ".counters"
        return make_schedule(
            Steps(order, self.order.needs, self._block, self.order.work, sinks, frozenset(at_edge), frozenset(early))
        )

    def _counters(self, order: list[Step], sinks: dict[Step, str]) -> Iterator[Step]:
        """Yield the registers that serve nothing but themselves and what is observed.

        They change in most cycles, and what they are made in can then sleep without them.
        """
        users: dict[Step, set[Step]] = {}
        readers: dict[int, set[Step]] = {}
        for step in order:
            nets = [net for value in self.order.inputs(step) for net in value if net > 1]
            for need in self.order.sources(nets):
                users.setdefault(need, set()).add(step)
            for cell in {net >> 16 for net in nets}:
                readers.setdefault(cell, set()).add(step)
        for step in sinks:
            if step[1] == WHOLE and isinstance(self.cells[step[0]], n.FlipFlop):
                ends = _ends(readers.get(step[0], set()), users, sinks)
                if ends is not None and {end for end in ends if end[1] != OBSERVE} == {step}:
                    yield step

    def _block(self, step: Step) -> str:
        """Return the block that a step belongs to; blocks that differ in a number alone are one."""
        if step[1] == OBSERVE:
            return ""
        path = self.netlist.blocks[step[0]].split(".")
        return ".".join(name.rstrip(string.digits) for name in path)

    # ---- pieces

    def _cuts(self, index: int) -> list[int]:
        """Return the starts of the pieces of a cell's used bits."""
        cell, width = self.cells[index], self.used.get(index, 0)
        if isinstance(cell, n.PriorityMatch) or index in self.order.split:
            return list(range(width))
        must = {0}
        if isinstance(cell, n.AssignmentList):
            for item in cell.assignments:
                must |= {item.start, item.start + len(item.value)}
        wanted: set[int] = set()
        if width > WORD:
            wanted = self.places[index] | _input_cuts(cell)
        both = {cut for cut in must | wanted if cut < width}
        if len(both) * _MIN_MEAN_PIECE > width:
            both = {cut for cut in must if cut < width}
        return _fill(sorted(both), width)


def _ends(begin: set[Step], users: dict[Step, set[Step]], sinks: dict[Step, str]) -> set[Step] | None:
    """Return the sinks that steps lead to, or None if much lies between."""
    seen, waiting = set(begin), list(begin)
    while waiting:
        if len(seen) > _FEW:
            return None
        for user in users.get(waiting.pop(), ()):
            if user not in seen:
                seen.add(user)
                waiting.append(user)
    return {step for step in seen if step in sinks}


def _fill(starts: list[int], width: int) -> list[int]:
    """Return ``starts`` and the multiples of WORD within pieces that are wider than that."""
    filled = []
    for start, end in zip(starts, [*starts[1:], width], strict=True):
        filled.append(start)
        if end - start > WORD:
            filled += range(start // WORD * WORD + WORD, end, WORD)
    return filled


def _input_cuts(cell: n.Cell) -> set[int]:
    """Return where the inputs of a bitwise cell change their source."""
    match cell:
        case n.Operator() if cell.kind in BITWISE:
            values = cell.inputs[1:] if cell.kind == "m" else cell.inputs
            return {start for value in values for start, _ in n.segments(value)}
        case n.AssignmentList():
            cuts = {start for start, _ in n.segments(cell.default)}
            return cuts | {item.start + start for item in cell.assignments for start, _ in n.segments(item.value)}
        case _:
            return set()
