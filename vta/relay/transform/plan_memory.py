"""Where each result lies in one block of memory, so that results that are needed at the same time do not overlap.

    %0 = f(%x)     bytes 0 .. 4096
    %1 = g(%0)     bytes 4096 .. 6144
    %2 = h(%1)     bytes 0 .. 2048: %0 is not needed any more

Calls are computed in the order of evaluation. A call's result lives from its call to the last one that reads it, both
included; what the function returns lives to the end. Inputs and constants lie elsewhere. A tuple is its values, and a
value of a tuple is no new memory.
Tests: tests/vta/relay/transform/test_plan_memory.py.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from runtime.executor.operators.types import RelayError, TensorType, TupleType, Type
from vta.relay.ir.nodes import Call, Constant, Expr, Function, Let, Tuple, TupleGetItem, Var
from vta.relay.ir.traverse import post_order
from vta.relay.transform.placement import Lifetime, peak, planned

__all__ = ["MemoryPlan", "Slot", "plan_memory"]


@dataclass(frozen=True, slots=True)
class Slot:
    """A tensor in the block: its first byte, and its size and life; steps are calls, by number."""

    offset: int
    life: Lifetime

    @property
    def nbytes(self) -> int:
        """The size of the tensor."""
        return self.life.nbytes


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
    """Memory that is looked for: value ``index`` of ``call``, and how long."""

    call: Call
    index: int
    life: Lifetime


def plan_memory(function: Function, alignment: int = 64) -> MemoryPlan:
    """Return where the results of all calls lie, at multiples of ``alignment`` bytes.

    Raises ``RelayError`` if there are lets: inline them first.
    """
    if alignment < 1:
        raise RelayError(f"alignment is from 1, not {alignment}")
    needs = list(_needs(function))
    lives = [need.life for need in needs]
    slots: dict[Expr, list[Slot]] = {}
    offsets, nbytes = planned(lives, alignment)
    for need, offset in zip(needs, offsets, strict=True):
        slots.setdefault(need.call, []).append(Slot(offset, need.life))
    return MemoryPlan({call: tuple(each) for call, each in slots.items()}, nbytes, peak(lives))


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
            yield _Need(call, index, Lifetime(nbytes, number, last.get((call, index), number)))


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
