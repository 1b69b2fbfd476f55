"""What a learned model knows of a choice: the values of its knobs, and what the analytic model says of it.

Tests: tests/vta/autotvm/tuner/test_features.py.
"""

import math
from typing import assert_never

import numpy as np
import numpy.typing as npt

from vta.autotvm.space import AnnotateEntity, Entity, OtherOptionEntity, ReorderEntity, SplitEntity
from vta.autotvm.task import Task

__all__ = ["Features"]


class Features:
    """Rows of numbers for the choices of a task, each made once.

    A split gives the logarithms of its extents, an order the places of its loops, anything else its place among the
    knob's values, and itself if it is a number. ``prior`` is the logarithm of the cycles that the analytic model of the
    task's operator predicts, which are features too; 0 where there is no model.
    """

    def __init__(self, task: Task) -> None:
        self.space = task.config_space
        self._model = task.model
        self._rows: dict[int, tuple[float, ...]] = {}
        self._priors: dict[int, float] = {}

    @property
    def has_model(self) -> bool:
        """Whether there is an analytic model."""
        return self._model is not None

    @property
    def considered(self) -> int:
        """How many choices there are rows or predictions of."""
        return len(self._priors)

    def rows(self, indices: list[int]) -> npt.NDArray[np.float64]:
        """Return a row for each choice."""
        return np.array([self._row(index) for index in indices])

    def priors(self, indices: list[int]) -> npt.NDArray[np.float64]:
        """Return the logarithm of the predicted cycles of each choice."""
        return np.array([self._prior(index) for index in indices])

    def _row(self, index: int) -> tuple[float, ...]:
        if index not in self._rows:
            config = self.space.get(index)
            knobs = [
                number
                for name, values in self.space.knobs.items()
                for number in _numbers(config[name], values.index(config[name]))
            ]
            self._rows[index] = (*knobs, *self._modelled(index))
        return self._rows[index]

    def _prior(self, index: int) -> float:
        if index not in self._priors:
            self._modelled(index)
        return self._priors[index]

    def _modelled(self, index: int) -> tuple[float, ...]:
        price = None if self._model is None else self._model(self.space.get(index))
        if price is None:
            self._priors[index] = 0.0
            return ()
        self._priors[index] = math.log(price.cycles)
        parts = (price.load, price.gemm, price.alu, price.store)
        return (math.log(price.cycles), *(part / price.cycles for part in parts))


def _numbers(value: Entity, place: int) -> list[float]:
    match value:
        case SplitEntity(size):
            return [math.log2(extent) if extent > 0 else 0.0 for extent in size]
        case ReorderEntity(order):
            return [float(each) for each in order]
        case AnnotateEntity():
            return [float(place)]
        case OtherOptionEntity(val):
            return [float(place), float(val) if isinstance(val, int | float) else 0.0]
        case _:
            assert_never(value)
