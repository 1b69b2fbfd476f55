"""Makes equal cells one, and takes out cells that only pass a net on.

Amaranth copies expressions when it lowers them: ``x.replicate(32)`` of an expression becomes 32 equal cells. Joined,
they are again one bit that is repeated, for which there is a much better translation. Cells keep their numbers; those
that nothing reads any more are never translated. Tests: ``tests/hw/sim/netlist``,
``tests/hw/sim/test_random_designs.py``.
"""

from dataclasses import replace
from typing import assert_never

from hw.sim.netlist import cells as n

__all__ = ["simplify"]

_PASSES = 8

_Outside = n.Top | n.FlipFlop | n.MemoryCell | n.WritePort | n.AsyncReadPort | n.SyncReadPort | n.Print | n.Property
"""What lies around the combinational logic."""


def simplify(netlist: n.Netlist) -> n.Netlist:
    """Return a netlist with the same registers, memories, ports and named signals."""
    work = _Simplifier(list(netlist.cells))
    for _ in range(_PASSES):
        if not work.one_pass():
            break
    signals = {name: replace(item, value=work.value(item.value)) for name, item in netlist.signals.items()}
    return replace(netlist, cells=[work.rewritten(cell) for cell in work.cells], signals=signals)


class _Simplifier:
    """``nets`` maps a net that is not needed any more to the one that stands for it."""

    def __init__(self, cells: list[n.Cell]) -> None:
        self.cells = cells
        self.nets: dict[int, int] = {}
        self.gone: set[int] = set()
        self.known: dict[n.Cell, int] = {}

    def one_pass(self) -> bool:
        """Look at every cell once, in order; tell whether anything was found."""
        found = len(self.gone)
        self.known = {}
        for index, cell in enumerate(self.cells):
            if index in self.gone or not isinstance(cell, _PURE):
                continue
            cell = self.cells[index] = self.rewritten(cell)
            same = _passed_on(cell)
            if same is None:
                first = self.known.setdefault(cell, index)
                if first == index:
                    continue
                same = tuple(range(first << 16, (first << 16) + _width(cell)))
            self.gone.add(index)
            for bit, net in enumerate(same):
                self.nets[index << 16 | bit] = net
        return len(self.gone) > found

    def net(self, net: int) -> int:
        """Return the net that stands for ``net``."""
        while net in self.nets:
            net = self.nets[net]
        return net

    def value(self, value: n.Value) -> n.Value:
        """Return the value with the nets that stand for its nets."""
        if self.gone.isdisjoint([net >> 16 for net in value]):
            return value
        return tuple(map(self.net, value))

    def rewritten(self, cell: n.Cell) -> n.Cell:
        """Return the cell with its inputs rewritten."""
        match cell:
            case n.Operator():
                inputs = tuple(map(self.value, cell.inputs))
                return cell if inputs == cell.inputs else replace(cell, inputs=inputs)
            case n.AssignmentList():
                items = tuple(
                    n.Assignment(self.net(item.cond), item.start, self.value(item.value)) for item in cell.assignments
                )
                return n.AssignmentList(self.value(cell.default), items)
            case n.Part():
                return replace(cell, value=self.value(cell.value), offset=self.value(cell.offset))
            case n.Matches():
                return replace(cell, value=self.value(cell.value))
            case n.PriorityMatch():
                return n.PriorityMatch(self.net(cell.enable), self.value(cell.inputs))
            case _:
                return self._outside(cell)

    def _outside(self, cell: _Outside) -> n.Cell:
        match cell:
            case n.FlipFlop():
                return replace(cell, data=self.value(cell.data))
            case n.WritePort():
                value = self.value
                return replace(cell, addr=value(cell.addr), data=value(cell.data), en=value(cell.en))
            case n.AsyncReadPort():
                return replace(cell, addr=self.value(cell.addr))
            case n.SyncReadPort():
                return replace(cell, addr=self.value(cell.addr), en=self.net(cell.en))
            case n.Print():
                return replace(cell, en=self.net(cell.en), message=self._message(cell.message))
            case n.Property():
                message = None if cell.message is None else self._message(cell.message)
                return replace(cell, en=self.net(cell.en), test=self.net(cell.test), message=message)
            case n.Top():
                return replace(cell, outputs={name: self.value(value) for name, value in cell.outputs.items()})
            case n.MemoryCell():
                return cell
            case _:
                assert_never(cell)

    def _message(self, message: tuple[str | n.FormatPiece, ...]) -> tuple[str | n.FormatPiece, ...]:
        return tuple(p if isinstance(p, str) else replace(p, value=self.value(p.value)) for p in message)


_PURE = (n.Operator, n.AssignmentList, n.Part, n.Matches, n.PriorityMatch, n.AsyncReadPort)


def _width(cell: n.Cell) -> int:
    """Return the number of output bits of a pure cell."""
    match cell:
        case n.Operator() | n.Part() | n.AsyncReadPort():
            return cell.width
        case n.AssignmentList():
            return len(cell.default)
        case n.PriorityMatch():
            return len(cell.inputs)
        case n.Matches():
            return 1
        case _:
            raise AssertionError("only pure cells pass something on")


def _passed_on(cell: n.Cell) -> n.Value | None:
    """Return the nets that a cell only passes on, or None."""
    match cell:
        case n.Operator(kind="b" | "r|" | "r&" | "r^", inputs=((net,),)):
            return (net,)
        case n.Operator(kind="m", inputs=(_, chosen, other)) if chosen == other:
            return chosen
        case n.Operator(kind="m", inputs=((1,), chosen, _)):
            return chosen
        case n.Operator(kind="m", inputs=((0,), _, other)):
            return other
        case n.Operator(kind="&", inputs=(left, right)) if left == right:
            return left
        case n.Matches(value=(net,), patterns=("1",)):
            return (net,)
        case n.PriorityMatch(enable=1, inputs=(net,)):
            return (net,)
        case n.PriorityMatch(inputs=(1,)):
            return (cell.enable,)
        case n.AssignmentList(assignments=()):
            return cell.default
        case _:
            return None
