"""The text of TIR, in the style of TVM's listings.

A variable or buffer shows its type or definition where it first appears; names are made unique with ``_1``, ``_2``.
The text depends on the program alone, so it can be compared with golden files. Tests: tests/vta/tir/test_printer.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

from vta.tir.buffer import Buffer
from vta.tir.deep import deep
from vta.tir.expr import Expr, IntImm, IterVar, Var
from vta.tir.expression_printer import ExpressionPrinter, quoted
from vta.tir.func import IRModule, PrimFunc
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

__all__ = ["to_text"]

_LOOP_KIND = {
    ForKind.SERIAL: "",
    ForKind.PARALLEL: ' "parallel"',
    ForKind.VECTORIZED: ' "vectorized"',
    ForKind.UNROLLED: ' "unroll"',
    ForKind.THREAD_BINDING: ' "thread_binding"',
}


def to_text(node: PrimFunc | IRModule | Stmt | Expr, *, typed: bool = False) -> str:
    """Return the text of a function, a module (its functions one after the other), a statement or an expression.

    In an expression by itself variables appear with their names alone, unless ``typed``.
    """
    match node:
        case IRModule():
            return "\n".join(to_text(func) for func in node.functions.values())
        case PrimFunc():
            return _Printer().function(node)
        case (
            BufferStore() | Evaluate() | For() | SeqStmt() | AttrStmt() | Allocate() | BufferRealize() | LetStmt()
            | IfThenElse() | AssertStmt() | Block() | While() | Prefetch() | ProducerStore() | ProducerRealize()
        ):  # fmt: skip
            return _Printer().text(node)
        case _:
            return _Printer(typed=typed).expr(node)


class _Printer(ExpressionPrinter):
    """The lines so far, and the functions that write each kind of statement."""

    def __init__(self, *, typed: bool = True) -> None:
        super().__init__(typed=typed)
        self.lines: list[str] = []

    # Statements

    def text(self, stmt: Stmt) -> str:
        """Return the text of a statement."""
        self.statement(stmt, "")
        return "\n".join(self.lines) + "\n"

    @deep
    def statement(self, stmt: Stmt, indent: str) -> None:
        """Write the lines of a statement."""
        self.begin()
        match stmt:
            case SeqStmt():
                for item in stmt.stmts:
                    self.statement(item, indent)
            case For():
                loop = f"{self.var(stmt.loop_var)}, {self.expr(stmt.min)}, {self.expr(stmt.extent)}"
                bound = f" {quoted(stmt.thread)}" if stmt.thread else ""
                notes = f" annotations={_annotations(stmt.annotations)}" if stmt.annotations else ""
                self.lines.append(f"{indent}for ({loop}){_LOOP_KIND[stmt.kind]}{bound}{notes} {{")
                self.statement(stmt.body, indent + "  ")
                self.lines.append(f"{indent}}}")
            case BufferStore():
                target = f"{self.buffer(stmt.buffer)}[{self.exprs(stmt.indices)}]"
                self.lines.append(f"{indent}{target} = {self.expr(stmt.value)}")
            case Evaluate():
                self.lines.append(f"{indent}{self.expr(stmt.value)}")
            case IfThenElse():
                self._branches(stmt, indent)
            case BufferRealize():
                self.lines.append(
                    f"{indent}realize({self.buffer(stmt.buffer)}, [{self.ranges(stmt.bounds)}], "
                    f"{self.expr(stmt.condition)} {{"
                )
                self.statement(stmt.body, indent + "  ")
                self.lines.append(f"{indent}}})")
            case AttrStmt() | Allocate():
                header = self._attribute(stmt) if isinstance(stmt, AttrStmt) else self._allocation(stmt)
                self._body(indent + header, ";", stmt.body, indent)
            case LetStmt():
                value = self.expr(stmt.value)
                self._body(f"{indent}let {self.var(stmt.var)} = {value}", "", stmt.body, indent)
            case AssertStmt():
                header = f"{indent}assert({self.expr(stmt.condition)}, {quoted(stmt.message.value)})"
                self._body(header, "", stmt.body, indent)
            case Block():
                self._block(stmt, indent)
            case While():
                self.lines.append(f"{indent}while {self.expr(stmt.condition)} {{")
                self.statement(stmt.body, indent + "  ")
                self.lines.append(f"{indent}}}")
            case Prefetch():
                self.lines.append(f"{indent}prefetch {self.buffer(stmt.buffer)}[{self.ranges(stmt.bounds)}]")
            case ProducerStore():
                self.lines.append(f"{indent}{stmt.producer.name}[{self.exprs(stmt.indices)}] = {self.expr(stmt.value)}")
            case ProducerRealize():
                self.lines.append(f"{indent}producer_realize {stmt.producer.name}([{self.ranges(stmt.bounds)}]) {{")
                self.statement(stmt.body, indent + "  ")
                self.lines.append(f"{indent}}}")
            case _:
                assert_never(stmt)

    def _block(self, block: Block, indent: str) -> None:
        self.lines.append(f"{indent}block {quoted(block.name)} {{")
        inner = indent + "  "
        self.lines += [f"{inner}alloc {self.buffer(buffer)}" for buffer in block.alloc_buffers]
        for axis, value in zip(block.iter_vars, block.values, strict=True):
            self.lines.append(f"{inner}{self.axis(axis)} = {self.expr(value)}")
        if not (isinstance(block.predicate, IntImm) and block.predicate.value):
            self.lines.append(f"{inner}where {self.expr(block.predicate)}")
        for word, regions in (("reads", block.reads), ("writes", block.writes)):
            if regions is not None:
                parts = ", ".join(f"{self.buffer(part.buffer)}[{self.ranges(part.region)}]" for part in regions)
                self.lines.append(f"{inner}{word} {parts or 'nothing'}")
        if block.annotations:
            self.lines.append(f"{inner}annotations {_annotations(block.annotations)}")
        if block.init is not None:
            self.lines.append(f"{inner}init {{")
            self.statement(block.init, inner + "  ")
            self.lines.append(f"{inner}}}")
        self.statement(block.body, inner)
        self.lines.append(f"{indent}}}")

    def _body(self, header: str, separator: str, body: Stmt, indent: str) -> None:
        """Write a header and what it is about: a sequence in braces, one statement on the next line."""
        if not isinstance(body, SeqStmt):
            self.lines.append(header + separator)
            self.statement(body, indent)
            return
        if separator:
            self.lines.append(f"{header} {{")
        else:
            self.lines.append(header)
            self.lines.append(f"{indent} {{")
        self.statement(body, indent + "  ")
        self.lines.append(f"{indent}}}")

    def _attribute(self, stmt: AttrStmt) -> str:
        match stmt.node:
            case None:
                about = "(nullptr)"
            case IterVar():
                about = self.axis(stmt.node)
            case Buffer():
                about = self.buffer(stmt.node)
            case Var():
                about = self.var(stmt.node)
            case (view, target):
                about = f"[{self.buffer(view)}, {self.buffer(target)}]"
        return f'attr [{about}] "{stmt.key}" = {self.expr(stmt.value)}'

    def _allocation(self, stmt: Allocate) -> str:
        memory = f"{self.var(stmt.buffer_var)}, {stmt.dtype}, [{self.exprs(stmt.extents)}]"
        certain = isinstance(stmt.condition, IntImm) and stmt.condition.value
        condition = "" if certain else f" if {self.expr(stmt.condition)}"
        return f"allocate({memory}), storage_scope = {stmt.scope}{condition}"

    def _branches(self, stmt: IfThenElse, indent: str) -> None:
        self.lines.append(f"{indent}if {self.expr(stmt.condition)} {{")
        self.statement(stmt.then_case, indent + "  ")
        if stmt.else_case is not None:
            self.lines.append(f"{indent}}} else {{")
            self.statement(stmt.else_case, indent + "  ")
        self.lines.append(f"{indent}}}")

    # Functions

    def function(self, func: PrimFunc) -> str:
        """Return the text of a function."""
        mapped = [(param, func.buffer_map[param]) for param in func.params if param in func.buffer_map]
        for _, buffer in mapped:
            self.buffers[buffer] = self.unique(buffer.name)
        params = ", ".join([self.var(param) for param in func.params])
        header = [f"@{func.name} = primfn({params}) -> ()"]
        if func.attrs:
            attrs = ", ".join(f'"{k}": {_attr_value(v)}' for k, v in sorted(func.attrs.items()))
            header.append(f"  attr = {{{attrs}}}")
        if mapped:
            shown = [f"{self.buffers[buffer]}: {self.definition(buffer)}" for _, buffer in mapped]
            header.append(f"  buffers = {{{(',' + chr(10) + ' ' * 13).join(shown)}}}")
            pairs = ", ".join(f"{self.vars[param]}: {self.buffers[buffer]}" for param, buffer in mapped)
            header.append(f"  buffer_map = {{{pairs}}}")
        declared = [(param, func.declared[param]) for param in func.params if param in func.declared]
        if declared:
            pairs = ", ".join(f"{self.vars[param]}: {self.buffer(buffer)}" for param, buffer in declared)
            header.append(f"  preflattened_buffer_map = {{{pairs}}}")
        header[-1] += " {"
        self.lines += header
        self.statement(func.body, "  ")
        self.lines.append("}")
        return "\n".join(self.lines) + "\n"


def _annotations(notes: Mapping[str, Annotation]) -> str:
    return f"{{{', '.join(f'{quoted(key)}: {_annotation(value)}' for key, value in notes.items())}}}"


@deep
def _annotation(value: Annotation) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(_annotation, value))}]"
    return quoted(value) if isinstance(value, str) else repr(value)


def _attr_value(value: str | int | bool) -> str:
    return quoted(value) if isinstance(value, str) else str(value)
