"""A mutant takes a loaded module's place without an import: its functions get their changed code.

Every function object that was made of the module is found, also methods, properties' and those behind decorators; what
holds on to one keeps it. That does for changes in the bodies of functions; others need an import.
Tests: tests/bench/test_source_mutants.py.
"""

import gc
import inspect
from collections.abc import Iterator
from types import CodeType, FunctionType

from bench.source_mutation.changes import Mutant

__all__ = ["swap_in"]

_Key = tuple[str, int]
"""A function's qualified name, and the line on which its code begins."""


def swap_in(mutant: Mutant, path: str) -> int:
    """Give the functions of the module at ``path`` the mutant's code; return how many objects were changed."""
    codes = dict(_codes(compile(mutant.tree, path, "exec", dont_inherit=True)))
    found = [
        each for each in gc.get_objects() if inspect.isfunction(each) and each.__code__.co_filename == path
    ]  # fmt: skip
    return sum(_swap(each, codes) for each in found)


def _swap(function: FunctionType, codes: dict[_Key, CodeType]) -> bool:
    """Give one function its new code, and return whether that is another one."""
    old = function.__code__
    new = codes.get((old.co_qualname, old.co_firstlineno))
    if new is None or new == old or new.co_freevars != old.co_freevars:
        return False
    function.__code__ = new
    return True


def _codes(code: CodeType) -> Iterator[tuple[_Key, CodeType]]:
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield (each.co_qualname, each.co_firstlineno), each
            yield from _codes(each)
