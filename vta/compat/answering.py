"""``import tvm`` is answered by this toolchain, from the first one on and for as long as a script runs.

Tests: tests/vta/compat/test_answering.py, tests/vta/compat/test_scripts.py.
"""

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec

from vta.compat.answer import Answer, Finder

__all__ = ["answering"]

_ROOT = "tvm"


class _FromTheFirstOn(MetaPathFinder):
    """Makes the stand-ins when something of TVM is imported: most scripts never do."""

    def __init__(self, stack: ExitStack) -> None:
        self._finder: Finder | None = None
        self._stack = stack

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> ModuleSpec | None:  # noqa: ARG002
        """Return the spec of a stand-in; None for other packages."""
        if fullname.partition(".")[0] != _ROOT:
            return None
        if self._finder is None:
            # Here, since what answers is all of the toolchain: half of the time of a command that does not need it.
            from vta.compat.tvm_names import tvm_names
            from vta.compat.typed_text import typed_text

            self._finder = Finder(Answer(_ROOT, tvm_names()))
            self._stack.enter_context(typed_text())
        return self._finder.find_spec(fullname)


@contextmanager
def answering() -> Iterator[None]:
    """Answer for TVM inside, whether it is installed or not; a TVM that was imported before stays what it is."""
    if _ROOT in sys.modules:
        yield
        return
    with ExitStack() as stack:
        finder = _FromTheFirstOn(stack)
        sys.meta_path.insert(0, finder)
        stack.callback(sys.meta_path.remove, finder)
        yield
        for name in [name for name in sys.modules if name.partition(".")[0] == _ROOT]:
            del sys.modules[name]
