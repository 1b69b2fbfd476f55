"""Every recursion of the compiler goes as deep as the program, or is as deep as something else is long."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
FOLDERS = ("vta/tir", "vta/arith", "vta/te", "vta/passes", "vta/codegen")

BOUNDED = {  # a name counts for whatever has it
    "vta/arith/comparison.py": "compare: > is < the other way round, once",
    "vta/arith/const_bounds.py": "decide: > is < the other way round, once",
    "vta/arith/const_interval.py": "arithmetic of intervals: an unbounded side is dealt with once",
    "vta/arith/division.py": "each step has a smaller divisor",
    "vta/tir/script/words.py": "prim_func: it is the parser's",
    "vta/te/group.py": "compute_at: of a group, it is that of each stage",
    "vta/arith/tvm_analyzer.py": "methods that use the functions and the base class's methods of their names",
    "vta/arith/simplify.py": "const_bounds: a function of that name",
    "vta/codegen/intrinsics.py": "half precision is computed in single precision, once",
    "vta/codegen/llvm_types.py": "the element of a vector's type",
    "vta/codegen/module.py": "streams: an attribute of that name",
    "runtime/evaluator.py": "functions of Python of these names",
    "vta/codegen/wrapping_indices.py": "the element of a vector's type",
    "vta/passes/dma/inject_dma_intrin.py": "_transfer: a copy in a synchronisation, once",
    "vta/passes/gemm/fold_uop_loop.py": "_fold: two loops",
    "vta/passes/storage/storage_flatten.py": "expr: variables of that name",
    "vta/passes/sync/barriers.py": "relaxed: a function of that name",
    "vta/te/hybrid/parser.py": "_argument: lists in arguments",
    "vta/te/hybrid/script.py": "lists in arguments",
    "vta/te/hybrid/source_text.py": "names of variables",
    "vta/te/stage.py": "names of variables",
    "vta/tir/expr/coercion.py": "numbers of numpy become numbers, once",
    "vta/tir/expr/own_intrinsic.py": "decorators, once; rule: a method and an argument of that name",
    "vta/tir/expr/nodes.py": "_hashable: a tuple in a field",
    "vta/tir/func.py": "items: functions of dictionaries",
    "vta/tir/interpreter/expressions.py": "index: variables of that name",
    "vta/tir/ir_builder.py": "likely: a function of that name",
    "vta/tir/json_text.py": "nodes are a table; what is left is tuples in fields",
    "vta/tir/expression_printer.py": "the shape of a buffer, where it is defined",
    "vta/tir/printer.py": "to_text: the functions of a module",
    "vta/tir/schedule/schedule.py": "primitives that use others",
    "vta/tir/schedule/trace.py": "lists in arguments",
    "vta/tir/stmt_functor.py": "substitute: a function of that name",
}
"""Modules with a recursion that is not marked, and what bounds it."""


def unmarked(path: Path) -> list[str]:
    """Return the functions that call themselves, by way of others too, without one that is marked ``@deep``."""
    functions = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.FunctionDef)]
    names = {function.name for function in functions if not function.name.startswith("__")}
    marked = {f.name for f in functions if any(isinstance(d, ast.Name) and d.id == "deep" for d in f.decorator_list)}
    calls: dict[str, set[str]] = {name: set() for name in names - marked}
    for function in functions:
        if function.name in calls:
            calls[function.name] |= _named(function) & calls.keys()
    return sorted(name for name in calls if name in _reached(name, calls))


def _named(function: ast.FunctionDef) -> set[str]:
    """Return the functions that ``function`` calls or hands on, by name."""
    calls = [node.func for node in ast.walk(function) if isinstance(node, ast.Call)]
    called = {func.attr for func in calls if isinstance(func, ast.Attribute)}
    own = {n.attr for n in ast.walk(function) if isinstance(n, ast.Attribute) and ast.unparse(n.value) == "self"}
    return called | own | {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}


def _reached(name: str, calls: dict[str, set[str]]) -> set[str]:
    found: set[str] = set()
    work = list(calls[name])
    while work:
        other = work.pop()
        if other not in found:
            found.add(other)
            work += calls[other]
    return found


@pytest.mark.parametrize("path", [p for folder in FOLDERS for p in sorted((ROOT / folder).rglob("*.py"))], ids=str)
def test_a_recursion_is_marked_or_bounded(path: Path) -> None:
    name = path.relative_to(ROOT).as_posix()
    assert unmarked(path) == [] or name in BOUNDED, f"{name}: mark one of {unmarked(path)} with @deep (vta/tir/deep.py)"


@pytest.mark.parametrize("name", BOUNDED)
def test_the_bounded_ones_are_there(name: str) -> None:
    assert unmarked(ROOT / name) != []
