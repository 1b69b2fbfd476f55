"""Signals, memories and ports have a statement each: Python 3.13 hides the second name of a statement that sets two.

Amaranth would name the second after something else there, and Verilog would not be the same on every Python.
"""

import ast
from pathlib import Path

HW = Path(__file__).resolve().parents[2] / "hw"
NAMED = ("Signal", "Array", "Memory", "MemoryData", "ClockDomain", "read_port", "write_port")


def makes_named(value: ast.expr) -> bool:
    """Whether an expression makes something that Amaranth names after its variable."""
    match value:
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
            return name in NAMED
        case _:
            return False


def made_together(tree: ast.Module) -> list[int]:
    """Return the lines of statements that set several variables, one of them to something that is named after it."""
    return [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Tuple)
        and isinstance(node.value, ast.Tuple)
        and any(map(makes_named, node.value.elts))
    ]


def test_every_signal_has_a_statement_of_its_own() -> None:
    files = [path for path in HW.rglob("*.py") if "sim" not in path.relative_to(HW).parts]
    assert [f"{path.name}:{line}" for path in files for line in made_together(ast.parse(path.read_text()))] == []


def test_signals_that_are_made_together_are_seen() -> None:
    text = "a, b = Signal(), Signal()\nc = Signal()\nd, e = memory.read_port(), 3\nf, g = 1, int(2)\n"
    assert made_together(ast.parse(text)) == [1, 3]
