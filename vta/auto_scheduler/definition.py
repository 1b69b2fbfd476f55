"""Which schedules a definition can have. Tests: tests/vta/auto_scheduler/test_definition.py.

Two kinds of definitions are understood: sums of products that GEMM's steps are part of, one or several, with anything
that the ALU does behind them; and whatever the ALU does alone: elementwise stages, reductions over windows, pads and
conversions of inputs.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from vta import te
from vta.auto_scheduler.nest import Nest
from vta.auto_scheduler.nest_schedule import schedule_nest
from vta.auto_scheduler.nest_search import knob_values, nest_choices, ranked
from vta.auto_scheduler.parts import parts_of
from vta.auto_scheduler.products import DefinitionError
from vta.autotvm.library.choices import Choices
from vta.environment import Environment
from vta.topi.core.operator import OperatorError
from vta.topi.tiling import TilingError

__all__ = ["Definition", "DefinitionError"]

Knobs = dict[str, int | str]


@dataclass(frozen=True, slots=True)
class Definition:
    """What there is to choose of an output's schedule, and ``schedule``, which makes the one of some tiles.

    A schedule may compute the result by other stages than its definition has, and says which tensor it is then.
    ``first`` returns the values of the knobs that the analytic model likes best, the best first; it raises
    ``DefinitionError`` where nothing fits.
    """

    choices: Choices[object]
    schedule: Callable[[te.Tensor, object], tuple[te.Schedule, te.Tensor]]
    first: Callable[[], Sequence[Knobs]]

    @staticmethod
    def of(output: te.Tensor, env: Environment) -> "Definition":
        """Return what can be chosen for ``output`` on ``env``; raises ``DefinitionError``."""
        try:
            nest = Nest(parts_of(output, env), env)
        except OperatorError as error:
            raise DefinitionError(str(error)) from None

        def schedule(tensor: te.Tensor, tiles: object) -> tuple[te.Schedule, te.Tensor]:
            parts = parts_of(tensor, env)
            return schedule_nest(Nest(parts, env), tiles), parts.output  # type: ignore[arg-type]  # what choices mean

        def first() -> Sequence[Knobs]:
            try:
                return [knob_values(tiles) for tiles in ranked(nest, f"stage {output.name!r}")]
            except TilingError as error:
                raise DefinitionError(str(error)) from None

        return Definition(nest_choices(nest), schedule, first)  # type: ignore[arg-type]
