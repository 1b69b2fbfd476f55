"""What the words of hybrid script mean when Python itself runs a function, on numpy's arrays.

Tests: tests/vta/te/hybrid/test_emulation.py.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["CASTS", "HYBRID_GLOBALS", "LOOPS", "emulated"]


def _allocate(shape: int | Sequence[int], dtype: str = "float32", scope: str = "") -> npt.NDArray[Any]:  # noqa: ARG001
    return np.zeros(shape, dtype)


def _bind(tag: str, extent: int) -> range:  # noqa: ARG001  # one thread after the other
    return range(extent)


def _popcount(value: Any) -> int:
    bits = np.asarray(value).dtype.itemsize * 8
    return (int(value) & ((1 << bits) - 1)).bit_count()


def _sigmoid(value: Any) -> Any:
    return 1 / (1 + np.exp(-value))


LOOPS = ("range", "serial", "parallel", "vectorize", "unroll", "const_range", "bind")
"""What a loop may walk over."""

CASTS = (
    "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64",
)  # fmt: skip
"""Types as functions, which convert a number."""

HYBRID_GLOBALS: Mapping[str, Any] = {
    **dict.fromkeys(LOOPS, range), "bind": _bind,
    "allocate": _allocate, "output_tensor": _allocate,
    **{kind: getattr(np, kind) for kind in CASTS},
    "sqrt": np.sqrt, "rsqrt": lambda value: 1 / np.sqrt(value), "log": np.log, "tanh": np.tanh, "exp": np.exp,
    "power": np.power, "erf": lambda value: type(value)(math.erf(value)), "sigmoid": _sigmoid, "popcount": _popcount,
    "round": np.round, "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "sin": np.sin, "cos": np.cos,
    "abs": builtins.abs, "min": builtins.min, "max": builtins.max, "len": builtins.len,
    "likely": lambda condition: condition, "max_num_threads": lambda allow_none=True: 1,  # noqa: ARG005
    "ceil_div": lambda a, b: (a + b - 1) // b,
}  # fmt: skip
"""The words, as Python's functions."""


def emulated(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return ``function`` with the words of the script among its global names, which stay as they are."""
    names = {**function.__globals__, **HYBRID_GLOBALS}
    made = FunctionType(function.__code__, names, function.__name__, function.__defaults__, function.__closure__)
    made.__kwdefaults__ = function.__kwdefaults__
    return made
