"""The operators of the host that every network needs: activations into the accelerator's layout, and out of it.

Each takes its attributes and its input arrays and returns its output arrays. Operators of the graph itself are added by
``vta.relay``. Tests: tests/runtime/executor.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias, cast

import numpy as np
import numpy.typing as npt

from runtime.executor import layouts

__all__ = ["HOST_OPERATORS", "HostOperator"]

Array: TypeAlias = npt.NDArray[np.generic]
Attributes: TypeAlias = Mapping[str, object]
HostOperator: TypeAlias = Callable[[Attributes, Sequence[Array]], Sequence[Array]]


def _pack(attributes: Attributes, arrays: Sequence[Array]) -> Sequence[Array]:
    return [layouts.packed(arrays[0], **cast("dict[str, int]", dict(attributes)))]


def _unpack(attributes: Attributes, arrays: Sequence[Array]) -> Sequence[Array]:
    return [layouts.unpacked(arrays[0], **cast("dict[str, int]", dict(attributes)))]


def _fold(attributes: Attributes, arrays: Sequence[Array]) -> Sequence[Array]:
    return [layouts.folded(arrays[0], **cast("dict[str, tuple[int, ...]]", dict(attributes)))]  # type: ignore[arg-type]


HOST_OPERATORS: Mapping[str, HostOperator] = {"fold": _fold, "pack": _pack, "unpack": _unpack}
"""Name in a network's steps -> what does it. A tensor that is written gets the shape that the network says."""
