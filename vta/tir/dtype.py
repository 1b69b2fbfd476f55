"""Data types of TIR: ``DType("int8")``, a string that knows its kind, bits and lanes.

A ``DType`` is a ``str``, so user code may compare and pass plain strings as it does with TVM.
Tests: tests/vta/tir/test_dtype.py.
"""

import re
from enum import StrEnum

from isa.errors import VTAError

__all__ = ["BOOL", "FLOAT32", "HANDLE", "INT8", "INT32", "INT64", "DType", "DTypeError", "Kind"]


class DTypeError(VTAError, ValueError):
    """A data type that TIR does not have."""


class Kind(StrEnum):
    """What the bits of a value mean."""

    INT = "int"
    UINT = "uint"
    FLOAT = "float"
    BOOL = "bool"
    HANDLE = "handle"


_PATTERN = re.compile(r"(int|uint|float)(\d+)(?:x(\d+))?|(bool|handle)(?:x(\d+))?")
_FLOAT_BITS = (16, 32, 64)
_SHORT = {"int": "int32", "uint": "uint32", "float": "float32"}
"""Other names that TVM has for a type."""


class DType(str):
    """A scalar or vector type, for example ``int8``, ``float32``, ``bool``, ``handle``, ``int32x16``.

    Attributes: ``kind``, ``bits`` of one lane, ``lanes``. Raises ``DTypeError`` for anything else.
    """

    kind: Kind
    bits: int
    lanes: int

    def __new__(cls, name: str) -> "DType":
        """Parse ``name``; a ``DType`` comes back as it is."""
        if isinstance(name, cls):
            return name
        name = _SHORT.get(name, name)
        match = _PATTERN.fullmatch(name)
        if match is None:
            raise DTypeError(
                f"unknown dtype {name!r}; expected for example 'int8', 'int32', 'float32', 'bool', 'handle'"
            )
        self = super().__new__(cls, name)
        if match[1]:
            self.kind, self.bits, self.lanes = Kind(match[1]), int(match[2]), int(match[3] or 1)
        else:
            self.kind, self.lanes = Kind(match[4]), int(match[5] or 1)
            self.bits = 1 if self.kind is Kind.BOOL else 64
        if self.kind is Kind.FLOAT and self.bits not in _FLOAT_BITS:
            raise DTypeError(f"unknown dtype {name!r}; floats have 16, 32 or 64 bits")
        if not 1 <= self.bits <= 64 or self.lanes < 1:
            raise DTypeError(f"unknown dtype {name!r}; integers have 1 to 64 bits, lanes at least 1")
        return self

    @property
    def is_int(self) -> bool:
        """Whether values are integers, signed or not (bool is not)."""
        return self.kind in (Kind.INT, Kind.UINT)

    @property
    def is_float(self) -> bool:
        """Whether values are floating point numbers."""
        return self.kind is Kind.FLOAT

    @property
    def element(self) -> "DType":
        """The type of one lane."""
        return self.with_lanes(1)

    def with_lanes(self, lanes: int) -> "DType":
        """Return the vector of ``lanes`` values of this element type."""
        base = self.kind.value if self.kind in (Kind.BOOL, Kind.HANDLE) else f"{self.kind}{self.bits}"
        return DType(base if lanes == 1 else f"{base}x{lanes}")

    @property
    def bounds(self) -> tuple[int, int]:
        """Smallest and largest value of an integer or bool type."""
        if self.kind is Kind.INT:
            return -(1 << (self.bits - 1)), (1 << (self.bits - 1)) - 1
        if self.kind in (Kind.UINT, Kind.BOOL):
            return 0, (1 << self.bits) - 1
        raise DTypeError(f"dtype {self!s} has no integer bounds")


BOOL = DType("bool")
HANDLE = DType("handle")
FLOAT32 = DType("float32")
INT8 = DType("int8")
INT32 = DType("int32")
INT64 = DType("int64")
