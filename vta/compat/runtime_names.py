"""What ``tvm.runtime`` and its containers give to a script.

Tests: tests/vta/compat/test_runtime_names.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from isa.errors import VTAError
from runtime.packed_func import PackedFunc
from vta import nd
from vta.codegen import Module
from vta.compat.answer import Tree
from vta.compat.convert import convert
from vta.compat.relay_names import load_module

__all__ = ["ADT", "ShapeTuple", "String", "container_names", "error_names", "runtime_names"]


class String(str):
    """A text, as TVM's objects hold it."""

    _object: _Object

    def __new__(cls, content: str) -> String:
        """Return the text; of another one, the same object stands behind it."""
        self = super().__new__(cls, content)
        self._object = content._object if isinstance(content, String) else _Object(content)
        return self

    @property
    def __tvm_object__(self) -> _Object:
        """What stands behind the text."""
        return self._object


class _Object:
    """What a container of TVM's holds; it is one and the same as long as it is passed on."""

    def __init__(self, value: object) -> None:
        self.value = value

    def same_as(self, other: object) -> bool:
        """Whether ``other`` is this very object."""
        return self is other


class ADT(tuple[Any, ...]):
    """Fields with a ``tag``."""

    tag: int

    def __new__(cls, tag: int, fields: Iterable[Any]) -> ADT:
        """Return the fields."""
        self = super().__new__(cls, fields)
        self.tag = tag
        return self


class ShapeTuple(tuple[int, ...]):
    """The sizes of an array; equal to any sequence of the same numbers."""

    __slots__ = ()

    def __new__(cls, shape: Iterable[int]) -> ShapeTuple:
        """Return the sizes."""
        return super().__new__(cls, map(int, shape))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = tuple.__hash__


def container_names() -> Tree:
    """Return the names below ``tvm.runtime.container``, and of its older place."""
    return {
        "ADT": ADT,
        "Array": list,
        "Map": dict,
        "ShapeTuple": ShapeTuple,
        "String": String,
        "tuple_object": lambda fields=None: ADT(0, fields or ()),
    }


class OpError(VTAError):
    """An operator that a script asked for in vain."""


class OpNotImplemented(OpError, NotImplementedError):  # noqa: N818  # TVM's name
    """An operator that there is not."""


class OpAttributeInvalid(OpError, AttributeError):  # noqa: N818  # TVM's name
    """An attribute of an operator with a value that means nothing."""


class OpAttributeRequired(OpError, AttributeError):  # noqa: N818  # TVM's name
    """An attribute of an operator that is missing."""


def error_names() -> Tree:
    """Return the names below ``tvm.error``."""
    own = (OpError, OpNotImplemented, OpAttributeInvalid, OpAttributeRequired)
    return {
        "TVMError": VTAError,
        "InternalError": VTAError,
        "register_error": register_error,
        **{kind.__name__: kind for kind in own},
    }


def register_error(func_name: Any = None, cls: Any = None) -> Any:
    """Return the class of an error as it is, or a decorator that does: errors keep their classes here."""
    if isinstance(func_name, type):
        return func_name
    return cls if cls is not None else lambda kind: kind


def _enabled(name: str) -> bool:
    """Whether this toolchain has the part of TVM that is called so."""
    return name in ("llvm", "cpu", "ext_dev", "vta")


def runtime_names(devices: Mapping[str, Callable[..., object]]) -> Tree:
    """Return the names below ``tvm.runtime``."""
    arrays = {name: getattr(nd, name) for name in nd.__all__}
    return {
        "enabled": _enabled,
        "convert": convert,
        "convert_to_object": convert,
        "load_module": load_module,
        "Module": Module,
        "Object": object,
        "NDArray": nd.NDArray,
        "PackedFunc": PackedFunc,
        "String": String,
        "ShapeTuple": ShapeTuple,
        "container": container_names(),
        "module": {"load_module": load_module, "Module": Module, "enabled": _enabled},
        "ndarray": arrays,
        "object": {"Object": object},
        "packed_func": {"PackedFunc": PackedFunc},
        **devices,
    }
