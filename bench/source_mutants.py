"""Mutation testing: small changes of a module's source, and whether the tests that its docstring names find them.

    python -m bench.source_mutants isa/layout.py isa/encoding.py --count 20 --seed 1
    python -m bench.source_mutants isa --count 3

A mutant has one change: another comparison, another operator, a constant that is one more, ``and`` for ``or``, a
condition that is turned round, an error that is not raised. Its tests run in a copy of the tree, each mutant in a
process of its own; it is killed if they fail or take five times as long. A folder stands for all of its modules.
Printed are each survivor and the score of each module. Tests: tests/bench/test_source_mutants.py.
"""

import argparse
import ast
import copy
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Mutant", "main", "mutants_of", "named_tests"]

ROOT = Path(__file__).resolve().parent.parent
_COPIED = ("isa", "runtime", "vta", "hw", "tests", "bench", "docs", "config", "examples", "pyproject.toml")

_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
_OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.FloorDiv: ast.Mult, ast.LShift: ast.RShift,
    ast.RShift: ast.LShift, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.Mod: ast.FloorDiv,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Mutant:
    """A changed module: its whole ``source``, and the line with the statement that was changed, before and after."""

    line: int
    before: str
    after: str
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
        case ast.Raise():
            return ast.Pass()
        case _:
            return None


def _of_types(node: ast.BinOp) -> bool:
    """Whether an operator joins types or texts, as ``int | None`` does."""
    return isinstance(node.op, ast.BitOr) and any(
        isinstance(side, ast.Constant) and side.value is None for side in (node.left, node.right)
    )


def _places(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield every node of a module that may be changed: none in annotations, docstrings and ``__all__``."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if _changed(node) is not None:
            yield node
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "returns", "decorator_list", "type_params"):
                continue
            waiting += [each for each in (value if isinstance(value, list) else [value]) if isinstance(each, ast.AST)]


def mutants_of(source: str, *, count: int, seed: int) -> list[Mutant]:
    """Return at most ``count`` mutants of a module, drawn by ``seed``; every one compiles."""
    tree = ast.parse(source)
    numbers = list(range(sum(1 for _ in _places(tree))))
    chosen = sorted(random.Random(seed).sample(numbers, min(count, len(numbers))))
    return [_mutant(tree, number) for number in chosen]


def _mutant(tree: ast.Module, number: int) -> Mutant:
    """Return the mutant that changes the node of this number."""
    changed = copy.deepcopy(tree)
    target = next(node for index, node in enumerate(_places(changed)) if index == number)
    replacement = _changed(target)
    assert replacement is not None
    made_of: ast.AST = replacement
    line = getattr(target, "lineno", 0)
    before, after = ast.unparse(target), ast.unparse(replacement)

    class Replace(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> ast.AST:
            return made_of if node is target else self.generic_visit(node)

    made = ast.fix_missing_locations(Replace().visit(changed))
    return Mutant(line, before, after, ast.unparse(made))


def named_tests(module: Path) -> list[str]:
    """Return the files and folders of tests that a module's docstring names."""
    text = ast.get_docstring(ast.parse(module.read_text(encoding="utf-8"))) or ""
    named = re.findall(r"tests/[\w/]*\w(?:\.py)?", text)
    return [name for name in dict.fromkeys(named) if (ROOT / name).exists()]


def _modules(names: Sequence[str]) -> Iterator[Path]:
    for name in names:
        path = ROOT / name
        yield from (sorted(path.rglob("*.py")) if path.is_dir() else [path])


def _passes(folder: Path, tests: Sequence[str], seconds: float) -> bool:
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "0", "-p", "no:cacheprovider", *tests]
    environment = {**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, timeout=seconds, check=False
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def _score(module: Path, folder: Path, options: argparse.Namespace) -> tuple[int, int]:
    """Judge the mutants of one module; return how many were killed, of how many."""
    name, tests = module.relative_to(ROOT).as_posix(), named_tests(module)
    source = module.read_text(encoding="utf-8")
    mutants = mutants_of(source, count=options.count, seed=options.seed)
    if not tests or not mutants:
        print(f"{name:36} {'nothing to change' if tests else 'its docstring names no tests'}", flush=True)
        return 0, 0
    begin = time.monotonic()
    if not _passes(folder, tests, 1200):
        raise SystemExit(f"{name}: its tests fail before anything is changed: {' '.join(tests)}")
    longest = 5 * (time.monotonic() - begin) + 5
    killed = 0
    for mutant in mutants:
        (folder / name).write_text(mutant.source, encoding="utf-8")
        if _passes(folder, tests, longest):
            print(f"  {name}:{mutant.line}: {mutant.before!r} became {mutant.after!r}, and no test of it fails")
        else:
            killed += 1
    (folder / name).write_text(source, encoding="utf-8")
    print(f"{name:36} {killed} of {len(mutants)} killed ({100 * killed / len(mutants):.0f} %)", flush=True)
    return killed, len(mutants)


def main(words: Sequence[str] | None = None) -> int:
    """Judge modules, and return the exit status: 1 if a mutant survived."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("modules", nargs="+", help="files, or folders of them")
    parser.add_argument("--count", type=int, default=10, help="mutants of each module")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(words)
    total = [0, 0]
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        for name in _COPIED:
            source = ROOT / name
            if source.is_dir():
                shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(source, folder / name)
        for module in _modules(options.modules):
            killed, count = _score(module, folder, options)
            total = [total[0] + killed, total[1] + count]
    if total[1]:
        print(f"{total[0]} of {total[1]} killed ({100 * total[0] / total[1]:.1f} %)")
    return 0 if total[0] == total[1] else 1


if __name__ == "__main__":
    sys.exit(main())
