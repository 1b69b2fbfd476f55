"""The nodes of a graph, closed by the union ``Expr``.

    Expr   = Var | Constant | Call(callee, args, attrs) | Tuple(fields) | TupleGetItem(tuple, index)
           | Let(var, value, body)
    Callee = Op | GlobalVar | Function

A graph shares nodes: an expression that is used twice is one object, computed once. So nodes compare by identity, are
keys of dicts by identity, and ``vta.relay.ir.structural`` compares whole graphs. Every node has its ``type``; a call is
made by ``vta.relay.ops.call``, which infers it. A function is closed: it reads its parameters and constants alone. It
is no value; it is called, or stands in a module. Tests: tests/vta/relay/ir/test_nodes.py.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from runtime.executor.operators.attributes import Attrs
from runtime.executor.operators.names import Op
from runtime.executor.operators.types import Array, RelayError, TensorType, TupleType, Type
from vta.relay.ir.origin import Origin

__all__ = [
    "Call", "Callee", "Constant", "Expr", "Function", "FunctionAttrs", "GlobalVar", "Let", "Tuple", "TupleGetItem",
    "Var", "constant", "tensor_type",
]  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Var:
    """An input of a function, or what a ``Let`` names; ``name`` is for readers."""

    name: str
    type: Type


@dataclass(frozen=True, slots=True, eq=False)
class Constant:
    """Numbers that are known. ``name`` is that of the tensor in the model, if it had one. Not to be written to."""

    value: Array
    name: str = ""
    type: TensorType = field(init=False)

    def __post_init__(self) -> None:
        if not isinstance(self.value, np.ndarray):
            raise RelayError(f"a constant is made of a numpy array, not of {type(self.value).__name__}")
        view = self.value.view()
        view.flags.writeable = False
        object.__setattr__(self, "value", view)
        object.__setattr__(self, "type", TensorType(view.shape, view.dtype.name))


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """``callee`` applied to ``args``. ``origins`` are the nodes of the model that it does the work of."""

    callee: Callee
    args: tuple[Expr, ...]
    attrs: Attrs
    type: Type
    origins: tuple[Origin, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Tuple:
    """Several values as one, for example the results of a function."""

    fields: tuple[Expr, ...]
    type: TupleType = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "fields", tuple(self.fields))
        object.__setattr__(self, "type", TupleType(tuple(each.type for each in self.fields)))


@dataclass(frozen=True, slots=True, eq=False)
class TupleGetItem:
    """Value ``index`` of a tuple."""

    value: Expr
    index: int
    type: Type = field(init=False)

    def __post_init__(self) -> None:
        given = self.value.type
        if not isinstance(given, TupleType):
            raise RelayError(f"value {self.index} of a tuple was asked for, and it is a {given}")
        if not 0 <= self.index < len(given.fields):
            raise RelayError(f"a tuple of {len(given.fields)} values has no value {self.index}")
        object.__setattr__(self, "type", given.fields[self.index])


@dataclass(frozen=True, slots=True, eq=False)
class Let:
    """``body``, in which ``var`` is ``value``."""

    var: Var
    value: Expr
    body: Expr
    type: Type = field(init=False)

    def __post_init__(self) -> None:
        if self.var.type != self.value.type:
            raise RelayError(f"let {self.var.name}: the variable is {self.var.type}, the value {self.value.type}")
        object.__setattr__(self, "type", self.body.type)


Expr: TypeAlias = Var | Constant | Call | Tuple | TupleGetItem | Let


@dataclass(frozen=True, slots=True)
class FunctionAttrs:
    """Facts about a function.

    ``primitive``: made by fusion; becomes one kernel. ``compiler``: who compiles it, for example ``vta``; empty: the
    host. ``name``: for readers and for the symbols of kernels.
    """

    primitive: bool = False
    compiler: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Function:
    """Parameters and a body that reads them."""

    params: tuple[Var, ...]
    body: Expr
    attrs: FunctionAttrs = FunctionAttrs()

    def __post_init__(self) -> None:
        object.__setattr__(self, "params", tuple(self.params))  # scripts written for TVM give lists

    @property
    def type(self) -> Type:
        """The type of the result."""
        return self.body.type

    def __str__(self) -> str:
        from vta.relay.text.printer import to_text  # the printer imports the nodes

        return to_text(self)


@dataclass(frozen=True, slots=True)
class GlobalVar:
    """The name of a function of the module, as something to call."""

    name: str


Callee: TypeAlias = Op | GlobalVar | Function


def constant(value: object, dtype: str | None = None, *, name: str = "") -> Constant:
    """Return a constant of a number, a nested list or an array, which is copied, as ``dtype``."""
    array = np.array(value, None if dtype is None else np.dtype(dtype))
    return Constant(array, name)


def tensor_type(expr: Expr) -> TensorType:
    """Return the type of ``expr``; raises ``RelayError`` if it is a tuple."""
    if not isinstance(expr.type, TensorType):
        raise RelayError(f"expected a tensor, got a tuple: {expr.type}")
    return expr.type
