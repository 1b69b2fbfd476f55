"""The text of TIR, in the style of TVM's listings.

A variable or buffer shows its type or definition where it first appears; names are made unique with ``_1``, ``_2``.
The text depends on the program alone, so it can be compared with golden files. Tests: tests/vta/tir/test_printer.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import assert_never

from vta.tir.buffer import Buffer
from vta.tir.deep import deep
from vta.tir.dtype import BOOL, INT32, Kind
from vta.tir.expr import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    Add,
    And,
    Broadcast,
    BufferLoad,
    Call,
    Cast,
    CommReducer,
    Div,
    Expr,
    FloatImm,
    FloorDiv,
    FloorMod,
    IntImm,
    IterVar,
    Let,
    Max,
    Min,
    Mod,
    Mul,
    Not,
    Or,
    ProducerLoad,
    Ramp,
    Range,
    Reduce,
    Select,
    StringImm,
    Sub,
    Var,
)
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

_DEFAULT_ALIGNMENT = 64
_INFIX: dict[type[Expr], str] = {
    Add: " + ", Sub: " - ", Mul: "*", Div: " / ", Mod: " % ", EQ: " == ", NE: " != ", LT: " < ", LE: " <= ",
    GT: " > ", GE: " >= ", And: " && ", Or: " || ",
}  # fmt: skip
_PREFIX: dict[type[Expr], str] = {FloorDiv: "floordiv", FloorMod: "floormod", Min: "min", Max: "max"}
_LOOP_KIND = {
    ForKind.SERIAL: "",
    ForKind.PARALLEL: ' "parallel"',
    ForKind.VECTORIZED: ' "vectorized"',
    ForKind.UNROLLED: ' "unroll"',
    ForKind.THREAD_BINDING: ' "thread_binding"',
}

_MOST_NODES = 1 << 22
"""So much of a statement is printed. Where an expression shares its parts, its text may be far larger than itself."""


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


class _Printer:
    """Names that were given so far, and the functions that write each kind of node."""

    def __init__(self, *, typed: bool = True) -> None:
        self._typed = typed
        self._vars: dict[Var, str] = {}
        self._buffers: dict[Buffer, str] = {}
        self._taken: set[str] = set()
        self._numbers: dict[str, int] = {}
        self._nodes_left = _MOST_NODES
        self.lines: list[str] = []

    def _unique(self, wanted: str) -> str:
        name, number = wanted, self._numbers.get(wanted, 0)
        while name in self._taken:
            number += 1
            name = f"{wanted}_{number}"
        self._numbers[wanted] = number
        self._taken.add(name)
        return name

    # Names

    def var(self, var: Var) -> str:
        """Return the name; where the variable first appears, with its type."""
        if var in self._vars:
            return self._vars[var]
        name = self._vars[var] = self._unique(var.name)
        if not self._typed:
            return name
        if var.pointer is None:
            return f"{name}: {var.dtype}"
        scope = "" if var.pointer.scope in ("", "global") else f"{var.pointer.scope} "
        return f"{name}: Pointer({scope}{var.pointer.element})"

    def buffer(self, buffer: Buffer) -> str:
        """Return the name; where the buffer first appears, with its definition."""
        if buffer in self._buffers:
            return self._buffers[buffer]
        name = self._buffers[buffer] = self._unique(buffer.name)
        return f"{name}: {self._definition(buffer)}" if self._typed else name

    def _definition(self, buffer: Buffer) -> str:
        parts = [
            self.var(buffer.data),
            str(buffer.dtype),
            f"[{self.exprs(buffer.shape)}]",
            f"[{self.exprs(buffer.strides)}]",
        ]
        if not (isinstance(buffer.elem_offset, IntImm) and buffer.elem_offset.value == 0):
            parts.append(f"elem_offset={self.expr(buffer.elem_offset)}")
        if buffer.scope not in ("", "global"):
            parts.append(f'scope="{buffer.scope}"')
        if buffer.data_alignment != _DEFAULT_ALIGNMENT:
            parts.append(f"align={buffer.data_alignment}")
        if buffer.offset_factor != 1:
            parts.append(f"offset_factor={buffer.offset_factor}")
        return f"Buffer({', '.join(parts)})"

    # Expressions

    def exprs(self, items: Iterable[Expr]) -> str:
        """Return expressions with commas between them."""
        return ", ".join([self.expr(item) for item in items])

    @deep
    def expr(self, expr: Expr) -> str:
        """Return the text of an expression; what is beyond ``_MOST_NODES`` is cut."""
        if not self._nodes_left:
            return "..."
        self._nodes_left -= 1
        return self._operation(expr)

    def _operation(self, expr: Expr) -> str:
        match expr:
            case Var():
                return self.var(expr)
            case IntImm():
                return _integer(expr)
            case (
                Add() | Sub() | Mul() | Div() | Mod() | EQ() | NE() | LT() | LE() | GT() | GE() | And() | Or()
            ):  # fmt: skip
                return f"({self.expr(expr.a)}{_INFIX[type(expr)]}{self.expr(expr.b)})"
            case FloorDiv() | FloorMod() | Min() | Max():
                return f"{_PREFIX[type(expr)]}({self.expr(expr.a)}, {self.expr(expr.b)})"
            case BufferLoad():
                return f"{self.buffer(expr.buffer)}[{self.exprs(expr.indices)}]"
            case Call():
                return f"@{expr.op}({self.exprs(expr.args)}, dtype={expr.dtype})"
            case Cast():
                return f"cast({expr.dtype}, {self.expr(expr.value)})"
            case StringImm():
                return _quoted(expr.value)
            case FloatImm():
                return f"{expr.value!r}f{expr.dtype.bits}"
            case _:
                return self._rare_expr(expr)

    def _rare_expr(self, expr: Not | Select | ProducerLoad | Ramp | Broadcast | Let | Reduce) -> str:
        match expr:
            case Not():
                return f"!{self.expr(expr.a)}"
            case Select():
                return f"select({self.exprs((expr.condition, expr.true_value, expr.false_value))})"
            case ProducerLoad():
                return f"{expr.producer.name}[{self.exprs(expr.indices)}]"
            case Ramp():
                return f"ramp({self.expr(expr.base)}, {self.expr(expr.stride)}, {expr.lanes})"
            case Broadcast():
                return f"broadcast({self.expr(expr.value)}, {expr.lanes})"
            case Let():
                value = self.expr(expr.value)
                return f"(let {self.var(expr.var)} = {value} in {self.expr(expr.body)})"
            case Reduce():
                return self._reduce(expr)
            case _:
                assert_never(expr)

    def _reduce(self, expr: Reduce) -> str:
        parts = [
            self._combiner(expr.combiner),
            f"source=[{self.exprs(expr.source)}]",
            f"init=[{self.exprs(expr.init)}]",
            f"axis=[{', '.join(self.axis(axis) for axis in expr.axis)}]",
            f"where={self.expr(expr.condition)}",
            f"value_index={expr.value_index}",
        ]
        return f"reduce({', '.join(parts)})"

    def _combiner(self, combiner: CommReducer) -> str:
        lhs, rhs = self.exprs(combiner.lhs), self.exprs(combiner.rhs)
        result, identity = self.exprs(combiner.result), self.exprs(combiner.identity)
        return f"comm_reducer(result=[{result}], lhs=[{lhs}], rhs=[{rhs}], identity_element=[{identity}])"

    def axis(self, axis: IterVar) -> str:
        """Return the text of an iteration variable."""
        name = self.var(axis.var)
        domain = "(nullptr)" if axis.dom is None else f"[{self._range(axis.dom)}]"
        return f'IterVar({name}, {domain}, "{axis.kind}", "{axis.thread_tag}")'

    def _range(self, domain: Range) -> str:
        low = self.expr(domain.min)
        return f"{low}:{self.expr(domain.min + domain.extent)}"

    def _ranges(self, bounds: Iterable[Range]) -> str:
        return ", ".join([self._range(bound) for bound in bounds])

    # Statements

    def text(self, stmt: Stmt) -> str:
        """Return the text of a statement."""
        self.statement(stmt, "")
        return "\n".join(self.lines) + "\n"

    @deep
    def statement(self, stmt: Stmt, indent: str) -> None:
        """Write the lines of a statement."""
        self._nodes_left = _MOST_NODES
        match stmt:
            case SeqStmt():
                for item in stmt.stmts:
                    self.statement(item, indent)
            case For():
                loop = f"{self.var(stmt.loop_var)}, {self.expr(stmt.min)}, {self.expr(stmt.extent)}"
                bound = f" {_quoted(stmt.thread)}" if stmt.thread else ""
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
                    f"{indent}realize({self.buffer(stmt.buffer)}, [{self._ranges(stmt.bounds)}], "
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
                header = f"{indent}assert({self.expr(stmt.condition)}, {_quoted(stmt.message.value)})"
                self._body(header, "", stmt.body, indent)
            case Block():
                self._block(stmt, indent)
            case While():
                self.lines.append(f"{indent}while {self.expr(stmt.condition)} {{")
                self.statement(stmt.body, indent + "  ")
                self.lines.append(f"{indent}}}")
            case Prefetch():
                self.lines.append(f"{indent}prefetch {self.buffer(stmt.buffer)}[{self._ranges(stmt.bounds)}]")
            case ProducerStore():
                self.lines.append(f"{indent}{stmt.producer.name}[{self.exprs(stmt.indices)}] = {self.expr(stmt.value)}")
            case ProducerRealize():
                self.lines.append(f"{indent}producer_realize {stmt.producer.name}([{self._ranges(stmt.bounds)}]) {{")
                self.statement(stmt.body, indent + "  ")
                self.lines.append(f"{indent}}}")
            case _:
                assert_never(stmt)

    def _block(self, block: Block, indent: str) -> None:
        self.lines.append(f"{indent}block {_quoted(block.name)} {{")
        inner = indent + "  "
        self.lines += [f"{inner}alloc {self.buffer(buffer)}" for buffer in block.alloc_buffers]
        for axis, value in zip(block.iter_vars, block.values, strict=True):
            self.lines.append(f"{inner}{self.axis(axis)} = {self.expr(value)}")
        if not (isinstance(block.predicate, IntImm) and block.predicate.value):
            self.lines.append(f"{inner}where {self.expr(block.predicate)}")
        for word, regions in (("reads", block.reads), ("writes", block.writes)):
            if regions is not None:
                parts = ", ".join(f"{self.buffer(part.buffer)}[{self._ranges(part.region)}]" for part in regions)
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
            self._buffers[buffer] = self._unique(buffer.name)
        params = ", ".join([self.var(param) for param in func.params])
        header = [f"@{func.name} = primfn({params}) -> ()"]
        if func.attrs:
            attrs = ", ".join(f'"{k}": {_attr_value(v)}' for k, v in sorted(func.attrs.items()))
            header.append(f"  attr = {{{attrs}}}")
        if mapped:
            shown = [f"{self._buffers[buffer]}: {self._definition(buffer)}" for _, buffer in mapped]
            header.append(f"  buffers = {{{(',' + chr(10) + ' ' * 13).join(shown)}}}")
            pairs = ", ".join(f"{self._vars[param]}: {self._buffers[buffer]}" for param, buffer in mapped)
            header.append(f"  buffer_map = {{{pairs}}}")
        declared = [(param, func.declared[param]) for param in func.params if param in func.declared]
        if declared:
            pairs = ", ".join(f"{self._vars[param]}: {self.buffer(buffer)}" for param, buffer in declared)
            header.append(f"  preflattened_buffer_map = {{{pairs}}}")
        header[-1] += " {"
        self.lines += header
        self.statement(func.body, "  ")
        self.lines.append("}")
        return "\n".join(self.lines) + "\n"


def _integer(value: IntImm) -> str:
    if value.dtype == INT32:
        return str(value.value)
    if value.dtype == BOOL:
        return "True" if value.value else "False"
    return f"{value.value}{'u' if value.dtype.kind is Kind.UINT else 'i'}{value.dtype.bits}"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def _annotations(notes: Mapping[str, Annotation]) -> str:
    return f"{{{', '.join(f'{_quoted(key)}: {_annotation(value)}' for key, value in notes.items())}}}"


@deep
def _annotation(value: Annotation) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(_annotation, value))}]"
    return _quoted(value) if isinstance(value, str) else repr(value)


def _attr_value(value: str | int | bool) -> str:
    return _quoted(value) if isinstance(value, str) else str(value)
