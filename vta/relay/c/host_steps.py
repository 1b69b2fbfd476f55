"""The host's steps of a network as calls of C functions.

Chains of elements and windows are compiled as for this computer (``vta.relay.host``), by way of C; what only moves
elements becomes loops. Equal functions are written once. Tests: tests/vta/relay/c/test_host_steps.py.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy.typing as npt

from isa.config import VTAConfig
from isa.errors import VTAError
from runtime.executor.network import HostStep, Network
from vta import te
from vta.codegen import CodegenError
from vta.codegen.c import CFunction, emit_c
from vta.codegen.c.types import memory_type
from vta.passes import pipelines
from vta.passes.pipelines import PassScope
from vta.relay.c.move_code import move_code
from vta.relay.c.moves import CONSTANT, Move, moves_of
from vta.relay.host.groups import Group, groups
from vta.relay.host.recipe import Recipe
from vta.relay.host.stages import staged
from vta.tir.dtype import DType

__all__ = ["CExportError", "HostCall", "HostCode", "host_code"]

_NAME = "@"
"""What functions are called while they are compared: their texts differ in nothing else."""


class CExportError(VTAError, ValueError):
    """A network that cannot become C."""


@dataclass(frozen=True, slots=True)
class HostCall:
    """A call of ``function``: tensors by name, or arrays of the function's own by number; the last one is written."""

    function: str
    arguments: tuple[str | int, ...]
    has_workspace: bool


@dataclass(slots=True, eq=False)
class HostCode:
    """Functions, the arrays that they read beside tensors, the bytes of their workspace, and the calls by step."""

    functions: dict[str, str] = field(default_factory=dict)
    """Text of a function without its name, to its name."""
    arrays: list[npt.NDArray[Any]] = field(default_factory=list)
    workspace: int = 0
    calls: dict[int, tuple[HostCall, ...]] = field(default_factory=dict)

    def named(self, text: str) -> str:
        """Return the name of a function whose text is given with ``@`` for its name."""
        return self.functions.setdefault(text, f"host_{len(self.functions)}")

    def texts(self) -> list[str]:
        """Return the functions."""
        return [text.replace(f" {_NAME}(", f" {name}(", 1) for text, name in self.functions.items()]


def host_code(network: Network) -> HostCode:
    """Return C for the host's steps; raises ``CExportError`` naming a step for which there is none."""
    code = HostCode()
    found = groups(network, pays=0)
    at = {number: group for group in found for number in group.steps}
    for number, step in enumerate(network.steps):
        if not isinstance(step, HostStep):
            continue
        group = at.get(number)
        if group is not None:
            if number == group.steps[-1]:
                code.calls[number] = (_group_call(group, code),)
            continue
        moves = moves_of(step, network)
        if moves is None:
            raise CExportError(
                f"step {step.node!r} ({step.operator}) is computed by the host with numpy, and there is no C for it; "
                "compile a model that ends before it, or begins behind it"
            )
        code.calls[number] = tuple(_move_calls(step, moves, network, code))
    return code


def _group_call(group: Group, code: HostCode) -> HostCall:
    made = _compiled(group.recipe)
    extra = staged(group.recipe).extra if group.recipe.is_head else ()
    first = len(code.arrays)
    code.arrays.extend(extra)
    code.workspace = max(code.workspace, made.workspace)
    arguments = (*group.inputs, *range(first, first + len(extra)), group.output)
    return HostCall(code.named(made.text), arguments, has_workspace=True)


def _compiled(recipe: Recipe) -> CFunction:
    made = staged(recipe)
    function = te.schedule_to_func(te.create_schedule(made.args[-1].op), made.args, _NAME)
    try:
        return emit_c(pipelines.run(function, VTAConfig(), scope=PassScope.ANY), _NAME)
    except CodegenError as error:
        raise CExportError(f"operators {', '.join(str(node.op) for node in recipe.nodes)}: {error}") from None


def _move_calls(step: HostStep, moves: list[Move], network: Network, code: HostCode) -> list[HostCall]:
    calls = []
    for name, move in zip(step.outputs, moves, strict=True):
        dtype = DType(network.tensor(name).dtype)
        operands = sorted({*move.operand.reshape(-1).tolist()} - {CONSTANT})
        text = move_code(move, _NAME, memory_type(dtype), dtype, operands)
        arguments = (*(step.inputs[number] for number in operands), name)
        calls.append(HostCall(code.named(text), arguments, has_workspace=False))
    return calls
