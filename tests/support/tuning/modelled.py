"""Measuring by the cost model, for tests of searches: no choice is built, and each one that is asked for is counted."""

from vta.autotvm import ConfigEntity, LocalBuilder, LocalRunner, MeasureOption, MeasureResult, measure_option
from vta.autotvm.library import tiles_of
from vta.autotvm.measure.inputs import MeasureErrorNo
from vta.autotvm.task import Task

__all__ = ["Modelled", "modelled"]


class Modelled(LocalBuilder):
    """Says what the model says, so that there is nothing to run; ``asked`` has the choices, in order."""

    def __init__(self, *, failing: frozenset[int] = frozenset(), at_most: int | None = None) -> None:
        super().__init__(n_parallel=0)
        self.asked: list[int] = []
        self.failing, self.at_most = failing, at_most

    def build(self, task: Task, config: ConfigEntity) -> MeasureResult:
        """Return the price of a choice; ``KeyboardInterrupt`` once more than ``at_most`` were asked for."""
        if len(self.asked) == self.at_most:
            raise KeyboardInterrupt
        assert config.index is not None
        self.asked.append(config.index)
        if config.index in self.failing:
            return MeasureResult((), MeasureErrorNo.COMPILE_HOST, "it does not build")
        operator = task.operator
        assert operator is not None
        price = operator.price(task.env, tiles_of(operator, config, task.env))
        return MeasureResult((price.cycles / 1e8,), all_cost=len(self.asked), timestamp=1e9 + len(self.asked))


def modelled(**options: object) -> tuple[Modelled, MeasureOption]:
    """Return the model as a builder, and how a tuner measures with it."""
    builder = Modelled(**options)  # type: ignore[arg-type]  # its own options
    return builder, measure_option(builder, LocalRunner())
