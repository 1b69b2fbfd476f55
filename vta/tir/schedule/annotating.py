"""Primitives that say something about a block or loop: ``annotate``, ``unannotate``, ``storage_align``, ``bind``.

Tests: tests/vta/tir/schedule/test_annotating.py.
"""

from __future__ import annotations

from dataclasses import replace

from vta.tir.blocks import STORAGE_ALIGN_KEY, block_writes
from vta.tir.deep import deep
from vta.tir.expr import FloatImm, IntImm, StringImm, Var
from vta.tir.func import PrimFunc
from vta.tir.schedule.bindings import reducing_over
from vta.tir.schedule.errors import BlockScheduleError
from vta.tir.schedule.flow import buffer_at
from vta.tir.schedule.tree import block_named, loop_of, loops_around, replaced
from vta.tir.stmt import Annotation, Block, For, ForKind
from vta.tir.traverse import walk

__all__ = ["aligned", "annotated", "bound", "unannotated"]

_GPU = ("blockIdx.", "threadIdx.")
_THREADS = ("vthread", "vthread.x", "vthread.y", "vthread.z", "cthread", "rotate")


def annotated(func: PrimFunc, stmt: Block | For, key: object, value: object) -> PrimFunc:
    """Say ``value`` about a block or loop under ``key``."""
    if not isinstance(key, str) or not key:
        raise BlockScheduleError(f"annotate: expected a text as key, not {key!r}")
    if key in stmt.annotations:
        raise BlockScheduleError(f"annotate: {_called(stmt)} has an annotation {key!r} already; unannotate it first")
    notes = {**stmt.annotations, key: _constant(value, key)}
    return replaced(func, {id(stmt): replace(stmt, annotations=notes)})


@deep
def _constant(value: object, key: str) -> Annotation:
    match value:
        case IntImm() | FloatImm() | StringImm():
            return value.value
        case int() | float() | str():
            return value
        case list() | tuple():
            return tuple(_constant(item, key) for item in value)
        case _:
            raise BlockScheduleError(f"annotate: {key!r}: expected a number, a text or a list of these, not {value!r}")


def unannotated(func: PrimFunc, stmt: Block | For, key: object) -> PrimFunc:
    """Take back what was said under ``key``."""
    if key not in stmt.annotations:
        known = ", ".join(stmt.annotations) or "none"
        raise BlockScheduleError(f"unannotate: {_called(stmt)} has no annotation {key!r}; it has: {known}")
    notes = {k: v for k, v in stmt.annotations.items() if k != key}
    return replaced(func, {id(stmt): replace(stmt, annotations=notes)})


def _called(stmt: Block | For) -> str:
    return f"block {stmt.name!r}" if isinstance(stmt, Block) else f"loop {stmt.loop_var.name!r}"


def aligned(func: PrimFunc, name: str, *, index: int, axis: int, factor: int, offset: int) -> PrimFunc:
    """Let dimension ``axis`` of a buffer that block ``name`` writes have a stride that is ``factor * k + offset``."""
    block = block_named(func, name)
    buffer = buffer_at(block, index, block_writes(block), "storage_align")
    if any(buffer is argument for argument in func.buffer_map.values()):
        raise BlockScheduleError(f"storage_align: {buffer.name!r} is an argument of the function, which stays as it is")
    rank = len(buffer.shape)
    place = axis + rank if isinstance(axis, int) and axis < 0 else axis
    if not isinstance(place, int) or not 0 <= place < rank:
        raise BlockScheduleError(f"storage_align: {buffer.name!r} has {rank} dimensions, and none is {axis}")
    if not isinstance(factor, int) or factor < 1 or not isinstance(offset, int):
        raise BlockScheduleError(f"storage_align: a factor is at least 1, an offset a number, not {factor}, {offset}")
    before = block.annotations.get(STORAGE_ALIGN_KEY, ())
    assert isinstance(before, tuple)
    kept = tuple(entry for entry in before if isinstance(entry, tuple) and entry[:2] != (index, place))
    notes = {**block.annotations, STORAGE_ALIGN_KEY: (*kept, (index, place, factor, offset))}
    return replaced(func, {id(block): replace(block, annotations=notes)})


def bound(func: PrimFunc, var: Var, thread: object) -> PrimFunc:
    """Let the iterations of a loop be those of a thread axis: virtual threads, or a GPU's."""
    loop = loop_of(func, var)
    tag = getattr(thread, "thread_tag", thread)
    if not isinstance(tag, str) or not (tag in _THREADS or (tag.startswith(_GPU) and tag[-1] in "xyz")):
        raise BlockScheduleError(
            f"bind: loop {var.name!r}: {thread!r} is no thread axis; those are cthread, vthread, rotate, and a GPU's, "
            "blockIdx.x to .z and threadIdx.x to .z"
        )
    if loop.kind is not ForKind.SERIAL:
        raise BlockScheduleError(f"bind: loop {var.name!r} is {loop.kind.value} already")
    if not isinstance(loop.extent, IntImm):
        raise BlockScheduleError(f"bind: loop {var.name!r} has {loop.extent} iterations; threads are a constant number")
    reducing = reducing_over(loop) if tag != "rotate" else []
    if reducing:
        raise BlockScheduleError(
            f"bind: block {reducing[0]!r} reduces over loop {var.name!r}, in which order matters; rfactor makes a loop "
            "of partial results"
        )
    for other in [*loops_around(func, loop), *(node for node in walk(loop.body) if isinstance(node, For))]:
        if other.thread == tag and tag.startswith(_GPU):
            raise BlockScheduleError(
                f"bind: loop {other.loop_var.name!r} is bound to {tag!r} already, and one is in the other"
            )
    return replaced(func, {id(loop): replace(loop, kind=ForKind.THREAD_BINDING, thread=tag)})
