"""Which schedules a definition can have. Tests: tests/vta/auto_scheduler/test_definition.py.

Two kinds of definitions are understood: a convolution of the library's (``topi.conv2d``, ``topi.group_conv2d``) with
any elementwise stages behind it, and whatever the ALU does alone: elementwise stages, reductions over windows, pads and
conversions of inputs.
"""

from collections.abc import Callable
from dataclasses import dataclass

from isa.errors import VTAError
from vta import te
from vta.auto_scheduler.demand import demand_of
from vta.autotvm.library.choices import Choices, alu_choices, convolution_choices
from vta.environment import Environment
from vta.tir.expr import Mul, Reduce
from vta.topi.alu.alu_template import alu_stages, schedule_alu
from vta.topi.alu.alu_tiles import AluProblem
from vta.topi.conv.conv2d import schedule_conv2d
from vta.topi.conv.conv2d_search import conv_shape
from vta.topi.core.fused import fused_layer, producers_first
from vta.topi.core.operator import OperatorError
from vta.topi.core.sizes import sizes
from vta.topi.tiling import TilingError

__all__ = ["Definition", "DefinitionError"]


class DefinitionError(VTAError, ValueError):
    """A definition that no schedule is found for."""


@dataclass(frozen=True, slots=True)
class Definition:
    """What there is to choose of an output's schedule, and ``schedule``, which makes the one of some tiles."""

    choices: Choices[object]
    schedule: Callable[[te.Tensor, object], te.Schedule]

    @staticmethod
    def of(output: te.Tensor, env: Environment) -> "Definition":
        """Return what can be chosen for ``output`` on ``env``; raises ``DefinitionError``."""
        products = [tensor for tensor in producers_first(output) if _is_product(tensor)]
        try:
            if not products:
                return _of_alu(output, env)
            if len(products) > 1:
                names = ", ".join(repr(tensor.name) for tensor in products)
                raise DefinitionError(f"stage {output.name!r}: one sum of products is scheduled at a time, not {names}")
            return _of_convolution(output, env)
        except (TilingError, OperatorError) as error:
            raise DefinitionError(str(error)) from None


def _is_product(tensor: te.Tensor) -> bool:
    """Whether a stage sums products: what GEMM is for."""
    op = tensor.op
    if not isinstance(op, te.ComputeOp):
        return False
    [value] = op.body
    return isinstance(value, Reduce) and any(isinstance(source, Mul) for source in value.source)


def _of_convolution(output: te.Tensor, env: Environment) -> Definition:
    choices = convolution_choices(conv_shape(fused_layer(output), env))

    def schedule(tensor: te.Tensor, tiles: object) -> te.Schedule:
        return schedule_conv2d([tensor], tiles, env)  # type: ignore[arg-type]  # what the choices mean

    return Definition(choices, schedule)  # type: ignore[arg-type]


def _of_alu(output: te.Tensor, env: Environment) -> Definition:
    stages = alu_stages(output, env)
    b, co, h, w = sizes(output)[:4]
    problem = AluProblem(env, (b, co, h, w), demand_of(output, stages, env))

    def schedule(tensor: te.Tensor, tiles: object) -> te.Schedule:
        return schedule_alu([tensor], tiles, env)  # type: ignore[arg-type]  # what the choices mean

    return Definition(alu_choices(problem), schedule)  # type: ignore[arg-type]
