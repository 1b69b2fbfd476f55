"""TVMScript of functions and modules; ``parser`` reads it back, and what it reads is structurally equal.

A buffer is declared where the pointer to its elements begins to exist. Tests: tests/vta/tir/script/test_round_trip.py.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from vta.tir.buffer import Buffer
from vta.tir.deep import deep
from vta.tir.expr import BufferLoad, Expr, IntImm, IterKind, IterVar, Let, Range, Var
from vta.tir.func import IRModule, PrimFunc
from vta.tir.regions import BufferRegion
from vta.tir.script.expression_text import ScriptPrintError, expression_text, quoted
from vta.tir.stmt import (
    Allocate,
    Annotation,
    AssertStmt,
    AttrStmt,
    Block,
    BufferRealize,
    BufferStore,
    Evaluate,
    For,
    ForKind,
    IfThenElse,
    LetStmt,
    Prefetch,
    ProducerRealize,
    ProducerStore,
    SeqStmt,
    Stmt,
    While,
)
from vta.tir.traverse import walk

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["ScriptPrintError", "to_script"]

_LOOPS = {
    ForKind.SERIAL: "serial", ForKind.PARALLEL: "parallel", ForKind.VECTORIZED: "vectorized",
    ForKind.UNROLLED: "unroll", ForKind.THREAD_BINDING: "thread_binding",
}  # fmt: skip
_AXES = {IterKind.DATA_PAR: "spatial", IterKind.COMM_REDUCE: "reduce", IterKind.OPAQUE: "opaque"}
_RESERVED = frozenset({"T", "True", "False", "None", "not", "and", "or", *keyword.kwlist})


def to_script(node: PrimFunc | IRModule, show_meta: bool = False) -> str:  # noqa: ARG001  # TVM's; there is none
    """Return the text of a function, or of a module as a class of functions; raises ``ScriptPrintError``."""
    head = ["# from tvm.script import tir as T"]
    if isinstance(node, PrimFunc):
        return "\n".join([*head, *_Function(node).lines]) + "\n"
    lines = [*head, "@tvm.script.ir_module", "class Module:"]
    for name, func in node.functions.items():
        lines += [f"    {line}" if line else "" for line in _Function(func, name).lines]
    return "\n".join(lines if node.functions else [*lines, "    pass"]) + "\n"


class _Function:
    """The lines of one function."""

    def __init__(self, func: PrimFunc, name: str = "") -> None:
        self.lines: list[str] = []
        self._names: dict[Var | Buffer, str] = {}
        self._taken: set[str] = set(_RESERVED)
        self._depth = 1
        self._buffers = _buffers_in(func)
        self._function(func, name or func.name)

    # Names

    def name(self, item: Var | Buffer) -> str:
        """Return the name of what was declared."""
        if item not in self._names:
            kind = "variable" if isinstance(item, Var) else "buffer"
            raise ScriptPrintError(f"{kind} {item.name!r} is used where nothing declares it; it has no text")
        return self._names[item]

    def _new(self, item: Var | Buffer, wanted: str = "") -> str:
        base = re.sub(r"\W", "_", wanted or item.name) or "v"
        base = f"v{base}" if base[0].isdigit() else base
        name, number = base, 0
        while name in self._taken:
            number += 1
            name = f"{base}_{number}"
        self._taken.add(name)
        self._names[item] = name
        return name

    def text(self, expr: Expr) -> str:
        """Return the text of an expression."""
        return expression_text(expr, self.name)

    def texts(self, exprs: Iterable[Expr]) -> str:
        """Return texts with commas between them."""
        return ", ".join(self.text(expr) for expr in exprs)

    def line(self, text: str) -> None:
        """Append a line."""
        self.lines.append("    " * self._depth + text)

    @contextmanager
    def inside(self, header: str) -> Iterator[None]:
        """Write a header, and what follows inside of it."""
        self.line(header)
        self._depth += 1
        count = len(self.lines)
        yield
        if len(self.lines) == count:
            self.line("pass")
        self._depth -= 1

    # Functions

    def _function(self, func: PrimFunc, name: str) -> None:
        params = []
        for param in func.params:
            kind = "handle" if param.dtype == "handle" else str(param.dtype)
            params.append(f"{self._new(param)}: T.{kind}")
        called = re.sub(r"\W", "_", name)
        self.lines += ["@T.prim_func", f"def {called}({', '.join(params)}) -> None:"]
        if func.attrs:
            attrs = ", ".join(f"{quoted(key)}: {_attr(value)}" for key, value in func.attrs.items())
            self.line(f"T.func_attr({{{attrs}}})")
        mapped = [(param, func.buffer_map[param]) for param in func.params if param in func.buffer_map]
        for _, buffer in mapped:
            declared = [func.declared[p] for p, b in mapped if b is buffer and p in func.declared]
            self._variables((buffer, *declared))
        for param, buffer in mapped:
            self._declare(buffer, f"T.match_buffer({self.name(param)}, ")
        for param, buffer in mapped:
            if param in func.declared:
                self._declare(func.declared[param], f"T.preflattened_buffer({self.name(buffer)}, ")
        for _, buffer in mapped:
            self._views(buffer.data)
        for param in func.params:
            self._views(param)
        for node in walk(func.body):
            if isinstance(node, Let):
                self.line(f'{self._new(node.var)} = T.var("{node.var.dtype}")')
        for buffer in self._buffers:
            if buffer not in self._names and buffer.data not in self._defined_inside(func):
                self._variables((buffer,))
                self._declare(buffer, "T.buffer_decl(")
        self.statement(func.body)

    def _defined_inside(self, func: PrimFunc) -> set[Var]:
        found: set[Var] = set()
        for node in walk(func.body):
            match node:
                case Allocate():
                    found.add(node.buffer_var)
                case LetStmt():
                    found.add(node.var)
                case Block():
                    found.update(buffer.data for buffer in node.alloc_buffers)
                case _:
                    continue
        return found

    def _variables(self, buffers: Sequence[Buffer]) -> None:
        """Declare the sizes that the shapes of buffers are made of."""
        for buffer in buffers:
            for expr in (*buffer.shape, *buffer.strides, buffer.elem_offset):
                for node in walk(expr):
                    if isinstance(node, Var) and node not in self._names:
                        self.line(f'{self._new(node)} = T.var("{node.dtype}")')

    def _declare(self, buffer: Buffer, begin: str, *, data: Var | None = None) -> None:
        name = self._new(buffer)
        parts = [f"[{self.texts(buffer.shape)}]", f'dtype="{buffer.dtype}"']
        if data is not None:
            parts.append(f"data={self.name(data)}")
        if buffer.strides:
            parts.append(f"strides=[{self.texts(buffer.strides)}]")
        if not (isinstance(buffer.elem_offset, IntImm) and buffer.elem_offset.value == 0):
            parts.append(f"elem_offset={self.text(buffer.elem_offset)}")
        if buffer.scope not in ("", "global"):
            parts.append(f'scope="{buffer.scope}"')
        if buffer.data_alignment != 64:
            parts.append(f"align={buffer.data_alignment}")
        if buffer.offset_factor != 1:
            parts.append(f"offset_factor={buffer.offset_factor}")
        self.line(f"{name} = {begin}{', '.join(parts)})")
        if buffer.data not in self._names:
            self._names[buffer.data] = f"{name}.data"

    def _views(self, data: Var) -> None:
        """Declare the buffers that see memory behind ``data``."""
        for buffer in self._buffers:
            if buffer.data is data and buffer not in self._names:
                self._variables((buffer,))
                self._declare(buffer, "T.buffer_decl(", data=data)

    # Statements

    @deep
    def statement(self, stmt: Stmt) -> None:
        """Write a statement."""
        match stmt:
            case SeqStmt():
                for part in stmt.stmts:
                    self.statement(part)
            case BufferStore():
                self.line(f"{self._element(stmt.buffer, stmt.indices)} = {self.text(stmt.value)}")
            case Evaluate():
                self.line(f"T.evaluate({self.text(stmt.value)})")
            case For():
                self._loop(stmt)
            case IfThenElse():
                with self.inside(f"if {self.text(stmt.condition)}:"):
                    self.statement(stmt.then_case)
                if stmt.else_case is not None:
                    with self.inside("else:"):
                        self.statement(stmt.else_case)
            case Block():
                self._block(stmt)
            case While():
                with self.inside(f"while {self.text(stmt.condition)}:"):
                    self.statement(stmt.body)
            case Prefetch() | ProducerStore() | ProducerRealize():
                raise ScriptPrintError(f"a {type(stmt).__name__} has no text; lower the program first")
            case _:
                self._scope(stmt)

    def _element(self, buffer: Buffer, indices: Sequence[Expr]) -> str:
        return f"{self.name(buffer)}[{self.texts(indices) or '()'}]"

    def _loop(self, loop: For) -> None:
        low, extent = self.text(loop.min), self.text(loop.extent)
        if isinstance(loop.min, IntImm) and isinstance(loop.extent, IntImm):
            ends = f"{low}, {self.text(IntImm(loop.min.value + loop.extent.value, loop.extent.dtype))}"
        else:
            at_zero = isinstance(loop.min, IntImm) and loop.min.value == 0
            ends = f"{low}, {extent}" if at_zero else f"{low}, extent={extent}"
        if loop.thread:
            ends += f", thread={quoted(loop.thread)}"
        if loop.annotations:
            ends += f", annotations={_annotations(loop.annotations)}"
        with self.inside(f"for {self._new(loop.loop_var)} in T.{_LOOPS[loop.kind]}({ends}):"):
            self.statement(loop.body)

    def _scope(self, stmt: AttrStmt | Allocate | BufferRealize | LetStmt | AssertStmt) -> None:
        match stmt:
            case AttrStmt():
                header = f"T.attr({self._about(stmt.node)}, {quoted(stmt.key)}, {self.text(stmt.value)}):"
            case Allocate():
                condition = "" if _holds(stmt.condition) else f", {self.text(stmt.condition)}"
                where = f'[{self.texts(stmt.extents)}], "{stmt.dtype}", "{stmt.scope}"{condition}'
                header = f"T.allocate({where}) as {self._new(stmt.buffer_var)}:"
            case BufferRealize():
                bounds = ", ".join(self._span(bound) for bound in stmt.bounds)
                header = f"T.realize({self.name(stmt.buffer)}[{bounds or '()'}], {self.text(stmt.condition)}):"
            case LetStmt():
                value = self.text(stmt.value)
                if stmt.var not in self._names:  # else the size of a buffer that is declared further out
                    self.line(f'{self._new(stmt.var)} = T.var("{stmt.var.dtype}")')
                header = f"T.let({self.name(stmt.var)}, {value}):"
            case AssertStmt():
                header = f"T.Assert({self.text(stmt.condition)}, {quoted(stmt.message.value)}):"
        with self.inside(f"with {header}"):
            if isinstance(stmt, Allocate):
                self._views(stmt.buffer_var)
            elif isinstance(stmt, LetStmt):
                self._views(stmt.var)
            self.statement(stmt.body)

    def _span(self, bound: Range) -> str:
        return f"T.span({self.text(bound.min)}, {self.text(bound.extent)})"

    def _about(self, node: IterVar | Buffer | tuple[Buffer, Buffer] | Var | None) -> str:
        match node:
            case None:
                return "None"
            case IterVar():
                if node.var not in self._names:
                    self.line(f'{self._new(node.var)} = T.var("{node.var.dtype}")')
                dom = "None" if node.dom is None else self._span(node.dom)
                return f'T.iter_var({self.name(node.var)}, {dom}, "{node.kind}", "{node.thread_tag}")'
            case Buffer() | Var():
                return self.name(node)
            case (view, target):
                return f"[{self.name(view)}, {self.name(target)}]"

    def _region(self, part: BufferRegion) -> str:
        return f"{self.name(part.buffer)}[{', '.join(map(self._span, part.region)) or '()'}]"

    def _block(self, block: Block) -> None:
        with self.inside(f"with T.block({quoted(block.name)}):"):
            for axis, value in zip(block.iter_vars, block.values, strict=True):
                held = self.text(value)
                assert axis.dom is not None
                whole = isinstance(axis.dom.min, IntImm) and axis.dom.min.value == 0
                dom = self.text(axis.dom.extent) if whole else self._span(axis.dom)
                self.line(f"{self._new(axis.var)} = T.axis.{_AXES[axis.kind]}({dom}, {held})")
            if not _holds(block.predicate):
                self.line(f"T.where({self.text(block.predicate)})")
            for buffer in block.alloc_buffers:
                self._declare(buffer, "T.alloc_buffer(")
            for word, regions in (("reads", block.reads), ("writes", block.writes)):
                if regions is not None:
                    self.line(f"T.{word}({', '.join(map(self._region, regions))})")
            if block.annotations:
                self.line(f"T.block_attr({_annotations(block.annotations)})")
            if block.init is not None:
                with self.inside("with T.init():"):
                    self.statement(block.init)
            self.statement(block.body)


def _holds(condition: Expr) -> bool:
    return isinstance(condition, IntImm) and bool(condition.value)


def _annotations(notes: Mapping[str, Annotation]) -> str:
    return f"{{{', '.join(f'{quoted(key)}: {_annotation(value)}' for key, value in notes.items())}}}"


@deep
def _annotation(value: Annotation) -> str:
    return f"[{', '.join(map(_annotation, value))}]" if isinstance(value, tuple) else _attr(value)


def _attr(value: object) -> str:
    return quoted(value) if isinstance(value, str) else repr(value)


def _buffers_in(func: PrimFunc) -> list[Buffer]:
    """Return the buffers that a function touches, in order."""
    found: dict[Buffer, None] = {}
    for node in walk(func.body):
        match node:
            case BufferLoad() | BufferStore() | BufferRealize():
                found[node.buffer] = None
            case AttrStmt(node=Buffer() as buffer):
                found[buffer] = None
            case Block():
                found.update(dict.fromkeys(part.buffer for part in (*(node.reads or ()), *(node.writes or ()))))
            case AttrStmt(node=(Buffer() as view, Buffer() as target)):
                found.update({view: None, target: None})
            case _:
                continue
    return list(found)
