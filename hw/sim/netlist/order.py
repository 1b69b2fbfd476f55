"""What has to be evaluated before what, bit by bit where cells depend on each other in a circle.

Tests: ``tests/hw/sim/netlist``, ``tests/hw/sim/test_random_designs.py``.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import assert_never

from hw.sim.errors import SimulatorError
from hw.sim.netlist import cells as n
from hw.sim.netlist.components import cyclic_components

__all__ = ["BITWISE", "OBSERVE", "WHOLE", "Order", "Step", "input_values"]

WHOLE, OBSERVE = -1, -2

Step = tuple[int, int]
"""(cell, bit); (cell, WHOLE); or (k, OBSERVE), which stores the k-th observed value."""

BITWISE = {"~", "&", "|", "^", "m"}
_COMB = (n.Operator, n.Part, n.Matches, n.PriorityMatch, n.AssignmentList, n.AsyncReadPort)


def input_values(cell: n.Cell) -> Iterator[n.Value]:
    """Yield the values that a cell reads."""
    match cell:
        case n.Operator():
            yield from cell.inputs
        case n.AssignmentList():
            yield cell.default
            for assignment in cell.assignments:
                yield (assignment.cond,)
                yield assignment.value
        case n.Part():
            yield from (cell.value, cell.offset)
        case n.Matches():
            yield cell.value
        case n.PriorityMatch():
            yield from ((cell.enable,), cell.inputs)
        case n.FlipFlop():
            yield cell.data
        case n.WritePort():
            yield from (cell.addr, cell.data, cell.en)
        case n.AsyncReadPort():
            yield cell.addr
        case n.SyncReadPort():
            yield from (cell.addr, (cell.en,))
        case n.Print() | n.Property():
            yield from _effect_values(cell)
        case n.Top():
            yield from cell.outputs.values()
        case n.MemoryCell():
            pass
        case _:
            assert_never(cell)


def _effect_values(cell: n.Print | n.Property) -> Iterator[n.Value]:
    yield (cell.en,)
    if isinstance(cell, n.Property):
        yield (cell.test,)
    for piece in cell.message or ():
        if isinstance(piece, n.FormatPiece):
            yield piece.value


class Order:
    """The needs of a netlist's cells. ``split`` has the cells that are evaluated bit by bit."""

    def __init__(self, netlist: n.Netlist, observed: Sequence[n.Value]) -> None:
        self.netlist = netlist
        self.observed = observed
        self.cells = netlist.cells
        self.is_comb = [isinstance(cell, _COMB) for cell in self.cells]
        self.split: set[int] = set()
        self.split = self._cells_to_split()
        self._state: dict[Step, bool] = {}

    def sources(self, nets: Iterable[int]) -> dict[Step, None]:
        """Return the steps that make ``nets``, without duplicates, in order; registers and inputs need none."""
        found: dict[Step, None] = {}
        last = -1
        for net in nets:
            cell = net >> 16
            if cell == last or net <= 1 or not self.is_comb[cell]:
                continue
            if cell in self.split:
                found[cell, net & 0xFFFF] = None
            else:
                found[cell, WHOLE] = None
                last = cell
        return found

    def inputs(self, step: Step) -> Iterator[n.Value]:
        """Yield the values that a step reads."""
        index, bit = step
        if bit == OBSERVE:
            yield self.observed[index]
            return
        cell = self.cells[index]
        if bit != WHOLE:
            yield tuple(_bit_inputs(cell, bit))
            return
        yield from input_values(cell)
        if isinstance(cell, n.SyncReadPort):
            for port in cell.transparent_for:
                yield from input_values(self.cells[port])

    def needs(self, step: Step) -> dict[Step, None]:
        """Return the steps before ``step``."""
        return self.sources(net for value in self.inputs(step) for net in value)

    def work(self, step: Step) -> int:
        """Return about how many instructions a step takes."""
        return 1 + sum(1 for value in self.inputs(step) for _ in n.segments(value))

    def before(self, nets: Iterable[int]) -> list[Step]:
        """Return what ``nets`` need and no earlier call has returned, each after its own needs."""
        steps: list[Step] = []
        stack: list[tuple[Step | None, Iterator[Step]]] = [(None, iter(self.sources(nets)))]
        while stack:
            step, needs = stack[-1]
            need = next(needs, None)
            if need is None:
                stack.pop()
                if step is not None:
                    self._state[step] = True
                    steps.append(step)
                continue
            done = self._state.get(need)
            if done is None:
                self._state[need] = False
                stack.append((need, iter(self.needs(need))))
            elif not done:
                path = [entry for entry, _ in stack if entry is not None]
                raise self._cycle_error(path[path.index(need) :])
        return steps

    def _cells_to_split(self) -> set[int]:
        """Return the cells that take part in a cycle of whole cells and that have bits independent of each other."""

        def edges(index: int) -> list[int]:
            return [cell for cell, _ in self.needs((index, WHOLE))]

        cyclic = cyclic_components((index for index, comb in enumerate(self.is_comb) if comb), edges)
        return {index for index in cyclic if _is_splittable(self.cells[index])}

    def _cycle_error(self, path: list[Step]) -> SimulatorError:
        places = ", ".join(f"{_title(self.cells[c])} at {self.netlist.where[c]}" for c, _ in path)
        return SimulatorError(f"the design has a combinational cycle: {places}; break it with a register")


def _is_splittable(cell: n.Cell) -> bool:
    """Tell whether the bits of a cell depend on different inputs."""
    return isinstance(cell, n.PriorityMatch | n.AssignmentList) or (
        isinstance(cell, n.Operator) and cell.kind in BITWISE
    )


def _bit_inputs(cell: n.Cell, bit: int) -> list[int]:
    """Return the nets that one output bit of a splittable cell depends on."""
    match cell:
        case n.Operator(kind="m"):
            return [cell.inputs[0][0], cell.inputs[1][bit], cell.inputs[2][bit]]
        case n.Operator():
            return [value[bit] for value in cell.inputs]
        case n.PriorityMatch():
            return [cell.enable, *cell.inputs[: bit + 1]]
        case n.AssignmentList():
            nets = [cell.default[bit]]
            for item in cell.assignments:
                if item.start <= bit < item.start + len(item.value):
                    nets += (item.cond, item.value[bit - item.start])
            return nets
        case _:
            raise AssertionError("only splittable cells are split")


def _title(cell: n.Cell) -> str:
    """Name a cell's kind for a message."""
    return f"operator {cell.kind}" if isinstance(cell, n.Operator) else type(cell).__name__
