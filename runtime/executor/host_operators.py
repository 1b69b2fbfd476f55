"""The operators of the host, by the names that a network's steps have.

Each takes its attributes and its input arrays and returns its output arrays. Tests: tests/runtime/executor.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

__all__ = ["HOST_OPERATORS", "HostOperator"]

Array: TypeAlias = npt.NDArray[np.generic]
HostOperator: TypeAlias = Callable[[Mapping[str, object], Sequence[Array]], Sequence[Array]]

HOST_OPERATORS: Mapping[str, HostOperator] = {}
