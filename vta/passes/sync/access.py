"""What host and accelerator touch in memory: the accesses of a statement, each with the elements that it covers.

Buffers are one-dimensional here. A DMA call names its DRAM buffer by the data pointer, and counts tiles of the
scratchpad that it fills or empties.

Tests: tests/vta/passes/sync/test_coproc_access.py and the rest of tests/vta/passes/sync.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import reduce
from operator import mul

from isa.config import VTAConfig
from isa.instructions import MemoryId
from vta.arith.bounds import Interval, eval_interval
from vta.passes.memory_info import find_memory, output_memory
from vta.passes.plain_pointers import SCOPE_OF_MEMORY
from vta.tir.buffer import Access as Mode
from vta.tir.buffer import Buffer
from vta.tir.effects import reads_memory
from vta.tir.expr import BufferLoad, Builtin, Call, Expr, IntImm, Ramp, StringImm, Var
from vta.tir.func import PrimFunc
from vta.tir.stmt import Allocate, BufferStore, Stmt
from vta.tir.traverse import walk

__all__ = ["Extent", "MemoryAccess", "accesses", "extents_of", "relaxed"]


@dataclass(frozen=True, slots=True, eq=False)
class MemoryAccess:
    """Elements ``region`` of the memory that ``data`` points to are written, or read; unbounded: any of them."""

    data: Var
    write: bool
    region: Interval = Interval()  # noqa: RUF009  # an immutable value

    def conflicts(self, other: "MemoryAccess") -> bool:
        """Whether the order of the two matters."""
        return self.data is other.data and (self.write or other.write)


@dataclass(frozen=True, slots=True)
class Extent:
    """Bits of an element, and number of elements, of a memory."""

    bits: int
    count: Expr


def extents_of(func: PrimFunc) -> dict[Var, Extent]:
    """Return the extent of every memory that ``func`` is given, allocates or accesses."""
    found = {buffer.data: _extent(buffer) for buffer in func.buffer_map.values()}
    for node in walk(func.body):
        match node:
            case Allocate():
                found[node.buffer_var] = Extent(node.dtype.bits * node.dtype.lanes, _product(node.extents))
            case BufferLoad() | BufferStore():
                found.setdefault(node.buffer.data, _extent(node.buffer))
            case _:
                continue
    return found


def _extent(buffer: Buffer) -> Extent:
    return Extent(buffer.dtype.bits, _product(buffer.shape))


def _product(factors: Iterable[Expr]) -> Expr:
    return reduce(mul, factors, IntImm(1))


def relaxed(access: MemoryAccess, var: Var, domain: Interval) -> MemoryAccess:
    """Return ``access`` for all values of ``var`` in ``domain``."""
    low, high = access.region.min, access.region.max
    return replace(
        access,
        region=Interval(
            None if low is None else eval_interval(low, {var: domain}).min,
            None if high is None else eval_interval(high, {var: domain}).max,
        ),
    )


def accesses(node: Stmt | Expr, config: VTAConfig) -> Iterator[MemoryAccess]:
    """Yield what a statement or expression touches, in the order of printing; regions keep loop variables."""
    for item in walk(node):
        match item:
            case BufferLoad():
                yield MemoryAccess(item.buffer.data, False, _element(item.indices))
            case BufferStore():
                yield MemoryAccess(item.buffer.data, True, _element(item.indices))
            case Call(op=Builtin.ACCESS_PTR):
                yield from _pointer(item)
            case Call(op=Builtin.CALL_EXTERN, args=(StringImm(value=symbol), *args)):
                yield from _extern(symbol, args, config)
            case _:
                continue


def _between(low: Expr, high: Expr) -> Interval:
    """Return a region that is known wherever it is needed: an end that reads memory may be another one there."""
    return Interval() if reads_memory(low) or reads_memory(high) else Interval(low, high)


def _element(indices: tuple[Expr, ...]) -> Interval:
    if len(indices) != 1:
        return Interval()
    match indices[0]:
        case Ramp(base=base, stride=IntImm(value=stride), lanes=lanes):
            end = base + stride * (lanes - 1)
            return _between(base, end) if stride >= 0 else _between(end, base)
        case index if index.dtype.lanes == 1:
            return _between(index, index)
        case _:
            return Interval()


def _pointer(call: Call) -> Iterator[MemoryAccess]:
    _, data, offset, extent, mask = call.args
    if not isinstance(data, Var) or not isinstance(mask, IntImm):
        return
    region = _between(offset, offset + extent - 1)
    if mask.value & Mode.READ:
        yield MemoryAccess(data, False, region)
    if mask.value & Mode.WRITE:
        yield MemoryAccess(data, True, region)


def _extern(symbol: str, args: list[Expr], config: VTAConfig) -> Iterator[MemoryAccess]:
    """Yield what a call reaches through plain pointers."""
    match symbol, args:
        case "VTALoadBuffer2D", [_, Var() as data, offset, x, y, stride, *_, IntImm(value=memory)]:
            info = find_memory(config, SCOPE_OF_MEMORY[MemoryId(memory)])
            assert info is not None
            yield MemoryAccess(data, False, _tiles(offset, x, y, stride, info.lanes))
        case "VTAStoreBuffer2D", [_, _, _, Var() as data, offset, x, y, stride]:
            yield MemoryAccess(data, True, _tiles(offset, x, y, stride, output_memory(config).lanes))
        case _:
            for arg in args:
                if isinstance(arg, Var) and arg.pointer is not None:
                    yield MemoryAccess(arg, False)
                    yield MemoryAccess(arg, True)


def _tiles(offset: Expr, x: Expr, y: Expr, stride: Expr, lanes: int) -> Interval:
    return _between(offset * lanes, (offset + (y - 1) * stride + x) * lanes - 1)
