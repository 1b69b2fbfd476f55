"""The page of the documentation that lists every error, from the classes.

Tests: tests/docs/test_errors_page.py.
"""

import importlib
import inspect
import pkgutil
from collections.abc import Iterator

from isa.errors import VTAError

__all__ = ["PACKAGES", "error_classes", "errors_page"]

PACKAGES = ("isa", "hw", "runtime", "vta")

_INTRODUCTION = """\
# Errors

Generated from the classes (`python -m docs.make_pages`). Whatever this toolchain refuses, it raises an error derived
from `isa.errors.VTAError`, whose message is one sentence: the place, what was expected, what came, what to do. So
`except VTAError` catches all that this project says, and nothing else. Most classes are one of Python's own kinds too,
so that scripts which catch `ValueError` or `RuntimeError`, as those for TVM do, keep working.

The `vta` command, `python -m vta.compat` and a plain `python script.py` that imports `vta` print the sentence, with the
line of the script that led to it, and end with exit code 1. The environment variable `VTA_TRACEBACK`, set to anything,
keeps Python's traceback. An error of another kind that comes out of the toolchain's own code is a bug in it.
"""


def error_classes() -> Iterator[type[BaseException]]:
    """Yield every exception class (no warnings) that a module of the packages defines, by module and name."""
    for package in PACKAGES:
        yield from _defined_in(package)
        for module in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}."):
            if not module.name.endswith("__main__"):
                yield from _defined_in(module.name)


def _defined_in(name: str) -> Iterator[type[BaseException]]:
    for _, value in sorted(vars(importlib.import_module(name)).items()):
        if not inspect.isclass(value) or value.__module__ != name:
            continue
        if issubclass(value, BaseException) and not issubclass(value, Warning):
            yield value


def errors_page() -> str:
    """Return the page, in Markdown. Classes with an underscore never leave their module, and are left out."""
    lines = [_INTRODUCTION]
    public = [error for error in error_classes() if not error.__name__.startswith("_")]
    for package in PACKAGES:
        lines += [f"## {package}", "", "| error | caught as well as | raised from | when |", "|---|---|---|---|"]
        lines += [_row(error) for error in public if error.__module__.split(".")[0] == package]
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def _row(error: type[BaseException]) -> str:
    parents = [base for base in error.__mro__[1:] if issubclass(base, VTAError) or _is_pythons_own(base)]
    others = ", ".join(f"`{base.__name__}`" for base in parents if base is not VTAError)
    meaning = " ".join((inspect.getdoc(error) or "").split()).replace("``", "`").replace("|", "\\|")
    return f"| `{error.__name__}` | {others} | `{error.__module__}` | {meaning} |"


def _is_pythons_own(base: type) -> bool:
    return base.__module__ == "builtins" and base not in (Exception, BaseException, object)
