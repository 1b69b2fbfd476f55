"""Expressions as TVMScript. Tests: tests/vta/tir/script/test_round_trip.py."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import assert_never

from isa.errors import VTAError
from vta.tir.buffer import Buffer
from vta.tir.deep import deep
from vta.tir.dtype import BOOL, INT32
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
    Broadcast,
    BufferLoad,
    Call,
    Cast,
    Compare,
    Div,
    Expr,
    FloatImm,
    FloorDiv,
    FloorMod,
    IntImm,
    Let,
    Max,
    Min,
    Mod,
    Mul,
    Not,
    Or,
    ProducerLoad,
    Ramp,
    Reduce,
    Select,
    Shuffle,
    StringImm,
    Sub,
    Var,
    binary,
)

__all__ = ["ScriptPrintError", "expression_text", "quoted"]

_INFIX: dict[type[Binary | Compare], str] = {
    Add: "+", Sub: "-", Mul: "*", FloorDiv: "//", FloorMod: "%", EQ: "==", NE: "!=", LT: "<", LE: "<=", GT: ">",
    GE: ">=", And: "and", Or: "or",
}  # fmt: skip
_FUNCTION: dict[type[Binary | Compare], str] = {Div: "Div", Mod: "truncmod", Min: "min", Max: "max"}


class ScriptPrintError(VTAError, ValueError):
    """A program that has no text in the script."""


def quoted(text: str) -> str:
    """Return a text as a literal of Python."""
    return json.dumps(text)


def expression_text(expr: Expr, name: Callable[[Var | Buffer], str]) -> str:
    """Return the text of ``expr``; ``name`` gives the names of variables and buffers."""

    @deep
    def text(part: Expr) -> str:
        match part:
            case Var():
                return name(part)
            case IntImm():
                return _integer(part)
            case Binary() | Compare():
                a, b = text(part.a), text(part.b)
                if _folds(part):
                    return f"T.{type(part).__name__}({a}, {b})"
                infix = _INFIX.get(type(part))
                return f"T.{_FUNCTION[type(part)]}({a}, {b})" if infix is None else f"({a} {infix} {b})"
            case BufferLoad():
                return f"{name(part.buffer)}[{', '.join(map(text, part.indices)) or '()'}]"
            case Call():
                return _call(part, [text(arg) for arg in part.args])
            case Cast():
                return f'T.cast({text(part.value)}, "{part.dtype}")'
            case FloatImm():
                return f"T.{part.dtype}({_number(part.value)})"
            case StringImm():
                return quoted(part.value)
            case Not():
                return f"(not {text(part.a)})"
            case Select():
                return f"T.Select({text(part.condition)}, {text(part.true_value)}, {text(part.false_value)})"
            case Ramp():
                return f"T.ramp({text(part.base)}, {text(part.stride)}, {part.lanes})"
            case Broadcast():
                return f"T.broadcast({text(part.value)}, {part.lanes})"
            case Shuffle():
                return f"T.Shuffle([{', '.join(map(text, part.vectors))}], {list(part.indices)})"
            case Let():
                return f"T.Let({name(part.var)}, {text(part.value)}, {text(part.body)})"
            case ProducerLoad() | Reduce():
                raise ScriptPrintError(f"{type(part).__name__} has no text in the script; lower the schedule first")
            case _:
                assert_never(part)

    return text(expr)


def _folds(part: Binary | Compare) -> bool:
    """Whether operators would make another node of these operands."""
    constant = any(isinstance(operand, IntImm | Broadcast) for operand in (part.a, part.b))
    return constant and type(binary(type(part), part.a, part.b)) is not type(part)


def _integer(value: IntImm) -> str:
    if value.dtype == BOOL:
        return "True" if value.value else "False"
    if value.dtype == INT32:
        return str(value.value)
    return f"T.{value.dtype}({value.value})"


def _number(value: float) -> str:
    return repr(value) if math.isfinite(value) else quoted(repr(value))


def _call(call: Call, args: list[str]) -> str:
    short = call.op.removeprefix("tir.")
    if "." in short:
        return f"T.call_intrin({', '.join([quoted(str(call.dtype)), quoted(str(call.op)), *args])})"
    return f"T.{short}({', '.join([*args, f'dtype={quoted(str(call.dtype))}'])})"
