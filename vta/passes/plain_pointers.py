"""Memory that calls name by a plain pointer, not by an access pointer: which argument, which offset goes with it.

DMA and cache barriers name DRAM like this: the pointer, and beside it an offset in units of their own.
Tests: tests/vta/passes/test_plain_pointers.py.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from isa.config import VTAConfig
from isa.instructions import MemoryId
from vta.passes.memory_info import find_memory, output_memory
from vta.tir.expr import Builtin, Call, Expr, IntImm, StringImm, Var
from vta.tir.scopes import ACC_SCOPE, INP_SCOPE, WGT_SCOPE

__all__ = ["SCOPE_OF_MEMORY", "PlainPointer", "plain_pointers", "written_memory"]

SCOPE_OF_MEMORY = {
    MemoryId.INP: INP_SCOPE,
    MemoryId.WGT: WGT_SCOPE,
    MemoryId.ACC: ACC_SCOPE,
    MemoryId.ACC_8BIT: ACC_SCOPE,
}
"""Memory id of a LOAD -> the scope that it fills."""


@dataclass(frozen=True, slots=True)
class PlainPointer:
    """A pointer ``data`` among a call's arguments.

    ``offset`` is the position of the argument that counts ``unit`` elements of the memory; None: the call is not known,
    and may touch all of it. ``writes``: whether the call may write through the pointer.
    """

    data: Var
    offset: int | None
    unit: int
    writes: bool


def plain_pointers(call: Call, config: VTAConfig) -> Iterator[PlainPointer]:
    """Yield the plain pointers of an external call."""
    match call:
        case Call(op=Builtin.CALL_EXTERN, args=(StringImm(value=symbol), *args)):
            yield from _pointers(symbol, args, config)
        case _:
            return


def _pointers(symbol: str, args: list[Expr], config: VTAConfig) -> Iterator[PlainPointer]:
    match symbol, args:
        case "VTALoadBuffer2D", [_, Var() as data, *_, IntImm(value=memory)]:
            info = find_memory(config, SCOPE_OF_MEMORY[MemoryId(memory)])
            assert info is not None
            yield PlainPointer(data, 3, info.lanes, writes=False)
        case "VTAStoreBuffer2D", [_, _, _, Var() as data, *_]:
            yield PlainPointer(data, 5, output_memory(config).lanes, writes=True)
        case "VTAReadBarrier" | "VTAWriteBarrier", [_, Var() as data, *_]:
            yield PlainPointer(data, 4, 1, writes=False)
        case _:
            for arg in args:
                if isinstance(arg, Var) and arg.pointer is not None:
                    yield PlainPointer(arg, None, 1, writes=True)


def written_memory(call: Call, config: VTAConfig) -> Iterator[Var]:
    """Yield the memory that an external call may write without an access pointer that says so.

    A LOAD's access pointer is marked as read, as in TVM's programs, although the scratchpad is filled through it.
    """
    for pointer in plain_pointers(call, config):
        if pointer.writes:
            yield pointer.data
    match call.args:
        case (StringImm(value="VTALoadBuffer2D"), *_, Call(op=Builtin.ACCESS_PTR, args=(_, Var() as data, *_)), _):
            yield data
        case _:
            return
