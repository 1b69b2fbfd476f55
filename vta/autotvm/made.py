"""What a template is: how its knobs are defined, and how a schedule is made of a choice.

Tests: tests/vta/autotvm/test_template.py.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from vta import te
from vta.autotvm.space import ConfigEntity, ConfigSpace
from vta.autotvm.workload import Value
from vta.environment import Environment
from vta.topi.core.operator import Operator
from vta.topi.tiling import Price

__all__ = ["Arguments", "Made", "Model", "Template"]

Made = tuple[te.Schedule, Sequence[te.Tensor]]
"""A schedule, and the tensors that are its function's arguments, the result last."""

Arguments = tuple[Value, ...]

Model = Callable[[ConfigEntity], Price | None]
"""Says of a choice what it takes, None if it cannot say."""


@dataclass(frozen=True, slots=True, eq=False)
class Template:
    """``define`` puts the knobs into a space, ``make`` makes the schedule of a choice; both in the environment given.

    ``operator``, if there is one, returns what is computed, for its meaning in numpy; ``model`` what says of choices
    what they take, where no operator does.
    """

    name: str
    define: Callable[[ConfigSpace, Arguments, Environment], None]
    make: Callable[[ConfigEntity, Arguments, Environment], Made]
    operator: Callable[[Arguments, Environment], Operator] | None = None
    model: Callable[[Arguments, Environment], Model] | None = None
