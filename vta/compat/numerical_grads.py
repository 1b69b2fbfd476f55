"""``tvm.testing.check_numerical_grads``: derivatives against differences of values.

Tests: tests/vta/compat/test_numerical_grads.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from isa.errors import VTAError

__all__ = ["GradientError", "check_numerical_grads"]

_Arrays = Sequence[npt.NDArray[Any]] | Mapping[str, npt.NDArray[Any]]


class GradientError(VTAError, ValueError):
    """A derivative that is not what differences of values say."""


def check_numerical_grads(
    function: Callable[..., float],
    input_values: _Arrays,
    grad_values: _Arrays,
    function_value: float | None = None,
    delta: float = 1e-3,
    atol: float = 1e-2,
    rtol: float = 0.1,
) -> None:
    """Raise ``GradientError`` unless ``grad_values`` are the derivatives of ``function`` at ``input_values``.

    ``function`` takes the inputs in order (or by name) and returns a number. The distance of all derivatives by one
    input from those by differences of ``delta`` is at most ``atol * sqrt(n) + rtol * norm``.
    """
    by_name = isinstance(input_values, Mapping)
    values = {name: np.array(value) for name, value in _named(input_values)}
    grads = dict(_named(grad_values))

    def at(name: object, changed: npt.NDArray[Any]) -> float:
        given = {**values, name: changed}
        return float(np.sum(function(**given) if by_name else function(*given.values())))

    if function_value is not None:
        first = next(iter(values))
        found = at(first, values[first])
        if not np.isclose(found, float(np.sum(function_value)), rtol=1e-3, atol=1e-3):
            raise GradientError(f"the function is {found} at the inputs, not {function_value}")
    for name, value in values.items():
        given = np.asarray(grads[name])
        if given.shape != value.shape:
            raise GradientError(f"input {name!r} has shape {value.shape}, its derivative {given.shape}")
        estimate = np.zeros(value.shape, np.float64)
        for place in np.ndindex(*value.shape):
            ends = []
            for step in (delta, -delta):
                moved = value.copy()
                moved[place] += step
                ends.append((at(name, moved), float(moved[place])))
            estimate[place] = (ends[0][0] - ends[1][0]) / (ends[0][1] - ends[1][1])
        distance = float(np.linalg.norm(estimate - given))
        allowed = atol * np.sqrt(value.size) + rtol * float(np.linalg.norm(estimate))
        if not distance <= allowed:
            raise GradientError(
                f"the derivatives by input {name!r} are {distance:.3g} from those by differences, allowed are "
                f"{allowed:.3g}"
            )


def _named(arrays: _Arrays) -> Iterable[tuple[Any, npt.NDArray[Any]]]:
    """Return arrays with their names, or with their numbers."""
    return arrays.items() if isinstance(arrays, Mapping) else enumerate(arrays)
