"""In which order cells are evaluated, and into which pieces wide values are cut.

A step is (cell, bit): a whole cell has bit WHOLE; cells of a cycle that exists only between whole cells, not between
bits, are evaluated bit by bit. (k, OBSERVE) stores the k-th observed value. Tests: ``tests/hw/sim/test_plan.py``.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from hw.sim import netlist as n
from hw.sim.components import cyclic_components
from hw.sim.errors import SimulatorError

__all__ = ["OBSERVE", "WHOLE", "WORD", "Plan", "Step", "input_values", "make_plan", "output_width"]

WORD = 64
"""Bits of the widest piece."""

WHOLE, OBSERVE = -1, -2

Step = tuple[int, int]

_BITWISE = {"~", "&", "|", "^", "m"}
_LEAVES = (n.Top, n.FlipFlop, n.SyncReadPort)
_COMB = (n.Operator, n.Part, n.Matches, n.PriorityMatch, n.AssignmentList, n.AsyncReadPort)
_MIN_MEAN_PIECE = 8
"""Cuts that would make the mean piece narrower than this are not worth following."""


@dataclass(frozen=True, slots=True)
class Plan:
    """``settle`` evaluates everything from registers and inputs, ``edge`` what happens at the clock's edge.

    ``used`` has the number of low output bits of a cell that anybody reads, ``cuts`` where its pieces start.
    """

    settle: list[Step]
    edge: list[Step]
    used: dict[int, int]
    cuts: dict[int, list[int]]


def make_plan(netlist: n.Netlist, observed: Iterable[n.Value]) -> Plan:
    """Return the plan; ``observed`` are the values that are stored when the design has settled, outputs included."""
    return _Planner(netlist, tuple(observed)).plan()


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
            yield (cell.en,)
            if isinstance(cell, n.Property):
                yield (cell.test,)
            for piece in cell.message or ():
                if isinstance(piece, n.FormatPiece):
                    yield piece.value
        case n.Top():
            yield from cell.outputs.values()
        case n.Memory():
            pass


def output_width(cell: n.Cell) -> int:
    """Return the number of output bits of a cell."""
    match cell:
        case n.AssignmentList():
            return len(cell.default)
        case n.FlipFlop():
            return len(cell.data)
        case n.PriorityMatch():
            return len(cell.inputs)
        case n.Matches():
            return 1
        case n.Operator() | n.Part() | n.AsyncReadPort() | n.SyncReadPort():
            return cell.width
        case n.Top() | n.Memory() | n.WritePort() | n.Print() | n.Property():
            return 0


class _Planner:
    """The work of ``make_plan``."""

    def __init__(self, netlist: n.Netlist, observed: tuple[n.Value, ...]) -> None:
        self.netlist = netlist
        self.cells = netlist.cells
        self.observed = observed
        self.is_comb = [isinstance(cell, _COMB) for cell in self.cells]
        self.used: dict[int, int] = {}
        self.readers: dict[int, set[int]] = {}
        self.split: set[int] = set()
        self.state: dict[Step, bool] = {}

    def plan(self) -> Plan:
        """Return the plan."""
        self._note_uses()
        self.split = self._cells_to_split()
        settle = self._settle_steps()
        edge = self._edge_steps()
        steps = {cell for cell, bit in (*settle, *edge) if bit != OBSERVE}
        cuts = {cell: self._cuts(cell) for cell in steps if self.is_comb[cell]}
        return Plan(settle, edge, self.used, cuts)

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
                self.readers.setdefault(run.cell, set()).update((run.start, end))

    # ---- order

    def _settle_steps(self) -> list[Step]:
        """Registers, synchronous and asynchronous reads, outputs and observed values, each after what it needs."""
        steps: list[Step] = []
        for number, value in enumerate(self.observed):
            self._visit_nets(value, steps)
            steps.append((number, OBSERVE))
        for index, cell in enumerate(self.cells):
            match cell:
                case n.FlipFlop() | n.SyncReadPort():
                    self._visit(index, steps)
                    steps.append((index, WHOLE))
                case n.AsyncReadPort() if self.used.get(index):
                    self._visit_nets((index << 16,), steps)
        return steps

    def _edge_steps(self) -> list[Step]:
        """Messages and properties first, then memory writes in cell order."""
        steps: list[Step] = []
        for kinds in ((n.Print, n.Property), (n.WritePort,)):
            for index, cell in enumerate(self.cells):
                if isinstance(cell, kinds):
                    self._visit(index, steps)
                    steps.append((index, WHOLE))
        return steps

    def _visit(self, index: int, steps: list[Step]) -> None:
        for value in input_values(self.cells[index]):
            self._visit_nets(value, steps)
        for port in getattr(self.cells[index], "transparent_for", ()):
            self._visit(port, steps)

    def _visit_nets(self, nets: n.Value, steps: list[Step]) -> None:
        """Append the steps that ``nets`` need, each after its own needs."""
        stack: list[tuple[Step | None, Iterator[Step]]] = [(None, iter(self._sources(nets)))]
        while stack:
            step, needs = stack[-1]
            need = next(needs, None)
            if need is None:
                stack.pop()
                if step is not None:
                    self.state[step] = True
                    steps.append(step)
                continue
            done = self.state.get(need)
            if done is None:
                self.state[need] = False
                stack.append((need, iter(self._needs(need))))
            elif not done:
                path = [entry for entry, _ in stack if entry is not None]
                raise self._cycle_error(path[path.index(need) :])

    def _sources(self, nets: Iterable[int]) -> dict[Step, None]:
        """Return the steps that make ``nets``, without doubles, in order."""
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

    def _needs(self, step: Step) -> dict[Step, None]:
        """Return the steps before ``step``."""
        index, bit = step
        cell = self.cells[index]
        if bit == WHOLE:
            return self._sources(net for value in input_values(cell) for net in value)
        return self._sources(_bit_inputs(cell, bit))

    def _cells_to_split(self) -> set[int]:
        """Return the cells that take part in a cycle of whole cells and that have bits independent of each other."""

        def edges(index: int) -> list[int]:
            return [
                cell for cell, _ in self._sources(net for value in input_values(self.cells[index]) for net in value)
            ]

        cyclic = cyclic_components((index for index, comb in enumerate(self.is_comb) if comb), edges)
        return {index for index in cyclic if _is_splittable(self.cells[index])}

    def _cycle_error(self, path: list[Step]) -> SimulatorError:
        places = ", ".join(f"{_title(self.cells[c])} at {self.netlist.where[c]}" for c, _ in path)
        return SimulatorError(f"the design has a combinational cycle: {places}; break it with a register")

    # ---- pieces

    def _cuts(self, index: int) -> list[int]:
        """Return the starts of the pieces of a cell's used bits."""
        cell, width = self.cells[index], self.used.get(index, 0)
        if isinstance(cell, n.PriorityMatch) or index in self.split:
            return list(range(width))
        must = {0}
        if isinstance(cell, n.AssignmentList):
            for item in cell.assignments:
                must |= {item.start, item.start + len(item.value)}
        wanted: set[int] = set()
        if width > WORD:
            wanted = self.readers[index] | _input_cuts(cell)
        both = {cut for cut in must | wanted if cut < width}
        if len(both) * _MIN_MEAN_PIECE > width:
            both = {cut for cut in must if cut < width}
        return _fill(sorted(both), width)


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
        case n.Operator() if cell.kind in _BITWISE:
            values = cell.inputs[1:] if cell.kind == "m" else cell.inputs
            return {run.position for value in values for run in n.runs(value)}
        case n.AssignmentList():
            cuts = {run.position for run in n.runs(cell.default)}
            return cuts | {item.start + run.position for item in cell.assignments for run in n.runs(item.value)}
    return set()


def _is_splittable(cell: n.Cell) -> bool:
    """Tell whether the bits of a cell depend on different inputs."""
    return isinstance(cell, n.PriorityMatch | n.AssignmentList) or (
        isinstance(cell, n.Operator) and cell.kind in _BITWISE
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
    raise AssertionError("only splittable cells are split")


def _title(cell: n.Cell) -> str:
    """Name a cell's kind for a message."""
    return f"operator {cell.kind}" if isinstance(cell, n.Operator) else type(cell).__name__
