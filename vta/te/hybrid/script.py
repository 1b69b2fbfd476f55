"""``@te.hybrid.script``: a function that numpy's arrays run, and tensors describe a computation with.

Tests: tests/vta/te/hybrid/test_script.py.
"""

from __future__ import annotations

import ast
import inspect
import os
import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from isa.origin import Origin
from vta.te.hybrid.emulation import HYBRID_GLOBALS, emulated
from vta.te.hybrid.errors import HybridError
from vta.te.hybrid.parser import FunctionReader, FunctionText
from vta.te.hybrid_op import HybridOp
from vta.te.source import user_line
from vta.te.tensor import Tensor
from vta.tir.expr import Node, ProducerLoad
from vta.tir.stmt import ProducerStore
from vta.tir.traverse import walk

__all__ = ["Script", "describe", "describes", "script"]


class Script:
    """A function of hybrid script: of numpy's arrays it is Python, of tensors it describes an operation."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.__name__ = function.__name__
        self.__doc__ = function.__doc__
        self.__wrapped__ = function

    @property
    def __globals__(self) -> dict[str, Any]:
        """The global names of the function."""
        return self.function.__globals__

    def text(self) -> FunctionText:
        """Return the function's text; raises ``HybridError`` where there is none."""
        try:
            lines, first = inspect.getsourcelines(self.function)
        except OSError as error:
            raise HybridError(f"{self.__name__}: a hybrid script must be in a file, for its text is read") from error
        tree = ast.parse(textwrap.dedent("".join(lines))).body[0]
        if not isinstance(tree, ast.FunctionDef):
            raise HybridError(f"{self.__name__}: expected a function, got {type(tree).__name__}")
        file = os.path.basename(inspect.getsourcefile(self.function) or "")
        return FunctionText(tree, file, first, _surroundings(self.function))

    def __call__(self, *arguments: Any) -> Any:
        """Return the tensors that are described (one, or a list), or what Python computes of arrays and numbers."""
        if describes(arguments):
            return describe(self.text(), arguments)
        return emulated(self.function)(*arguments)


def script(function: Callable[..., Any]) -> Script:
    """Return ``function`` as hybrid script: a decorator."""
    return Script(function)


def describes(arguments: Sequence[Any]) -> bool:
    """Whether one of ``arguments`` is a tensor or an expression."""
    return any(
        describes(item) if isinstance(item, list | tuple) else isinstance(item, Tensor | Node) for item in arguments
    )


def describe(text: FunctionText, arguments: Sequence[Any]) -> Tensor | list[Tensor]:
    """Return the outputs of the operation that a function's text describes."""
    found = FunctionReader(text, lambda value: isinstance(value, Script)).read(arguments)
    given: dict[Tensor, None] = dict.fromkeys(_tensors(arguments))
    around = _tensors(tuple(text.surroundings.values()))
    used = {id(node.producer) for node in walk(found.body) if isinstance(node, ProducerLoad | ProducerStore)}
    inputs = tuple(dict.fromkeys([*given, *(tensor for tensor in around if id(tensor) in used)]))
    origin = Origin(text.tree.name, user_line())
    op = HybridOp(text.tree.name, "", {}, inputs, found.places, found.body, found.zeros, found.changes, origin)
    return op.outputs[0] if len(op.outputs) == 1 else list(op.outputs)


def _tensors(values: Sequence[Any]) -> list[Tensor]:
    found: list[Tensor] = []
    for value in values:
        if isinstance(value, Tensor):
            found.append(value)
        elif isinstance(value, list | tuple):
            found += _tensors(value)
    return found


def _surroundings(function: Callable[..., Any]) -> Mapping[str, Any]:
    """Return what the function's free names are; functions under the script's own words are those words."""
    variables = inspect.getclosurevars(function)
    names = {**variables.globals, **variables.nonlocals}
    result = {name: value.item() if isinstance(value, np.generic) else value for name, value in names.items()}
    return {
        name: value
        for name, value in result.items()
        if isinstance(value, Script) or not (callable(value) and name in HYBRID_GLOBALS)
    }
