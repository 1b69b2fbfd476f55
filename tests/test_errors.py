"""What the packages raise is ours: one base class, and no error of Python's own where a user could see it."""

import ast
import builtins
from pathlib import Path

import pytest

from docs.make_pages.errors_page import PACKAGES, error_classes
from isa.config import ConfigError
from isa.errors import VTAError
from runtime.devices.device import DeviceError
from runtime.memory.device_memory import DeviceMemoryError
from vta.codegen.arguments import ArgumentError

ROOT = Path(__file__).resolve().parents[1]

PROTOCOLS = {
    "AssertionError": "what cannot happen",
    "NotImplementedError": "what a class leaves to those that derive from it",
    "AttributeError": "what Python expects of __getattr__ and __setattr__",
    "KeyError": "what Python expects of a look-up by name",
    "OSError": "the system's own, with the name of the file that it left out",
    "SystemExit": "the end of a command",
    "StopIteration": "what Python expects of __next__",
}
"""Errors of Python's own that may be raised, and why."""

WITHOUT_THE_BASE = {
    "vta.own_packages.ShadowedError": "isa, where the base is, may be what is hidden",
}
"""Classes that cannot derive from the base, and why."""

CAUGHT_NEARBY = {
    "isa/layout.py": "a layout is a literal of this project",
    "isa/origin.py": "readers of files say which file it was",
    "vta/inspect/trace/columns.py": "the reader says which file it was",
    "vta/inspect/trace/format.py": "the reader says which file it was",
    "vta/inspect/trace/launch_record.py": "the reader says which file it was",
}
"""Files that raise ``ValueError``, and why no user meets it."""


def raised_builtins(path: Path) -> list[tuple[int, str]]:
    """Return (line, name) of every exception of Python's own that a file raises."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Raise) and node.exc is not None:
            raised = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
            if isinstance(raised, ast.Name) and isinstance(getattr(builtins, raised.id, None), type):
                found.append((node.lineno, raised.id))
    return found


def test_every_exception_class_derives_from_the_base() -> None:
    classes = list(error_classes())
    assert len(classes) > 80
    others = [f"{error.__module__}.{error.__name__}" for error in classes if not issubclass(error, VTAError)]
    assert others == list(WITHOUT_THE_BASE)


@pytest.mark.parametrize("package", PACKAGES)
def test_no_error_of_pythons_own_is_raised_where_a_user_could_see_it(package: str) -> None:
    found = []
    for path in sorted((ROOT / package).rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        for line, raised in raised_builtins(path):
            if raised not in PROTOCOLS and not (raised == "ValueError" and name in CAUGHT_NEARBY):
                found.append(f"{name}:{line}: {raised}")
    assert found == [], "raise a class of the subject's own, derived from isa.errors.VTAError"


def test_a_file_that_is_excused_does_raise() -> None:
    assert [name for name in CAUGHT_NEARBY if "ValueError" not in {r for _, r in raised_builtins(ROOT / name)}] == []


@pytest.mark.parametrize(
    ("error", "base"),
    [
        (ConfigError, ValueError),
        (DeviceError, RuntimeError),
        (DeviceMemoryError, MemoryError),
        (ArgumentError, TypeError),
    ],
)
def test_scripts_that_catch_errors_of_python_keep_working(error: type[VTAError], base: type[Exception]) -> None:
    with pytest.raises(base, match=r"^a sentence$"):
        raise error("a sentence")
