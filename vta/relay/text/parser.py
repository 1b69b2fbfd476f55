"""Text to graphs: reads what the printer writes. Printing, parsing and printing again gives the same text.

Types are inferred, and must be those of the text. A graph may come from a stranger: whatever is wrong with it is a
``TextError`` that names the line. Tests: tests/vta/relay/text/test_parser.py.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from runtime.executor.operators.attribute_values import made
from runtime.executor.operators.attributes import NO_ATTRS
from runtime.executor.operators.names import Op
from runtime.executor.operators.table import operator
from runtime.executor.operators.types import Array, Type
from vta.relay.ir.module import IRModule
from vta.relay.ir.nodes import Call, Expr, Function, FunctionAttrs, GlobalVar, Let, Tuple, TupleGetItem, Var
from vta.relay.ir.origin import Origin
from vta.relay.ops.call import call, call_function
from vta.relay.text.lexer import Kind, TextError
from vta.relay.text.reader import Reader, Value
from vta.relay.text.words import type_text

__all__ = ["parse_function", "parse_module"]


def parse_module(text: str, constants: Sequence[Array] = ()) -> IRModule:
    """Return the module that ``text`` describes; ``constants`` are what its ``#0``, ``#1``, ... stand for.

    Raises ``TextError``.
    """
    parser = _Parser(Reader(text, constants))
    functions: dict[str, Function] = {}
    while parser.reader.now.kind is not Kind.END:
        line = parser.reader.now.line
        parser.reader.expect("def")
        parser.reader.expect("@")
        name = parser.reader.name("the name of a function")
        if name in functions:
            raise TextError(line, f"function @{name} is defined twice")
        functions[name] = parser.function()
    parser.check_globals(functions)
    return IRModule(functions)


def parse_function(text: str, constants: Sequence[Array] = ()) -> Function:
    """Return the function that ``text``, which begins with ``fn``, describes; see ``parse_module``."""
    parser = _Parser(Reader(text, constants))
    parser.reader.expect("fn")
    function = parser.function()
    if parser.reader.now.kind is not Kind.END:
        parser.reader.fail("nothing behind the function")
    parser.check_globals({})
    return function


@dataclass(slots=True)
class _Scope:
    """What has a name in one function: variables, and nodes by number; and its lets so far."""

    variables: dict[str, Var] = field(default_factory=dict)
    nodes: dict[int, Expr] = field(default_factory=dict)
    lets: list[tuple[Var, Expr]] = field(default_factory=list)


class _Parser:
    """Reads functions."""

    def __init__(self, reader: Reader) -> None:
        self.reader = reader
        self._globals: list[tuple[int, Call]] = []

    def check_globals(self, functions: dict[str, Function]) -> None:
        """Raise ``TextError`` unless every function that is called by name is there, and of the types of its calls."""
        for line, node in self._globals:
            assert isinstance(node.callee, GlobalVar)
            name = node.callee.name
            if name not in functions:
                raise TextError(line, f"there is no function @{name}")
            expected = self.reader.refusing(line, lambda: call_function(functions[name], node.args))  # noqa: B023
            self._require_type(line, node.type, expected.type)

    def function(self) -> Function:
        """Return a function, from its attributes or parameters on."""
        return self.reader.nested(self._function)

    def _function(self) -> Function:
        reader, scope = self.reader, _Scope()
        attrs = self._function_attributes()
        reader.expect("(")
        params = reader.listed(lambda: self._definition(scope), ")")
        reader.expect("->")
        line, result = reader.now.line, reader.type()
        reader.expect("{")
        body = self._body(scope)
        reader.expect("}")
        self._require_type(line, result, body.type)
        return Function(tuple(params), body, attrs)

    def _function_attributes(self) -> FunctionAttrs:
        line = self.reader.now.line
        values = dict(self.reader.listed(self._attribute, "]")) if self.reader.accept("[") else {}
        return self.reader.refusing(line, lambda: made(FunctionAttrs, values))

    def _attribute(self) -> tuple[str, Value]:
        name = self.reader.name("the name of an attribute")
        self.reader.expect("=")
        return name, self.reader.value()

    def _definition(self, scope: _Scope) -> Var:
        """Return a new variable: ``%x: Tensor[(1,), int8]``."""
        reader, line = self.reader, self.reader.now.line
        reader.expect("%")
        name = reader.name("the name of a variable")
        if name in scope.variables:
            raise TextError(line, f"the variable %{name} is defined twice")
        reader.expect(":")
        scope.variables[name] = Var(name, reader.type())
        return scope.variables[name]

    # --- bodies ------------------------------------------------------------------------------------------------------

    def _body(self, scope: _Scope) -> Expr:
        """Return the result of the statements up to ``}``, within its lets."""
        while True:
            if self.reader.accept("let"):
                line, var = self.reader.now.line, self._definition(scope)
                self.reader.expect("=")
                value = self._operand(scope)
                self._require_type(line, var.type, value.type)
                scope.lets.append((var, value))
            elif self.reader.now.text == "%" and self.reader.behind(1).kind is Kind.NUMBER and self._is_statement():
                self._statement(scope)
            else:
                break
            self.reader.expect(";")
        result = self._operand(scope)
        for var, value in reversed(scope.lets):
            result = Let(var, value, result)
        return result

    def _is_statement(self) -> bool:
        return self.reader.behind(2).text == ":"

    def _statement(self, scope: _Scope) -> None:
        """Read ``%3: Tensor[(1,), int8] = nn.relu(%2)``."""
        reader, line = self.reader, self.reader.now.line
        reader.expect("%")
        number = reader.integer()
        if number in scope.nodes:
            raise TextError(line, f"%{number} is defined twice")
        reader.expect(":")
        given = reader.type()
        reader.expect("=")
        node = self._node(scope, given)
        self._require_type(line, given, node.type)
        scope.nodes[number] = node

    def _require_type(self, line: int, given: Type, inferred: Type) -> None:
        if given != inferred:
            raise TextError(line, f"the type is {type_text(inferred)}, and the text says {type_text(given)}")

    def _operand(self, scope: _Scope) -> Expr:
        """Return a constant, or what has a number or a name."""
        reader, line = self.reader, self.reader.now.line
        if reader.accept("const"):
            return reader.constant()
        reader.expect("%")
        if reader.now.kind is Kind.NUMBER:
            number = reader.integer()
            if number not in scope.nodes:
                raise TextError(line, f"%{number} is not defined before")
            return scope.nodes[number]
        name = reader.name("a name or a number")
        if name not in scope.variables:
            raise TextError(line, f"the variable %{name} is not defined before")
        return scope.variables[name]

    # --- nodes -------------------------------------------------------------------------------------------------------

    def _node(self, scope: _Scope, given: Type) -> Expr:
        """Return what stands behind ``=``; ``given`` is its type according to the text."""
        reader, line = self.reader, self.reader.now.line
        if reader.accept("("):
            return Tuple(tuple(reader.listed(lambda: self._operand(scope), ")")))
        if reader.now.text in ("%", "const"):
            value = self._operand(scope)
            reader.expect("[")
            index = reader.integer()
            reader.expect("]")
            return reader.refusing(line, lambda: TupleGetItem(value, index))
        if reader.accept("fn"):
            function = self.function()
            args, _ = self._arguments(scope)
            origins = self._origins()
            return reader.refusing(line, lambda: call_function(function, args, origins))
        if reader.accept("@"):
            name = GlobalVar(reader.name("the name of a function"))
            args, _ = self._arguments(scope)
            node = Call(name, tuple(args), NO_ATTRS, given, self._origins())
            self._globals.append((line, node))
            return node
        return self._operator(scope)

    def _operator(self, scope: _Scope) -> Call:
        """Return the call of an operator: ``nn.conv2d(%0, const<int8>(1), strides=(2, 2)) from Conv "conv1"``."""
        reader, line = self.reader, self.reader.now.line
        name = reader.take()
        if name.text not in list(Op):
            raise TextError(line, f"there is no operator {name.text}")
        op = Op(name.text)
        args, values = self._arguments(scope)
        attrs = reader.refusing(line, lambda: made(operator(op).attrs_type, values))
        origins = self._origins()
        return reader.refusing(line, lambda: call(op, args, attrs, origins))

    def _arguments(self, scope: _Scope) -> tuple[list[Expr], dict[str, Value]]:
        """Return operands, and the attributes behind them by name, of what stands in parentheses."""
        self.reader.expect("(")
        operands: list[Expr] = []
        attributes: dict[str, Value] = {}

        def one() -> None:
            if self.reader.now.text in ("%", "const"):
                operands.append(self._operand(scope))
            else:
                name, value = self._attribute()
                attributes[name] = value

        self.reader.listed(one, ")")
        return operands, attributes

    def _origins(self) -> tuple[Origin, ...]:
        found: list[Origin] = []
        if self.reader.accept("from"):
            found.append(self._origin())
            while self.reader.accept(","):
                found.append(self._origin())
        return tuple(found)

    def _origin(self) -> Origin:
        """Return ``Conv "conv1"``, or a name alone; an operator whose name is no word is a string, too."""
        first = self.reader.name("the operator or the name of an origin")
        if self.reader.now.kind is Kind.STRING:
            return Origin(self.reader.string(), first)
        return Origin(first)
