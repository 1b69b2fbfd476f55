"""Expressions of TIR in the style of TVM's listings, and the names of variables and buffers in one text.

A variable or buffer shows its type or definition where it first appears; names are made unique with ``_1``, ``_2``.
Tests: tests/vta/tir/test_printer.py.
"""

from __future__ import annotations

from collections.abc import Iterable
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
    Shuffle,
    StringImm,
    Sub,
    Var,
)

__all__ = ["MOST_NODES", "ExpressionPrinter", "quoted"]

_DEFAULT_ALIGNMENT = 64
_INFIX: dict[type[Expr], str] = {
    Add: " + ", Sub: " - ", Mul: "*", Div: " / ", Mod: " % ", EQ: " == ", NE: " != ", LT: " < ", LE: " <= ",
    GT: " > ", GE: " >= ", And: " && ", Or: " || ",
}  # fmt: skip
_PREFIX: dict[type[Expr], str] = {FloorDiv: "floordiv", FloorMod: "floormod", Min: "min", Max: "max"}
MOST_NODES = 1 << 22
"""So much of a statement is printed. Where an expression shares its parts, its text may be far larger than itself."""


class ExpressionPrinter:
    """Names that were given so far, and the functions that write each kind of expression."""

    def __init__(self, *, typed: bool = True) -> None:
        self._typed = typed
        self.vars: dict[Var, str] = {}
        self.buffers: dict[Buffer, str] = {}
        self._taken: set[str] = set()
        self._numbers: dict[str, int] = {}
        self._nodes_left = MOST_NODES

    def begin(self) -> None:
        """Begin a statement: so much of it is printed."""
        self._nodes_left = MOST_NODES

    def unique(self, wanted: str) -> str:
        """Return a name that nothing in the text has yet."""
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
        if var in self.vars:
            return self.vars[var]
        name = self.vars[var] = self.unique(var.name)
        if not self._typed:
            return name
        if var.pointer is None:
            return f"{name}: {var.dtype}"
        scope = "" if var.pointer.scope in ("", "global") else f"{var.pointer.scope} "
        return f"{name}: Pointer({scope}{var.pointer.element})"

    def buffer(self, buffer: Buffer) -> str:
        """Return the name; where the buffer first appears, with its definition."""
        if buffer in self.buffers:
            return self.buffers[buffer]
        name = self.buffers[buffer] = self.unique(buffer.name)
        return f"{name}: {self.definition(buffer)}" if self._typed else name

    def definition(self, buffer: Buffer) -> str:
        """Return what a buffer is made of."""
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
        """Return the text of an expression; what is beyond ``MOST_NODES`` is cut."""
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
                return quoted(expr.value)
            case FloatImm():
                return f"{expr.value!r}f{expr.dtype.bits}"
            case _:
                return self._rare_expr(expr)

    def _rare_expr(self, expr: Not | Select | ProducerLoad | Ramp | Broadcast | Shuffle | Let | Reduce) -> str:
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
            case Shuffle():
                return f"shuffle([{self.exprs(expr.vectors)}], {list(expr.indices)})"
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

    def ranges(self, bounds: Iterable[Range]) -> str:
        """Return ranges with commas between them."""
        return ", ".join([self._range(bound) for bound in bounds])


def _integer(value: IntImm) -> str:
    if value.dtype == INT32:
        return str(value.value)
    if value.dtype == BOOL:
        return "True" if value.value else "False"
    return f"{value.value}{'u' if value.dtype.kind is Kind.UINT else 'i'}{value.dtype.bits}"


def quoted(text: str) -> str:
    """Return a text in quotes."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
