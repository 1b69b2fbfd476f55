"""Python processes that the packages start are isolated: they import nothing from where the user happens to be."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("isa", "hw", "runtime", "vta")
OTHER = ("multiprocessing", "concurrent.futures", "os.system", "os.exec", "os.spawn", "os.posix_spawn", "os.popen")
"""What else starts processes, and does not isolate them."""
THREADS = ("concurrent.futures.ThreadPoolExecutor", "concurrent.futures.as_completed")
"""What of these starts none."""


def sources(package: str) -> Iterator[tuple[str, ast.Module]]:
    """Yield the name and the tree of every file of a package."""
    for path in sorted((ROOT / package).rglob("*.py")):
        yield path.relative_to(ROOT).as_posix(), ast.parse(path.read_text(encoding="utf-8"))


def commands(tree: ast.Module) -> Iterator[tuple[int, bool]]:
    """Yield the line of every use of ``sys.executable``, and whether it is the start of an isolated command."""
    isolated = set()
    for node in ast.walk(tree):
        match node:
            case ast.List(elts=[ast.Attribute(attr="executable") as first, ast.Constant(value="-I"), *_]):
                isolated.add(id(first))
            case _:
                continue
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr == "executable":
            yield node.lineno, id(node) in isolated


def starters(tree: ast.Module) -> Iterator[str]:
    """Yield each module or function in a file that could start a process in a way that is not looked at above."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from (name.name for name in names)
            case ast.ImportFrom(module=str(module), names=names):
                yield from (f"{module}.{name.name}" for name in names)
            case ast.Attribute(value=ast.Name(id="os"), attr=name):
                yield f"os.{name}"
            case _:
                continue


@pytest.mark.parametrize("package", PACKAGES)
def test_every_python_process_is_isolated(package: str) -> None:
    found = [f"{name}:{line}" for name, tree in sources(package) for line, isolated in commands(tree) if not isolated]
    assert found == [], "a Python process starts as [sys.executable, '-I', ...]"


@pytest.mark.parametrize("package", PACKAGES)
def test_processes_are_started_by_subprocess_alone(package: str) -> None:
    found = [(name, start) for name, tree in sources(package) for start in starters(tree) if start.startswith(OTHER)]
    assert [(name, start) for name, start in found if start not in THREADS] == []
