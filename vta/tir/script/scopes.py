"""Statements of TVMScript that hold others: attributes, allocations, lets, assertions, regions of buffers.

Tests: tests/vta/tir/script/test_parser.py.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from vta.tir.buffer import Buffer
from vta.tir.dtype import BOOL, DType
from vta.tir.expr import Expr, IntImm, IterKind, IterVar, PointerType, Range, StringImm, Sub, Var, binary, convert
from vta.tir.expr import match_types as matched
from vta.tir.regions import BufferRegion
from vta.tir.stmt import Allocate, Annotation, AssertStmt, AttrKey, AttrStmt, BufferRealize, ForKind, LetStmt, Stmt

if TYPE_CHECKING:
    from vta.tir.script.parser import _FunctionReader

__all__ = ["ATTRIBUTES", "LOOPS", "BlockParts", "region_of", "scope_of"]

ATTRIBUTES = ("attr", "launch_thread", "realize", "let", "Assert")
"""Words that may stand without ``with``, and then are about the rest of their block."""

LOOPS = {
    "serial": ForKind.SERIAL, "parallel": ForKind.PARALLEL, "vectorized": ForKind.VECTORIZED,
    "unroll": ForKind.UNROLLED, "thread_binding": ForKind.THREAD_BINDING,
}  # fmt: skip


@dataclass(slots=True)
class BlockParts:
    """What the words in a block said so far. The first one is the function's, which knows every loop."""

    axes: list[tuple[IterVar, Expr]] = field(default_factory=list)
    alloc_buffers: list[Buffer] = field(default_factory=list)
    loops: list[tuple[Var, Range]] = field(default_factory=list)
    init: Stmt | None = None
    reads: tuple[BufferRegion, ...] | None = None
    writes: tuple[BufferRegion, ...] | None = None
    annotations: dict[str, Annotation] = field(default_factory=dict)
    predicate: Expr = IntImm(1, BOOL)  # noqa: RUF009  # an immutable node


def scope_of(function: _FunctionReader, call: ast.Call, target: ast.expr | None, body: Callable[[], Stmt]) -> Stmt:
    """Return the statement of a word that holds ``body``, which is read once names are defined."""
    word = function.reader.word(call.func)
    if word == "realize":
        return _realize(function, call, body)
    given, named = function.reader.arguments(call)
    match word, given:
        case "attr", [node, key, value]:
            about = tuple(node) if isinstance(node, list) else node
            held = StringImm(value) if isinstance(value, str) else convert(value)
            return AttrStmt(about, AttrKey(key) if key in list(AttrKey) else str(key), held, body())
        case "let", [Var() as var, value]:
            return LetStmt(var, convert(value), body())
        case "Assert", [condition, message]:
            return AssertStmt(convert(condition), StringImm(str(message)), body())
        case "allocate", [extents, kind, *more] if isinstance(target, ast.Name):
            return _allocate(function, target.id, [extents, kind, *more, *named.values()], body)
        case "launch_thread", [Var() as var, extent]:
            axis = IterVar(None, var, IterKind.THREAD_INDEX, var.name)
            return AttrStmt(axis, AttrKey.THREAD_EXTENT, convert(extent), body())
        case _:
            raise function.reader.refusal(call, f"T.{word or ast.unparse(call.func)} is no scope that there is here")


def _allocate(function: _FunctionReader, name: str, given: list[Any], body: Callable[[], Stmt]) -> Stmt:
    extents, kind, *more = given
    scope = more[0] if more and isinstance(more[0], str) else "global"
    condition = next((convert(item) for item in more if not isinstance(item, str)), IntImm(1, BOOL))
    var = Var(name, PointerType(DType(kind), scope))  # type: ignore[arg-type]  # a type is taken, too
    function.names[name] = var
    sizes = tuple(convert(extent) for extent in extents)
    return Allocate(var, DType(kind), sizes, body(), condition)


def _realize(function: _FunctionReader, call: ast.Call, body: Callable[[], Stmt]) -> Stmt:
    region, *more = call.args
    if not isinstance(region, ast.Subscript):
        raise function.reader.refusal(call, "T.realize takes a region, for example B[0:16]")
    buffer = function.reader.value(region.value)
    items = region.slice.elts if isinstance(region.slice, ast.Tuple) else [region.slice]
    bounds = tuple(_span(function, item) for item in items)
    conditions = [value for value in map(function.reader.value, more) if not isinstance(value, str)]
    condition = convert(conditions[0]) if conditions else IntImm(1, BOOL)
    return BufferRealize(buffer, bounds, body(), condition)


def region_of(function: _FunctionReader, node: ast.expr) -> BufferRegion:
    """Return a region of a buffer, for example ``A[vi, 0:16]``."""
    buffer = function.reader.value(node.value) if isinstance(node, ast.Subscript) else None
    if not isinstance(node, ast.Subscript) or not isinstance(buffer, Buffer):
        raise function.reader.refusal(node, f"expected a region of a buffer, got {ast.unparse(node)}")
    items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    return BufferRegion(buffer, tuple(_span(function, item, points=True) for item in items))


def _span(function: _FunctionReader, item: ast.expr, *, points: bool = False) -> Range:
    if isinstance(item, ast.Slice) and item.upper is not None:
        low = function.reader.value(item.lower) if item.lower is not None else 0
        first, end = matched(low, function.reader.value(item.upper))
        return Range(first, binary(Sub, end, first))
    value = function.reader.value(item)
    if points and not isinstance(value, Range):
        index = convert(value)
        return Range(index, IntImm(1, index.dtype))
    if not isinstance(value, Range):
        raise function.reader.refusal(item, f"expected a range, for example 0:16, got {ast.unparse(item)}")
    return value
