"""Mutants of source: a module's syntax tree with one thing changed, a thing that its tests should notice.

Changed are comparisons, operators, integers, truth values, ``and`` and ``or``, ``not``, and ``raise``. Left alone is
what says nothing of behaviour: annotations, decorators, docstrings, ``assert`` and ``raise AssertionError`` (what
cannot happen), and ``strict=True`` of ``zip``, which is an assertion. Tests: tests/bench/test_source_mutants.py.
"""

import ast
import random
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["Mutant", "Place", "drawn", "mutant", "places"]

_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
_OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.FloorDiv: ast.Mult, ast.LShift: ast.RShift,
    ast.RShift: ast.LShift, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.Mod: ast.FloorDiv,
}  # fmt: skip
_SAID = ("annotation", "returns", "decorator_list", "type_params")
"""Fields of nodes that say something and do nothing."""


@dataclass(frozen=True, slots=True)
class Place:
    """Something in a module that can be changed: its ``number``, and the ``function`` in whose body it stands.

    A function is known by its name, with those around it (``Layout.encode``), and the line on which its code begins;
    None is what runs when the module is imported.
    """

    number: int
    line: int
    function: tuple[str, int] | None


@dataclass(frozen=True, slots=True)
class Mutant:
    """A module with one change: the line with it, the expression before and after, the changed tree and its text."""

    line: int
    before: str
    after: str
    tree: ast.Module
    source: str


def _changed(node: ast.AST) -> ast.AST | None:
    """Return what stands in place of a node in a mutant, None if it is left alone."""
    match node:
        case ast.Compare(ops=[only]) if type(only) in _COMPARISONS:
            return ast.Compare(node.left, [_COMPARISONS[type(only)]()], node.comparators)
        case ast.BinOp(op=operator) if type(operator) in _OPERATORS and not _of_types(node):
            return ast.BinOp(node.left, _OPERATORS[type(operator)](), node.right)
        case ast.BoolOp(op=ast.And()):
            return ast.BoolOp(ast.Or(), node.values)
        case ast.BoolOp(op=ast.Or()):
            return ast.BoolOp(ast.And(), node.values)
        case ast.UnaryOp(op=ast.Not()):
            return node.operand
        case ast.Constant(value=bool() as value):
            return ast.Constant(not value)
        case ast.Constant(value=int() as number):
            return ast.Constant(number + 1)
        case ast.Raise() if not _cannot_happen(node):
            return ast.Pass()
        case _:
            return None


def _cannot_happen(node: ast.Raise) -> bool:
    return "AssertionError" in ast.unparse(node)


def _of_types(node: ast.BinOp) -> bool:
    """Whether an operator joins types or texts, as ``int | None`` does."""
    return isinstance(node.op, ast.BitOr) and any(
        isinstance(side, ast.Constant) and side.value is None for side in (node.left, node.right)
    )


def _left_alone(node: ast.AST) -> bool:
    """Whether nothing in a node is changed: what is asserted."""
    return isinstance(node, ast.Assert) or (isinstance(node, ast.keyword) and node.arg == "strict")


_Within = tuple[ast.AST, str, tuple[str, int] | None]
"""A node, the names of what it stands in, and the function in whose body it does."""


def _walk(tree: ast.Module) -> Iterator[tuple[ast.AST, tuple[str, int] | None]]:
    """Yield every node that may be changed, and the function that it belongs to."""
    waiting: list[_Within] = [(tree, "", None)]
    while waiting:
        node, names, function = waiting.pop()
        if _left_alone(node):
            continue
        if _changed(node) is not None:
            yield node, function
        for name, value in ast.iter_fields(node):
            if name not in _SAID:
                inside = _inside(node, name, names, function)
                parts = value if isinstance(value, list) else [value]
                waiting += [(each, *inside) for each in parts if isinstance(each, ast.AST)]


def _inside(
    node: ast.AST, field: str, names: str, function: tuple[str, int] | None
) -> tuple[str, tuple[str, int] | None]:
    """Return the names and the function of what stands in one field of a node."""
    match node, field:
        case ast.FunctionDef() | ast.AsyncFunctionDef(), "body":
            first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
            named = names + node.name
            return f"{named}.<locals>.", (named, first)
        case ast.ClassDef(), "body":
            return f"{names}{node.name}.", function
        case _:
            return names, function


def places(source: str) -> list[Place]:
    """Return everything in a module that can be changed, in the order of their numbers."""
    found = enumerate(_walk(ast.parse(source)))
    return [Place(number, getattr(node, "lineno", 0), function) for number, (node, function) in found]


def mutant(source: str, number: int) -> Mutant:
    """Return the mutant that changes the thing of this number."""
    changed = ast.parse(source)
    target = next(node for index, (node, _) in enumerate(_walk(changed)) if index == number)
    replacement = _changed(target)
    assert replacement is not None
    made_of: ast.AST = ast.copy_location(replacement, target)
    before, after = ast.unparse(target), ast.unparse(replacement)

    class Replace(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> Any:
            return made_of if node is target else self.generic_visit(node)

    made: ast.Module = ast.fix_missing_locations(Replace().visit(changed))
    return Mutant(getattr(target, "lineno", 0), before, after, made, _text(source, target, after, made))


def _text(source: str, target: ast.AST, after: str, tree: ast.Module) -> str:
    """Return the source with one expression or statement replaced, its lines and comments as they were."""
    segment = ast.get_source_segment(source, target, padded=False)
    lines = source.splitlines(keepends=True)
    if segment is not None and isinstance(target, ast.expr | ast.stmt):
        before = "".join(lines[: target.lineno - 1]) + _upto(lines[target.lineno - 1], target.col_offset)
        put = after if isinstance(target, ast.stmt) else f"({after})"
        made = before + put + source[len(before) + len(segment) :]
        with suppress(SyntaxError):
            if ast.dump(ast.parse(made)) == ast.dump(tree):
                return made
    return ast.unparse(tree)  # inside an f-string, whose parts have no places in Python 3.11


def _upto(line: str, offset: int) -> str:
    """Return the first ``offset`` bytes of a line."""
    return line.encode()[:offset].decode()


def drawn(modules: Sequence[Path], *, count: int, seed: int) -> list[tuple[Path, Place]]:
    """Return at most ``count`` places of all modules together, each as likely as any other, drawn by ``seed``."""
    every = [(path, place) for path in modules for place in places(path.read_text(encoding="utf-8"))]
    chosen = sorted(random.Random(seed).sample(range(len(every)), min(count, len(every))))
    return [every[number] for number in chosen]
