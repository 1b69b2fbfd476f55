"""Graphs to text; see ``vta.relay.text``."""

from dataclasses import dataclass, field, fields
from typing import TypeAlias, assert_never

from runtime.executor.operators.names import Op
from runtime.executor.operators.types import Array
from vta.relay.ir.module import IRModule
from vta.relay.ir.nodes import (
    Call,
    Callee,
    Constant,
    Expr,
    Function,
    FunctionAttrs,
    GlobalVar,
    Let,
    Tuple,
    TupleGetItem,
    Var,
)
from vta.relay.ir.origin import Origin
from vta.relay.ir.traverse import post_order
from vta.relay.ops.lets import bindings
from vta.relay.text.words import array_text, attribute_text, name_text, type_text, value_text

__all__ = ["Printable", "text_and_constants", "to_text"]

Printable: TypeAlias = IRModule | Function | Expr

_WRITTEN_OUT = 8
"""Elements that a constant may have to be written into the text."""


def to_text(given: Printable) -> str:
    """Return a module, a function or an expression as text."""
    return text_and_constants(given)[0]


def text_and_constants(given: Printable) -> tuple[str, tuple[Array, ...]]:
    """Return the text, and the arrays that its ``#0``, ``#1``, ... stand for."""
    pool = _Pool()
    match given:
        case IRModule():
            parts = [_function(f"def @{name_text(name)}", each, pool) for name, each in given.functions.items()]
            text = "\n\n".join("\n".join(lines) for lines in parts)
        case Function():
            text = "\n".join(_function("fn ", given, pool))
        case _:
            text = "\n".join(_Body(pool).lines(given))
    return text, tuple(each.value for each in pool.numbers)


@dataclass(slots=True)
class _Pool:
    """The numbers of large constants, in the order in which they are printed."""

    numbers: dict[Constant, int] = field(default_factory=dict)

    def text(self, constant: Constant) -> str:
        dims = f"[{', '.join(str(dim) for dim in constant.type.shape)}]" if constant.type.rank else ""
        if constant.value.size <= _WRITTEN_OUT:
            content = array_text(constant.value)
        else:
            content = f"#{self.numbers.setdefault(constant, len(self.numbers))}"
        name = f", {value_text(constant.name)}" if constant.name else ""
        return f"const<{constant.type.dtype}{dims}>({content}{name})"


def _function(head: str, function: Function, pool: _Pool) -> list[str]:
    """Return the lines of a function; ``head`` is what stands before its attributes and parameters."""
    body = _Body(pool)
    params = ", ".join(f"{body.define(param)}: {type_text(param.type)}" for param in function.params)
    lines = [f"  {line}" for line in body.lines(function.body)]
    start = f"{head}{_function_attributes(function.attrs)}({params}) -> {type_text(function.type)} {{"
    return [start, *lines, "}"]


def _function_attributes(attrs: FunctionAttrs) -> str:
    given = [(each.name, getattr(attrs, each.name)) for each in fields(attrs)]
    shown = [f"{name}={value_text(value)}" for name, value in given if value]
    return f"[{', '.join(shown)}]" if shown else ""


@dataclass(slots=True)
class _Body:
    """The text of one function's body: the names of its variables and the numbers of its nodes."""

    pool: _Pool
    names: dict[Expr, str] = field(default_factory=dict)
    taken: set[str] = field(default_factory=set)
    count: int = 0

    def define(self, var: Var) -> str:
        """Return the name of ``var``, which no other variable has."""
        name, tries = var.name, 0
        while name in self.taken:
            tries += 1
            name = f"{var.name}_{tries}"
        self.taken.add(name)
        self.names[var] = f"%{name_text(name)}"
        return self.names[var]

    def lines(self, root: Expr) -> list[str]:
        """Return a line for every node and let, and the name of the result."""
        flat = bindings(root)
        found: list[str] = []
        for var, value in flat.bound:
            found += self._statements(value)
            value_name = self.name(value)
            found.append(f"let {self.define(var)}: {type_text(var.type)} = {value_name};")
        return [*found, *self._statements(flat.result), self.name(flat.result)]

    def _statements(self, root: Expr) -> list[str]:
        return [line for expr in post_order(root) if expr not in self.names for line in self._statement(expr)]

    def name(self, expr: Expr) -> str:
        """Return how ``expr`` is referred to."""
        match expr:
            case Constant():
                return self.pool.text(expr)
            case Var() if expr not in self.names:
                return self.define(expr)
            case _:
                return self.names[expr]

    def _statement(self, expr: Expr) -> list[str]:
        match expr:
            case Var() | Constant():
                return []
            case Call():
                return self._call(expr)
            case Tuple():
                inner = ", ".join(self.name(each) for each in expr.fields)
                return [f"{self._number(expr)} = ({inner}{',' if len(expr.fields) == 1 else ''});"]
            case TupleGetItem():
                value = self.name(expr.value)
                return [f"{self._number(expr)} = {value}[{expr.index}];"]
            case Let():
                raise AssertionError("lets are bindings")
            case _:
                assert_never(expr)

    def _number(self, expr: Expr) -> str:
        """Give ``expr`` the next number; return what its line begins with."""
        self.names[expr] = f"%{self.count}"
        self.count += 1
        return f"{self.names[expr]}: {type_text(expr.type)}"

    def _call(self, call: Call) -> list[str]:
        inputs = [self.name(arg) for arg in call.args]
        tail = f"({', '.join([*inputs, *attribute_text(call.attrs)])}){_origins(call.origins)};"
        start, *rest = _callee(call.callee, self.pool)
        lines = [f"{self._number(call)} = {start}", *rest]
        return [*lines[:-1], lines[-1] + tail]


def _callee(callee: Callee, pool: _Pool) -> list[str]:
    match callee:
        case Op():
            return [callee.value]
        case GlobalVar():
            return [f"@{name_text(callee.name)}"]
        case Function():
            return _function("fn ", callee, pool)


def _origins(origins: tuple[Origin, ...]) -> str:
    if not origins:
        return ""
    named = [
        f"{name_text(each.operator)} {value_text(each.name)}" if each.operator else value_text(each.name)
        for each in origins
    ]
    return f" from {', '.join(named)}"
