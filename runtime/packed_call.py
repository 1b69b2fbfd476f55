"""How compiled code calls a ``PackedFunc``: one C function, ``__vta_call_packed``, and how its arguments lie in memory.

::

    int32 __vta_call_packed(char const *name, int64 const *values, int32 const *kinds, int32 count, int64 *result)

``kinds`` tells what each value is (``Kind``): a number, the bits of a double, a text, an address, or the address of an
``ArrayArgument``, which becomes an array that shares the memory. ``result`` gets a number (of either kind: the caller
knows which it expects by ``kinds[count]``). The function returns 0, or 1 after an error of Python, which is kept for
whoever called the compiled function. Tests: tests/runtime/test_packed_call.py.
"""

from __future__ import annotations

import ctypes
import struct
import threading
from collections.abc import Mapping
from enum import IntEnum
from typing import Any

import numpy as np

from isa.errors import VTAError
from runtime.memory.array import HostArray
from runtime.packed_func import get_global_func

__all__ = ["CALL_PACKED_SYMBOL", "ArrayArgument", "Kind", "PackedCallError", "kept_error", "symbols"]

CALL_PACKED_SYMBOL = "__vta_call_packed"


class PackedCallError(VTAError, TypeError):
    """A function of Python gave compiled code something that it cannot take."""


class Kind(IntEnum):
    """What an argument's 64 bits are."""

    INT = 0
    FLOAT = 1
    TEXT = 2
    HANDLE = 3
    ARRAY = 4


class ArrayArgument(ctypes.Structure):
    """An array in compiled code's memory: ``strides`` are in elements, null where it is row-major."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("dtype", ctypes.c_char_p),
        ("ndim", ctypes.c_int64),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("elem_offset", ctypes.c_int64),
    )


class _State(threading.local):
    """What one thread keeps: the error that a call from compiled code ended with."""

    error: BaseException | None = None


_STATE = _State()


def kept_error() -> BaseException | None:
    """Return the error that a call from compiled code on this thread ended with, once."""
    error, _STATE.error = _STATE.error, None
    return error


def _array(address: int) -> HostArray:
    argument = ArrayArgument.from_address(address)
    name = argument.dtype.decode()
    shape = tuple(argument.shape[i] for i in range(argument.ndim))
    item = np.dtype(name).itemsize
    steps = [argument.strides[i] * item for i in range(argument.ndim)] if argument.strides else None
    begin = argument.data + argument.elem_offset * item
    span = item + sum((n - 1) * s for n, s in zip(shape, steps, strict=True)) if steps else item * int(np.prod(shape))
    memory = (ctypes.c_uint8 * max(span, 1)).from_address(begin)
    view = np.ndarray(shape, name, memory, 0, steps)
    return HostArray.over(view)


def _argument(value: int, kind: int) -> Any:
    match Kind(kind):
        case Kind.INT:
            return value
        case Kind.FLOAT:
            return struct.unpack("d", struct.pack("q", value))[0]
        case Kind.TEXT:
            return ctypes.string_at(value).decode()
        case Kind.HANDLE:
            return ctypes.c_void_p(value)
        case Kind.ARRAY:
            return _array(value)


def _result(name: str, value: object, kind: Kind) -> int:
    if isinstance(value, int | np.integer | np.bool_) and kind is Kind.INT:
        return int(value)
    if isinstance(value, int | float | np.number) and kind is Kind.FLOAT:
        return int(struct.unpack("q", struct.pack("d", float(value)))[0])
    if value is None and kind is Kind.INT:
        return 0
    raise PackedCallError(f"global function {name!r}: compiled code expects a number of it, got {value!r}")


def _call_packed(name: bytes, values: Any, kinds: Any, count: int, result: Any) -> int:
    try:
        text = name.decode()
        function = get_global_func(text)
        assert function is not None
        given = [_argument(values[i], kinds[i]) for i in range(count)]
        result[0] = _result(text, function(*given), Kind(kinds[count]))
    except BaseException as error:  # it cannot pass through compiled code; the caller raises it
        _STATE.error = error
        return 1
    return 0


_CALL_PACKED = ctypes.CFUNCTYPE(
    ctypes.c_int32,
    ctypes.c_char_p,
    ctypes.POINTER(ctypes.c_int64),
    ctypes.POINTER(ctypes.c_int32),
    ctypes.c_int32,
    ctypes.POINTER(ctypes.c_int64),
)(_call_packed)


def symbols() -> Mapping[str, int]:
    """Return the address of the function, for the linker."""
    address = ctypes.cast(_CALL_PACKED, ctypes.c_void_p).value
    assert address is not None
    return {CALL_PACKED_SYMBOL: address}
