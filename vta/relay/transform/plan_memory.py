"""Where each result lies in one block of memory, so that results that are needed at the same time do not overlap.

    %0 = f(%x)     bytes 0 .. 4096
    %1 = g(%0)     bytes 4096 .. 6144
    %2 = h(%1)     bytes 0 .. 2048: %0 is not needed any more

Calls are computed in the order of evaluation. A call's result lives from its call to the last one that reads it, both
included; what the function returns lives to the end. Inputs and constants lie elsewhere. A tuple is its values, and a
value of a tuple is no new memory. Largest first, each at the lowest place that is free all its life.
Tests: tests/vta/relay/transform/test_plan_memory.py.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from vta.relay.ir.nodes import Call, Constant, Expr, Function, Let, Tuple, TupleGetItem, Var
from vta.relay.ir.traverse import post_order
from vta.relay.ir.types import RelayError, TensorType, TupleType, Type

__all__ = ["MemoryPlan", "Slot", "plan_memory"]


@dataclass(frozen=True, slots=True)
class Slot:
    """A tensor in the block: its first byte and size, and the calls, by number, from ``first`` to ``last`` it lives."""

    offset: int
    nbytes: int
    first: int
    last: int

    def overlaps(self, other: "Slot") -> bool:
        """Whether both are needed at the same time and share a byte."""
        together = self.first <= other.last and other.first <= self.last
        return together and self.offset < other.offset + other.nbytes and other.offset < self.offset + self.nbytes


@dataclass(frozen=True, slots=True)
class MemoryPlan:
    """The slots of every call: one, or one for each value of a tuple that it returns.

    ``nbytes`` is the size of the block; ``peak`` the bytes that are needed at the same time: no plan is smaller.
    """

    slots: Mapping[Expr, tuple[Slot, ...]]
    nbytes: int
    peak: int


@dataclass(frozen=True, slots=True)
class _Need:
    """Memory that is looked for: value ``index`` of ``call``."""

    call: Call
    index: int
    nbytes: int
    first: int
    last: int


def plan_memory(function: Function, alignment: int = 64) -> MemoryPlan:
    """Return where the results of all calls lie, at multiples of ``alignment`` bytes.

    Raises ``RelayError`` if there are lets: inline them first.
    """
    if alignment < 1:
        raise RelayError(f"alignment is from 1, not {alignment}")
    needs = list(_needs(function))
    placed: dict[tuple[Expr, int], Slot] = {}
    for need in sorted(needs, key=lambda need: (-need.nbytes, need.first, need.index)):
        offset = _lowest(need, placed.values(), alignment)
        placed[need.call, need.index] = Slot(offset, need.nbytes, need.first, need.last)
    slots: dict[Expr, list[Slot]] = {}
    for need in needs:
        slots.setdefault(need.call, []).append(placed[need.call, need.index])
    nbytes = max((slot.offset + slot.nbytes for slot in placed.values()), default=0)
    return MemoryPlan({call: tuple(each) for call, each in slots.items()}, nbytes, _peak(needs))


def _needs(function: Function) -> Iterator[_Need]:
    """Yield what memory is needed, in the order of evaluation."""
    calls: list[Call] = []
    sources: dict[Expr, frozenset[tuple[Call, int]]] = {}
    last: dict[tuple[Call, int], int] = {}
    for expr in post_order(function.body):
        if isinstance(expr, Call):
            for arg in expr.args:
                last.update(dict.fromkeys(sources[arg], len(calls)))
            calls.append(expr)
        sources[expr] = _sources(expr, sources)
    last.update(dict.fromkeys(sources[function.body], len(calls)))
    for number, call in enumerate(calls):
        for index, nbytes in enumerate(_sizes(call.type)):
            yield _Need(call, index, nbytes, number, last.get((call, index), number))


def _sources(expr: Expr, known: Mapping[Expr, frozenset[tuple[Call, int]]]) -> frozenset[tuple[Call, int]]:
    """Return the memory that ``expr`` is in."""
    match expr:
        case Call():
            return frozenset((expr, index) for index, _ in enumerate(_sizes(expr.type)))
        case Tuple():
            return frozenset(each for part in expr.fields for each in known[part])
        case TupleGetItem(value=Call() as call, index=index):
            start = sum(len(_sizes(each)) for each in _fields(call.type)[:index])
            return frozenset((call, start + place) for place, _ in enumerate(_sizes(expr.type)))
        case TupleGetItem():
            return known[expr.value]
        case Var() | Constant():
            return frozenset()
        case Let():
            raise RelayError("memory is planned for functions without lets; inline them first")


def _fields(of: Type) -> tuple[Type, ...]:
    return of.fields if isinstance(of, TupleType) else (of,)


def _sizes(of: Type) -> list[int]:
    """Return the bytes of a tensor, or of every tensor in a tuple."""
    match of:
        case TensorType():
            return [of.nbytes]
        case TupleType():
            return [size for each in of.fields for size in _sizes(each)]


def _lowest(need: _Need, placed: Iterable[Slot], alignment: int) -> int:
    """Return the lowest offset at which ``need`` overlaps nothing that lives at the same time."""
    beside = sorted(
        (slot for slot in placed if slot.nbytes and slot.first <= need.last and need.first <= slot.last),
        key=lambda slot: slot.offset,
    )
    offset = 0
    for slot in beside:
        if offset + need.nbytes <= slot.offset:
            break
        offset = max(offset, -(-(slot.offset + slot.nbytes) // alignment) * alignment)
    return offset


def _peak(needs: list[_Need]) -> int:
    """Return the bytes that live at the same time at most."""
    changes: dict[int, int] = {}
    for need in needs:
        changes[need.first] = changes.get(need.first, 0) + need.nbytes
        changes[need.last + 1] = changes.get(need.last + 1, 0) - need.nbytes
    now = most = 0
    for place in sorted(changes):
        now += changes[place]
        most = max(most, now)
    return most
