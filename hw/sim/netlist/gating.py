"""Finds work within a partition that only matters under a condition, so that it can be branched around.

A register that is assigned only under conditions keeps its value otherwise, and its next value already is that one (see
``hw.sim.run.driver``); a memory row is written only if a port is enabled. What serves only registers and ports with one
set of conditions goes behind one branch. Tests: ``tests/hw/sim/netlist/test_gating.py``,
``tests/hw/sim/netlist/test_partitions.py``.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from hw.sim.netlist import cells as n
from hw.sim.netlist.order import WHOLE, Order, Step

__all__ = ["Block", "gate"]

_BRANCH = 80
"""Work that a branch costs; each condition beyond the first costs one more."""


@dataclass(frozen=True, slots=True)
class Block:
    """Steps to do if any of the nets ``conditions`` is set; always, if there are none."""

    conditions: tuple[int, ...]
    steps: list[Step]


def gate(steps: Sequence[Step], order: Order) -> list[Block]:
    """Return the steps of a partition in blocks, those without a condition first."""
    known = set(steps)
    owner: dict[Step, tuple[int, ...]] = {}
    uses: dict[Step, set[tuple[int, ...]]] = {step: set() for step in steps}
    for step in reversed(steps):
        mine = uses[step]
        owner[step] = mine.pop() if len(mine) == 1 else ()
        conditions, outside, inside = _parts(step, owner[step], order)
        if conditions:
            owner[step] = conditions
        for nets, by in ((outside, () if conditions else owner[step]), (inside, owner[step])):
            for need in order.sources(nets):
                if need in known:
                    uses[need].add(by)
    return _blocks(steps, owner, order)


def _parts(step: Step, owner: tuple[int, ...], order: Order) -> tuple[tuple[int, ...], list[int], list[int]]:
    """Return (conditions under which a step matters, nets that it needs in any case, nets that it needs then)."""
    index, bit = step
    cell = order.cells[index] if bit == WHOLE else None
    match cell:
        case n.FlipFlop():
            assigned = _held(cell, index, order)
            if assigned is not None:
                return tuple(sorted({item.cond for item in assigned.assignments})), [], list(cell.data)
        case n.SyncReadPort() if cell.en > 1 and not cell.transparent_for:
            return (cell.en,), [cell.en], list(cell.addr)
        case n.WritePort():
            ports = [port for port in order.cells if isinstance(port, n.WritePort) and port.memory == cell.memory]
            # What has no condition goes first, and ports of a memory act in order: one without takes all with it.
            if not any(1 in port.en for port in ports):
                conditions = tuple(sorted({net for net in cell.en if net}))
                # A mark keeps each of several in a block of its own.
                mark = (-index,) if len(ports) > 1 else ()
                return (*mark, *conditions), [*cell.en], [*cell.addr, *cell.data]
        case n.AssignmentList() if owner and {item.cond for item in cell.assignments} <= set(owner):
            inside = [*cell.default, *(net for item in cell.assignments for net in item.value)]
            return owner, [item.cond for item in cell.assignments], inside
    return (), [], [net for value in order.inputs(step) for net in value]


def _held(cell: n.FlipFlop, index: int, order: Order) -> n.AssignmentList | None:
    """Return the assignments of a register that keeps its value without them."""
    if not cell.data or cell.data[0] <= 1:
        return None
    source = cell.data[0] >> 16
    assigned = order.cells[source]
    if not isinstance(assigned, n.AssignmentList) or source in order.split:
        return None
    width = len(cell.data)
    if cell.data != tuple(range(source << 16, (source << 16) + width)) or len(assigned.default) != width:
        return None
    if assigned.default != tuple(range(index << 16, (index << 16) + width)):
        return None
    return assigned if all(item.cond > 1 for item in assigned.assignments) else None


def _blocks(steps: Sequence[Step], owner: dict[Step, tuple[int, ...]], order: Order) -> list[Block]:
    members: dict[tuple[int, ...], list[Step]] = {(): []}
    for step in steps:
        members.setdefault(owner[step], []).append(step)
    plain = set(members.pop(()))
    blocks = []
    for conditions, inside in members.items():
        writes = any(bit == WHOLE and isinstance(order.cells[index], n.WritePort) for index, bit in inside)
        if writes or sum(map(order.work, inside)) >= _BRANCH + len(conditions):
            blocks.append(Block(tuple(net for net in conditions if net > 0), inside))
        else:
            plain.update(inside)
    return [Block((), [step for step in steps if step in plain]), *blocks]
