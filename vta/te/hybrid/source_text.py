"""Lowered programs as the text of a hybrid script, which Python and this compiler read.

Tests: tests/vta/te/hybrid/test_module.py.
"""

from __future__ import annotations

import keyword
import math
import re
from collections.abc import Mapping, Sequence

from vta.te.hybrid.emulation import HYBRID_GLOBALS
from vta.te.hybrid.errors import HybridError
from vta.tir.buffer import Buffer
from vta.tir.deep import deep
from vta.tir.expr import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    Add,
    And,
    Binary,
    BufferLoad,
    Builtin,
    Call,
    Cast,
    Compare,
    Div,
    Expr,
    FloatImm,
    FloorDiv,
    FloorMod,
    IntImm,
    Max,
    Min,
    Mul,
    Not,
    Or,
    Select,
    Sub,
    Var,
)
from vta.tir.func import PrimFunc
from vta.tir.stmt import (
    AssertStmt,
    AttrKey,
    AttrStmt,
    BufferRealize,
    BufferStore,
    Evaluate,
    For,
    ForKind,
    IfThenElse,
    LetStmt,
    SeqStmt,
    Stmt,
    is_noop,
)

__all__ = ["source_text"]

_LOOPS = {
    ForKind.SERIAL: "range", ForKind.PARALLEL: "parallel", ForKind.VECTORIZED: "vectorize", ForKind.UNROLLED: "unroll",
}  # fmt: skip
_SYMBOLS: Mapping[type[Binary | Compare], str] = {
    Add: "+", Sub: "-", Mul: "*", FloorDiv: "//", FloorMod: "%", EQ: "==", NE: "!=", LT: "<", LE: "<=", GT: ">",
    GE: ">=", And: "and", Or: "or",
}  # fmt: skip
_CALLS = {
    Builtin.SHIFT_LEFT: "<<", Builtin.SHIFT_RIGHT: ">>", Builtin.BITWISE_AND: "&", Builtin.BITWISE_OR: "|",
    Builtin.BITWISE_XOR: "^",
}  # fmt: skip


def source_text(func: PrimFunc, name: str, inputs: Sequence[Var], outputs: Sequence[Var]) -> str:
    """Return the text of a function ``name`` of parameters ``inputs`` that returns the buffers of ``outputs``."""
    writer = _Writer(func)
    parameters = [writer.name(func.buffer_map.get(param, param)) for param in inputs]
    writer.lines.append(f"def {name}({', '.join(parameters)}):")
    results = [func.buffer_map[param] for param in outputs]
    for buffer in results:
        writer.memory("output_tensor", buffer, "    ")
    writer.statement(func.body, "    ")
    writer.lines.append(f"    return {', '.join(writer.name(buffer) for buffer in results)}")
    return "\n".join(writer.lines) + "\n"


class _Writer:
    """The lines so far, and the names that variables and buffers have in them."""

    def __init__(self, func: PrimFunc) -> None:
        self.lines: list[str] = []
        self._func = func
        self._names: dict[Var | Buffer, str] = {}
        self._taken = {*HYBRID_GLOBALS, *keyword.kwlist}

    def name(self, item: Var | Buffer) -> str:
        """Return the name of ``item``, a new one where it comes first."""
        if item not in self._names:
            base = re.sub(r"\W", "_", item.name) or "v"
            base = f"v{base}" if base[0].isdigit() else base
            name, number = base, 0
            while name in self._taken:
                number += 1
                name = f"{base}_{number}"
            self._taken.add(name)
            self._names[item] = name
        return self._names[item]

    def memory(self, word: str, buffer: Buffer, indent: str) -> None:
        """Write that ``buffer`` begins to exist."""
        sizes = "".join(f"{self.expr(size)}, " for size in buffer.shape)
        self.lines.append(f'{indent}{self.name(buffer)} = {word}(({sizes.rstrip()}), "{buffer.dtype}")')

    @deep
    def statement(self, stmt: Stmt, indent: str) -> None:
        """Write a statement."""
        match stmt:
            case SeqStmt():
                for part in stmt.stmts:
                    self.statement(part, indent)
            case Evaluate() if is_noop(stmt):
                pass
            case BufferStore():
                target = f"{self.name(stmt.buffer)}[{self._exprs(stmt.indices)}]"
                self.lines.append(f"{indent}{target} = {self.expr(stmt.value)}")
            case For():
                ends = [stmt.min, stmt.min + stmt.extent] if _is_nonzero(stmt.min) else [stmt.extent]
                header = f"for {self.name(stmt.loop_var)} in {_LOOPS[stmt.kind]}({self._exprs(ends)}):"
                self._inside(header, stmt.body, indent)
            case IfThenElse():
                self._inside(f"if {self.expr(stmt.condition)}:", stmt.then_case, indent)
                if stmt.else_case is not None:
                    self._inside("else:", stmt.else_case, indent)
            case BufferRealize():
                if not any(stmt.buffer is own for own in self._func.buffer_map.values()):
                    self.memory("allocate", stmt.buffer, indent)
                self.statement(stmt.body, indent)
            case LetStmt():
                self.lines.append(f"{indent}{self.name(stmt.var)} = {self.expr(stmt.value)}")
                self.statement(stmt.body, indent)
            case AssertStmt():
                self.lines.append(f"{indent}assert {self.expr(stmt.condition)}, {stmt.message.value!r}")
                self.statement(stmt.body, indent)
            case AttrStmt() if stmt.key not in (AttrKey.THREAD_EXTENT, AttrKey.VIRTUAL_THREAD):
                self.statement(stmt.body, indent)
            case _:
                raise HybridError(f"hybrid.build: a {type(stmt).__name__} has no text as hybrid script")

    def _inside(self, header: str, body: Stmt, indent: str) -> None:
        self.lines.append(indent + header)
        count = len(self.lines)
        self.statement(body, indent + "    ")
        if len(self.lines) == count:
            self.lines.append(f"{indent}    pass")

    def _exprs(self, exprs: Sequence[Expr]) -> str:
        return ", ".join(self.expr(expr) for expr in exprs)

    @deep
    def expr(self, expr: Expr) -> str:
        """Return the text of an expression, with all its brackets."""
        match expr:
            case Var():
                return self.name(expr)
            case IntImm() | FloatImm():
                return _number(expr)
            case Min() | Max():
                return f"{'min' if isinstance(expr, Min) else 'max'}({self.expr(expr.a)}, {self.expr(expr.b)})"
            case Div() if expr.dtype.is_float:
                return f"({self.expr(expr.a)} / {self.expr(expr.b)})"
            case Binary() | Compare() if type(expr) in _SYMBOLS:
                return f"({self.expr(expr.a)} {_SYMBOLS[type(expr)]} {self.expr(expr.b)})"
            case Not():
                return f"(not {self.expr(expr.a)})"
            case Cast():
                return f"{expr.dtype}({self.expr(expr.value)})"
            case Select():
                return self._choice(expr.condition, expr.true_value, expr.false_value)
            case Call(op=Builtin.IF_THEN_ELSE, args=(condition, first, second)):
                return self._choice(condition, first, second)
            case Call(args=(a, b)) if expr.op in _CALLS:
                return f"({self.expr(a)} {_CALLS[expr.op]} {self.expr(b)})"
            case Call() if _word(expr.op) in HYBRID_GLOBALS:
                return f"{_word(expr.op)}({self._exprs(expr.args)})"
            case BufferLoad():
                return f"{self.name(expr.buffer)}[{self._exprs(expr.indices)}]"
            case _:
                raise HybridError(f"hybrid.build: {expr} has no text as hybrid script")

    def _choice(self, condition: Expr, first: Expr, second: Expr) -> str:
        return f"({self.expr(first)} if {self.expr(condition)} else {self.expr(second)})"


def _word(op: Builtin) -> str:
    word = str(op.value).removeprefix("tir.")
    return {"pow": "power", "fabs": "abs"}.get(word, word)


def _is_nonzero(low: Expr) -> bool:
    return not (isinstance(low, IntImm) and low.value == 0)


def _number(value: IntImm | FloatImm) -> str:
    if value.dtype == "bool":
        return str(bool(value.value))
    if isinstance(value, FloatImm) and not math.isfinite(value.value):
        raise HybridError(f"hybrid.build: {value} has no text as hybrid script")
    text = repr(value.value)
    return text if value.dtype in ("int32", "float32") else f"{value.dtype}({text})"
