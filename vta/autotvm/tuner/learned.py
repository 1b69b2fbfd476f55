"""``XGBTuner``: a search by a model that learns from what is measured, and begins with the analytic one.

Tests: tests/vta/autotvm/tuner/test_learned.py.
"""

import itertools
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from vta.autotvm.errors import TuningError
from vta.autotvm.library import index_of_tiles
from vta.autotvm.measure.inputs import MeasureInput, MeasureResult
from vta.autotvm.space import ConfigEntity, SpaceError
from vta.autotvm.task import Task, create
from vta.autotvm.tuner.annealing import best_scored
from vta.autotvm.tuner.boosted import BoostedTrees
from vta.autotvm.tuner.features import Features
from vta.autotvm.tuner.in_order import random_order
from vta.autotvm.tuner.tuner import Tuner
from vta.autotvm.workload import Value

__all__ = ["XGBTuner"]

_LOSSES = ("reg", "rank")
_CHAINS = 48
_STRANGERS = 0.1
"""Part of a batch that is drawn, so that the model sees what it does not think of."""


class XGBTuner(Tuner):
    """Measures the choices that a model thinks best, ``plan_size`` at a time, and learns of them.

    The model are trees, boosted by gradients (LightGBM's), over knobs and what the analytic model says; they learn how
    far the logarithm of the cost is from that model (``loss_type`` "reg"), or who is faster than whom ("rank"). Where
    the operator has an analytic model, the first batch are the choice of the library's search and the model's best. The
    name is TVM's.
    """

    def __init__(
        self,
        task: Task,
        plan_size: int = 16,
        feature_type: str = "knob",
        loss_type: str = "reg",
        num_threads: int = 1,
        *,
        seed: int = 0,
    ) -> None:
        super().__init__(task)
        if plan_size < 1:
            raise TuningError(f"XGBTuner: plan_size is 1 or more, not {plan_size}")
        if feature_type != "knob":
            raise TuningError(f"XGBTuner: feature_type is 'knob', not {feature_type!r}")
        if loss_type not in _LOSSES:
            raise TuningError(f"XGBTuner: loss_type is one of {', '.join(_LOSSES)}, not {loss_type!r}")
        if num_threads < 1:
            raise TuningError(f"XGBTuner: num_threads is 1 or more, not {num_threads}")
        self._size, self._loss = plan_size, loss_type
        self._rng = np.random.default_rng(seed)
        self._features = Features(task)
        self._trees = BoostedTrees(loss=loss_type, seed=seed, threads=num_threads)
        self._strangers = random_order(task.config_space, np.random.default_rng([seed, 1]))
        self._costs: dict[int, float] = {}
        self._visited: set[int] = set()
        self._others: list[tuple[npt.NDArray[np.float64], float]] = []

    @property
    def considered(self) -> int:
        """How many choices the models were asked about; few of them are measured."""
        return self._features.considered

    def next_batch(self) -> list[int]:
        """Return the choices that the model thinks best, and some strangers."""
        batch = [] if self._visited else self._given()
        self._visited.update(batch)
        if self._costs or self._features.has_model:
            planned = max(1, round(self._size * (1 - _STRANGERS))) if self._costs else self._size - len(batch)
            batch += best_scored(
                self.task.config_space,
                self._score,
                planned,
                self._rng,
                starts=[*batch, *self._starts()],
                excluded=self._visited,
            )
        self._visited.update(batch)
        strangers = (index for index in self._strangers if index not in self._visited)
        more = list(itertools.islice(strangers, self._size - len(batch)))
        self._visited.update(more)
        return [*batch, *more]

    def load_history(self, records: Iterable[tuple[MeasureInput, MeasureResult]]) -> None:
        """Learn how far other tasks of this template, on the same hardware, were from the analytic model.

        Ranks are of one task alone: with ``loss_type`` "rank" nothing is learned of others.
        """
        if self._loss == "rank":
            return
        here = self.task.input(self.task.config_space.get(0))
        known: dict[tuple[Value, ...], Features] = {}
        for given, result in records:
            name, *arguments = given.workload
            if result.error_no or name != self.task.name or given.hardware != here.hardware:
                continue
            if given.workload not in known:
                known[given.workload] = Features(create(str(name), arguments, env=self.task.env))
            self._learn_of(known[given.workload], given.config, result.cost)
        self._fit()

    def _learn_of(self, features: Features, config: ConfigEntity, cost: float) -> None:
        """Keep a measurement of another task, if its choices are ones of this version."""
        try:
            index = features.space.index_of(config)
        except SpaceError:
            return
        self._others.append((features.rows([index])[0], np.log(cost) - features.priors([index])[0]))

    def update(self, indices: Sequence[int], costs: Sequence[float]) -> None:
        """Learn of a batch; what failed counts as twice as slow as the slowest."""
        self._costs.update(zip(indices, costs, strict=True))
        self._fit()

    def _fit(self) -> None:
        measured = list(self._costs)
        found = np.array([self._costs[index] for index in measured])
        whole = found[np.isfinite(found)]
        rows = [row for row, _ in self._others]
        values = [value for _, value in self._others]
        if len(whole):
            found[~np.isfinite(found)] = 2 * whole.max()
            rows += list(self._features.rows(measured))
            ranked = self._loss == "rank"
            values += list(np.log(found) if ranked else np.log(found) - self._features.priors(measured))
        if rows:
            self._trees.fit(np.array(rows), np.array(values))

    def _given(self) -> list[int]:
        """Return the choice that the library's own search makes, so that nothing ends worse than without tuning."""
        operator = self.task.operator
        if operator is None:
            return []
        tiles = operator.schedule(self.task.env).tiles
        index = index_of_tiles(self.task.config_space, tiles)
        return [] if index is None else [index]

    def _score(self, indices: list[int]) -> npt.NDArray[np.float64]:
        learned = self._trees.predict(self._features.rows(indices))
        if self._loss == "rank" and any(np.isfinite(cost) for cost in self._costs.values()):
            return learned
        return learned + self._features.priors(indices)

    def _starts(self) -> list[int]:
        """Return where chains begin: at the best that were measured, and at strangers."""
        ranked = sorted((cost, index) for index, cost in self._costs.items() if np.isfinite(cost))
        best = [index for _, index in ranked[: _CHAINS // 2]]
        fresh = random_order(self.task.config_space, np.random.default_rng(self._rng.integers(1 << 30)))
        return [*best, *itertools.islice(fresh, _CHAINS - len(best))]
