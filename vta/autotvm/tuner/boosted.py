"""Trees, boosted by gradients, that learn how far measurements are from the analytic model.

LightGBM makes them, an extra. Tests: tests/vta/autotvm/tuner/test_boosted.py.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from vta.autotvm.errors import TuningError

__all__ = ["BoostedTrees", "require_lightgbm"]

Array = npt.NDArray[np.float64]

_ROUNDS = 60
_GRADES = 30
"""Grades of choices from slow to fast that ranking learns."""


def require_lightgbm() -> None:
    """Raise ``TuningError`` if LightGBM is not there."""
    _lightgbm()


def _lightgbm() -> Any:  # it has no type hints that mypy sees without it
    try:
        import lightgbm
    except ImportError:
        raise TuningError(
            "XGBTuner learns with LightGBM, which is not installed: pip install 'vta-toolchain[tuning]'; or take "
            "GATuner, which needs nothing"
        ) from None
    except OSError as error:  # its library needs OpenMP's
        raise TuningError(f"XGBTuner learns with LightGBM, which cannot be loaded: {error}") from None
    return lightgbm


class BoostedTrees:
    """``fit`` to rows and what they took, then ``predict``: smaller is faster.

    With ``loss`` "reg", numbers are learned, with "rank" their order. Equal rows, seeds and losses give equal trees.
    """

    def __init__(self, *, loss: str, seed: int, threads: int) -> None:
        self._lightgbm = _lightgbm()
        self._loss = loss
        self._options = {
            "objective": "regression" if loss == "reg" else "lambdarank",
            "num_leaves": 15,
            "min_data_in_leaf": 2,
            "learning_rate": 0.15,
            "num_threads": threads,
            "deterministic": True,
            "force_row_wise": True,
            "seed": seed,
            "verbosity": -1,
        }
        self._trees: Any = None

    def fit(self, rows: Array, values: Array) -> None:
        """Learn ``values`` of ``rows``."""
        ranked = self._loss == "rank"
        labels = _grades(values) if ranked else values
        data = self._lightgbm.Dataset(
            rows, label=labels, group=[len(rows)] if ranked else None, params={"verbosity": -1}
        )
        self._trees = self._lightgbm.train(self._options, data, num_boost_round=_ROUNDS)

    def predict(self, rows: Array) -> Array:
        """Return what is expected of ``rows``; 0 before anything was learned."""
        if self._trees is None:
            return np.zeros(len(rows))
        found = np.asarray(self._trees.predict(rows), np.float64)
        return -found if self._loss == "rank" else found


def _grades(values: Array) -> npt.NDArray[np.int64]:
    """Return grades of ``values``, the smallest has the highest."""
    places = np.argsort(np.argsort(-values, kind="stable"), kind="stable")
    return places * _GRADES // max(len(values) - 1, 1)
