"""Functions of cells that have a formula in integers: leaky relu, PRelu, hard sigmoid, hard swish, however written.

They are found by what they compute, not by names: exporters write a hard swish in four ways. The formula is the meaning
then: its table has what the steps of ``vta.topi.core.activations`` make of every cell, which is at most 1/2 + 2**-6
from the exact number, halves upwards. Of a function with ties, as scales that are powers of two bring them, the table
is exact, if its steps can be (``vta.topi.core.fitted_steps``). Tests: tests/vta/relay/integer/test_formulas.py.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from vta.topi.core.activations import Quantisation, hard_sigmoid, hard_swish, leaky_relu, linear, prelu
from vta.topi.core.epilogue import EpilogueError, applied
from vta.topi.core.fitted_steps import fitted_steps
from vta.topi.core.fixed_point import FixedPointError, OutputSteps

__all__ = ["Formula", "formula_of", "formula_steps"]

Reals: TypeAlias = npt.NDArray[np.float64]
Recipe: TypeAlias = Callable[[Quantisation, Quantisation, Sequence[float]], OutputSteps]

_NEAR = 1e-5
"""How far float32 numbers are from the function that they are, relative to the largest."""


@dataclass(frozen=True, slots=True)
class Formula:
    """Its name, and its parameters: scale and zero point of source and target, then its own."""

    name: str
    parameters: tuple[float, ...]

    def makes(self, table: npt.NDArray[np.int8]) -> bool:
        """Whether its steps, with other constants at their end, make ``table``: 256 numbers, or (channels, 256)."""
        rows = table.reshape(-1, 256).astype(np.int32)
        cells = np.broadcast_to(np.arange(-128, 128, dtype=np.int32), rows.shape)
        return fitted_steps(formula_steps(self.name, self.parameters), cells, rows) is not None

    @property
    def table(self) -> npt.NDArray[np.int8]:
        """What it makes of every cell: 256 numbers, or (channels, 256)."""
        made = formula_steps(self.name, self.parameters)
        channels = len(made.arrays[0]) if made.arrays else 1
        cells = np.broadcast_to(np.arange(-128, 128, dtype=np.int32), (1, channels, 256))
        rows: npt.NDArray[np.int8] = applied(cells, made.steps, made.arrays)[0].astype(np.int8)
        return rows if made.arrays else rows.reshape(256)


def formula_steps(name: str, parameters: Sequence[float]) -> OutputSteps:
    """Return the steps of a formula; ``FixedPointError`` where 32 bits do not hold them, or for a name that is none."""
    if name not in _RECIPES or len(parameters) < 4:
        raise FixedPointError(f"no formula is called {name!r} and has {len(parameters)} parameters")
    scale, zero, target_scale, target_zero, *own = parameters
    return _RECIPES[name](Quantisation(scale, int(zero)), Quantisation(target_scale, int(target_zero)), own)


def formula_of(reals: Reals, values: Reals, source: tuple[float, int], target: tuple[float, int]) -> Formula | None:
    """Return the formula that makes ``values`` (channels or 1, 256) of ``reals`` (256), from scale to scale.

    None for functions that have none, and where 32 bits do not hold it.
    """
    for find in (_leaky_relu, _hard_sigmoid, _hard_swish):
        found = find(reals, values)
        if found is None:
            continue
        formula = Formula(found.name, (*source, *target, *found.parameters))
        try:
            formula_steps(formula.name, formula.parameters)
        except (FixedPointError, EpilogueError):
            return None
        return formula
    return None


def _is_near(values: Reals, expected: Reals) -> bool:
    return bool(np.abs(values - expected).max() <= _NEAR * max(float(np.abs(values).max()), 1e-30))


def _leaky_relu(reals: Reals, values: Reals) -> Formula | None:
    if reals.min() >= 0 or reals.max() <= 0:
        return None
    at = int(np.argmin(reals))
    slopes = values[:, at] / reals[at]
    if not _is_near(values, np.where(reals > 0, reals, slopes[:, None] * reals)):
        return None
    return Formula("leaky_relu" if len(slopes) == 1 else "prelu", tuple(float(slope) for slope in slopes))


def _hard_sigmoid(reals: Reals, values: Reals) -> Formula | None:
    """``clip(reals * slope + offset, 0, 1)``: between its ends it is straight."""
    if len(values) > 1:
        return None
    inside = np.flatnonzero((values[0] > _NEAR) & (values[0] < 1 - _NEAR))
    if len(inside) < 2:
        return None
    first, last = int(inside[0]), int(inside[-1])
    slope = (values[0, last] - values[0, first]) / (reals[last] - reals[first])
    offset = values[0, first] - slope * reals[first]
    if not slope or not _is_near(values, np.clip(reals * slope + offset, 0, 1)[None]):
        return None
    return Formula("hard_sigmoid", (float(slope), float(offset)))


def _hard_swish(reals: Reals, values: Reals) -> Formula | None:
    if len(values) > 1 or not _is_near(values, (reals * np.clip(reals / 6 + 0.5, 0, 1))[None]):
        return None
    return Formula("hard_swish", ())


def _of_hard_sigmoid(source: Quantisation, target: Quantisation, own: Sequence[float]) -> OutputSteps:
    slope, offset = own
    return OutputSteps(hard_sigmoid(source, target, slope=slope, offset=offset), ())


_RECIPES: Mapping[str, Recipe] = {
    "hard_sigmoid": _of_hard_sigmoid,
    "hard_swish": lambda source, target, _: OutputSteps(hard_swish(source, target), ()),
    "linear": lambda source, target, _: OutputSteps(linear(source, target), ()),
    "leaky_relu": lambda source, target, own: OutputSteps(leaky_relu(source, target, own[0]), ()),
    "prelu": prelu,
}
"""Name -> its steps."""
