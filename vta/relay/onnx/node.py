"""One node of an ONNX graph, as converters see it: inputs as expressions, attributes by type, and what nobody read.

Tests: tests/vta/relay/onnx/test_importer.py.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NoReturn, TypeVar

import numpy as np
import onnx

from runtime.executor.operators.attributes import Attrs
from runtime.executor.operators.names import Op
from runtime.executor.operators.types import Array, RelayError, TensorType, Type
from vta.relay.interpreter import evaluate
from vta.relay.ir.nodes import Call, Constant, Expr, constant, tensor_type
from vta.relay.ir.origin import Origin
from vta.relay.ir.traverse import calls, free_vars
from vta.relay.onnx.errors import OnnxError
from vta.relay.onnx.loading import tensor_value
from vta.relay.ops.call import call

__all__ = ["Node"]

_T = TypeVar("_T")
_FLOAT, _FLOATS = onnx.AttributeProto.FLOAT, onnx.AttributeProto.FLOATS
_INT, _INTS = onnx.AttributeProto.INT, onnx.AttributeProto.INTS


_MOST_BYTES = 1 << 28
"""Bytes of a tensor that is computed while a model is read."""


def _bytes(of: Type) -> int:
    return of.nbytes if isinstance(of, TensorType) else sum(_bytes(each) for each in of.fields)


@dataclass(slots=True, eq=False)
class Node:
    """A node under conversion. ``inputs`` has None for an input that was left out.

    ``opset`` is the version of the node's domain. Attributes are read through the methods, which remember what was
    asked for: ``require_all_read`` refuses the rest.
    """

    proto: onnx.NodeProto
    inputs: tuple[Expr | None, ...]
    opset: int
    run_graph: Callable[[onnx.GraphProto, Sequence[Expr]], list[Expr]] | None = None
    """Returns the outputs of a graph within this node, which sees the values around it, for values of its inputs."""
    within: Origin | None = None
    """The node that this one is part of the definition of: it is what calls come from."""
    _attributes: dict[str, onnx.AttributeProto] = field(init=False)
    _read: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._attributes = {attribute.name: attribute for attribute in self.proto.attribute}

    @property
    def kind(self) -> str:
        """The operator's name, with its domain where that is not ONNX's own."""
        domain = self.proto.domain
        return self.proto.op_type if domain in ("", "ai.onnx") else f"{domain}.{self.proto.op_type}"

    @property
    def name(self) -> str:
        """The node's name, or that of its first output where it has none."""
        return self.proto.name or next(iter(self.proto.output), "") or "?"

    @property
    def origin(self) -> Origin:
        """Where calls made for this node come from."""
        return self.within or Origin(self.name, self.kind)

    @property
    def outputs(self) -> tuple[str, ...]:
        """The names of its outputs, empty for one that nobody wants."""
        return tuple(self.proto.output)

    def refuse(self, reason: str) -> NoReturn:
        """Raise ``OnnxError`` naming the node."""
        raise OnnxError(f"{self.kind} {self.name!r}: {reason}")

    # --- making calls ------------------------------------------------------------------------------------------------

    def call(self, op: Op, args: Sequence[Expr], attrs: Attrs | None = None) -> Call:
        """Return ``op`` applied to ``args``, from this node; what does not fit is refused by its name."""
        try:
            return call(op, args, attrs, (self.origin,))
        except RelayError as error:
            raise OnnxError(str(error)) from None

    # --- inputs ------------------------------------------------------------------------------------------------------

    def given(self, index: int) -> Expr | None:
        """Return input ``index``, or None if it was left out."""
        return self.inputs[index] if index < len(self.inputs) else None

    def input(self, index: int) -> Expr:
        """Return input ``index``, which must be there."""
        found = self.given(index)
        if found is None:
            self.refuse(f"input {index} is missing")
        return found

    def type(self, index: int) -> TensorType:
        """Return the type of input ``index``."""
        return tensor_type(self.input(index))

    def rank(self, index: int = 0) -> int:
        """Return the number of dimensions of input ``index``."""
        return self.type(index).rank

    def known(self, index: int) -> Array | None:
        """Return the numbers of input ``index`` if they do not depend on the model's inputs; None if left out."""
        found = self.given(index)
        return None if found is None else self.value_of(found, f"input {index}")

    def value_of(self, expr: Expr, what: str) -> Array:
        """Return the numbers of an expression that must not depend on the model's inputs; ``what`` names it."""
        if isinstance(expr, Constant):
            return expr.value
        if free_vars(expr):
            self.refuse(f"{what} depends on the model's inputs, and it must be constant here")
        large = [each for each in calls(expr) if _bytes(each.type) > _MOST_BYTES]
        if large:
            self.refuse(f"{what} is made of {large[0].type}, which is too large to be computed here")
        value = evaluate(expr)
        assert isinstance(value, np.ndarray)
        return value

    def is_known(self, index: int) -> bool:
        """Return whether input ``index`` is there and does not depend on the model's inputs."""
        found = self.given(index)
        return found is not None and not free_vars(found)

    def known_wholes(self, index: int) -> tuple[int, ...] | None:
        """Return the same as whole numbers."""
        value = self.known(index)
        return None if value is None else tuple(int(each) for each in value.reshape(-1))

    def known_numbers(self, index: int) -> tuple[float, ...] | None:
        """Return the same as numbers."""
        value = self.known(index)
        return None if value is None else tuple(float(each) for each in value.reshape(-1))

    def zeros_like(self, index: int) -> Constant:
        """Return zeros of the shape and type of input ``index``."""
        return Constant(np.zeros(self.type(index).shape, self.type(index).dtype))

    def scalar(self, value: float, like: int = 0) -> Constant:
        """Return a constant number of the type of input ``like``."""
        return constant(value, self.type(like).dtype)

    # --- attributes --------------------------------------------------------------------------------------------------

    def whole(self, name: str, default: int | None = None) -> int:
        """Return a whole number."""
        found = self._attribute(name, onnx.AttributeProto.INT)
        return self._settled(name, None if found is None else int(found.i), default)

    def flag(self, name: str, default: bool = False) -> bool:
        """Return a whole number that is 0 or 1 as a truth."""
        value = self.whole(name, int(default))
        if value not in (0, 1):
            self.refuse(f"{name} is {value}, and it must be 0 or 1")
        return bool(value)

    def number(self, name: str, default: float | None = None) -> float:
        """Return a number."""
        found = self._attribute(name, onnx.AttributeProto.FLOAT)
        return self._settled(name, None if found is None else float(found.f), default)

    def text(self, name: str, default: str | None = None, *, choices: Sequence[str] = ()) -> str:
        """Return a text, one of ``choices`` if there are any."""
        found = self._attribute(name, onnx.AttributeProto.STRING)
        value = self._settled(name, None if found is None else found.s.decode("utf-8", "replace"), default)
        if choices and value not in choices:
            self.refuse(f"{name} is {value!r}, and {', '.join(choices)} are supported")
        return value

    def wholes(self, name: str, default: Sequence[int] | None = None) -> tuple[int, ...]:
        """Return whole numbers."""
        found = self._attribute(name, onnx.AttributeProto.INTS)
        return self._settled(name, None if found is None else tuple(map(int, found.ints)), _tuple(default))

    def pair(self, name: str, default: tuple[int, int] | None = None) -> tuple[int, int]:
        """Return two whole numbers, for rows and columns."""
        values = self.wholes(name, default)
        if len(values) != 2:
            self.refuse(f"{name} has {len(values)} numbers, and operators on images take 2")
        return (values[0], values[1])

    def maybe_wholes(self, name: str) -> tuple[int, ...] | None:
        """Return whole numbers, or None if the attribute is not there."""
        found = self._attribute(name, onnx.AttributeProto.INTS)
        return None if found is None else tuple(map(int, found.ints))

    def maybe_numbers(self, name: str) -> tuple[float, ...] | None:
        """Return numbers, or None if the attribute is not there."""
        found = self._attribute(name, onnx.AttributeProto.FLOATS)
        return None if found is None else tuple(map(float, found.floats))

    def tensor(self, name: str) -> Array | None:
        """Return a tensor's numbers, or None if the attribute is not there."""
        found = self._attribute(name, onnx.AttributeProto.TENSOR)
        return None if found is None else tensor_value(found.t, f"{self.kind} {self.name!r}")

    def literal(self) -> Array | None:
        """Return what a ``Constant`` node says otherwise than by a tensor."""
        number, numbers = self._attribute("value_float", _FLOAT), self._attribute("value_floats", _FLOATS)
        whole, wholes = self._attribute("value_int", _INT), self._attribute("value_ints", _INTS)
        if number is not None:
            return np.array(number.f, np.float32)
        if numbers is not None:
            return np.array(numbers.floats, np.float32)
        if whole is not None:
            return np.array(whole.i, np.int64)
        return None if wholes is None else np.array(wholes.ints, np.int64)

    def element_type(self, name: str) -> str:
        """Return the name of an element type."""
        number = self.whole(name)
        try:
            return onnx.helper.tensor_dtype_to_np_dtype(number).name
        except (KeyError, ValueError, TypeError):
            self.refuse(f"{name} is element type number {number}, which is not known")

    def inner(self, name: str, values: Sequence[Expr]) -> list[Expr]:
        """Return the outputs of the graph that is attribute ``name``, for ``values`` of its inputs."""
        found = self._attribute(name, onnx.AttributeProto.GRAPH)
        if found is None or self.run_graph is None:
            self.refuse(f"attribute {name} is missing")
        return self.run_graph(found.g, values)

    def has(self, name: str) -> bool:
        """Return whether there is an attribute, without reading it."""
        return name in self._attributes

    def ignore(self, *names: str) -> None:
        """Say that attributes have no influence on what is computed here."""
        self._read.update(names)

    def axes(self, index: int = 1) -> tuple[int, ...] | None:
        """Return the axes that newer models give as input ``index`` and older ones as an attribute."""
        if self.has("axes"):
            return self.maybe_wholes("axes")
        return self.known_wholes(index)

    def require_all_read(self) -> None:
        """Refuse the node if it has an attribute that its converter does not know."""
        unknown = sorted(set(self._attributes) - self._read)
        if unknown:
            self.refuse(f"attribute {unknown[0]} is not supported; export the model without it")

    def _attribute(self, name: str, kind: "onnx.AttributeProto.AttributeType") -> onnx.AttributeProto | None:
        self._read.add(name)
        found = self._attributes.get(name)
        if found is not None and found.type != kind:
            wanted = onnx.AttributeProto.AttributeType.Name(kind).lower()
            self.refuse(f"attribute {name} is of type {wanted} in ONNX, and not here")
        return found

    def _settled(self, name: str, value: _T | None, default: _T | None) -> _T:
        """Return ``value``, or ``default`` if the attribute is not there; without one it must be."""
        if value is not None:
            return value
        if default is None:
            self.refuse(f"attribute {name} is missing")
        return default


def _tuple(values: Sequence[int] | None) -> tuple[int, ...] | None:
    return None if values is None else tuple(values)
