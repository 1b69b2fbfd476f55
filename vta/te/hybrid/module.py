"""Schedules as hybrid scripts: ``te.hybrid.build`` writes what a schedule computes as such a function.

Tests: tests/vta/te/hybrid/test_module.py.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from vta.te.hybrid.emulation import emulated
from vta.te.hybrid.errors import HybridError
from vta.te.hybrid.parser import FunctionText
from vta.te.hybrid.script import describe, describes
from vta.te.hybrid.source_text import source_text
from vta.te.lowering.lower import schedule_to_func
from vta.te.schedule import Schedule
from vta.te.tensor import Tensor
from vta.tir.expr import Var

__all__ = ["HybridModule", "build"]


class HybridModule:
    """The text of one hybrid script, called like one."""

    def __init__(self, src: str | None = None, name: str | None = None) -> None:
        self.name = name or ""
        self.src = src or ""
        self._file = "<hybrid>"
        if src is not None:
            self._tree()

    def _tree(self) -> ast.FunctionDef:
        """Return the function's syntax tree; raises ``HybridError`` if the text is not one function."""
        try:
            body = ast.parse(self.src).body
        except SyntaxError as error:
            raise HybridError(f"{self._file}:{error.lineno}: {error.msg}") from error
        if len(body) != 1 or not isinstance(body[0], ast.FunctionDef) or body[0].decorator_list:
            raise HybridError(f"{self._file}: expected the text of one function")
        self.name = self.name or body[0].name
        return body[0]

    def __call__(self, *arguments: Any) -> Any:
        """Return the tensors that are described, or what Python computes of arrays and numbers."""
        tree = self._tree()
        if describes(arguments):
            return describe(FunctionText(tree, self._file, 1, {}), arguments)
        return emulated(self._function(tree))(*arguments)

    def _function(self, tree: ast.FunctionDef) -> Callable[..., Any]:
        code = compile(ast.Module([tree], []), self._file, "exec")
        names: dict[str, Any] = {}
        exec(code, names)  # the text defines a function, and nothing of it runs before it is called
        function: Callable[..., Any] = names[tree.name]
        return function

    def get_source(self) -> str:
        """Return the text."""
        return self.src

    def save(self, path: str | Path) -> None:
        """Write the text to a file, which must end in ``.py``."""
        if Path(path).suffix != ".py":
            raise HybridError(f"{path}: a hybrid script is saved as a file that ends in .py")
        Path(path).write_text(self.src, encoding="utf-8")

    def load(self, path: str | Path) -> None:
        """Take the text from a file."""
        self.src = Path(path).read_text(encoding="utf-8")
        self._file, self.name = Path(path).name, ""
        self._tree()


def build(
    sch: Schedule, inputs: Sequence[Tensor | Var], outputs: Sequence[Tensor], name: str = "hybrid_func"
) -> HybridModule:
    """Return what ``sch`` computes as a hybrid script of ``inputs`` that returns ``outputs``.

    Raises ``HybridError`` for a program that has no such text, one with the threads of a GPU for example.
    """
    func = schedule_to_func(sch, [*inputs, *outputs], name)
    count = len(inputs)
    return HybridModule(source_text(func, name, func.params[:count], func.params[count:]), name)
