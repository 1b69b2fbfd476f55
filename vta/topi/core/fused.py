"""Finding a layer's parts from its output: the reduction, what follows it on the ALU, and what that reads.

Tests: tests/vta/topi/core/test_fused.py.
"""

from dataclasses import dataclass

from isa.errors import VTAError
from vta import te
from vta.tir.expr import Builtin, Call, Cast, IntImm, ProducerLoad

__all__ = ["FusedError", "FusedLayer", "fused_layer", "is_load", "producers_first"]


class FusedError(VTAError, ValueError):
    """An output that is not a layer: a reduction, elementwise stages, a cast."""


@dataclass(frozen=True, slots=True, eq=False)
class FusedLayer:
    """``reduction``, ALU ``stages`` after it in order, and ``output``, the narrow result that is stored.

    ``placeholders`` are read by stages as they are; ``loads`` are stages that only convert or pad a placeholder. Stages
    that compute something of them alone (a residual times a constant) are among the others.
    """

    reduction: te.Tensor
    stages: tuple[te.Tensor, ...]
    placeholders: tuple[te.Tensor, ...]
    loads: tuple[te.Tensor, ...]
    output: te.Tensor

    def readers(self, tensor: te.Tensor) -> list[te.Tensor]:
        """Return the stages that read ``tensor``."""
        return [stage for stage in (*self.stages, self.output) if tensor in stage.op.input_tensors]


def fused_layer(output: te.Tensor) -> FusedLayer:
    """Return the layer that ends in ``output``; raises ``FusedError`` unless there is one reduction before it."""
    order = producers_first(output)
    reductions = [t for t in order if isinstance(t.op, te.ComputeOp) and t.op.reduce_axis]
    if len(reductions) != 1 or reductions[0] is output:
        found = ", ".join(repr(t.name) for t in reductions) or "none"
        raise FusedError(
            f"stage {output.name!r}: a layer is one reduction, elementwise stages and a cast; reductions: {found}"
        )
    [reduction] = reductions
    inside = set(producers_first(reduction))
    stages: list[te.Tensor] = []
    loads: list[te.Tensor] = []
    for tensor in order:
        if tensor not in inside and isinstance(tensor.op, te.ComputeOp):
            (loads if is_load(tensor.op) else stages).append(tensor)
    *behind, _ = stages
    read = dict.fromkeys(source for stage in stages for source in stage.op.input_tensors)
    placeholders = tuple(t for t in read if isinstance(t.op, te.PlaceholderOp))
    return FusedLayer(reduction, tuple(behind), placeholders, tuple(loads), output)


def is_load(op: te.ComputeOp) -> bool:
    """Whether ``op`` only converts or pads what it reads, placeholders: what a load does."""
    [value] = op.body
    if not all(isinstance(tensor.op, te.PlaceholderOp) for tensor in op.input_tensors):
        return False
    match value:
        case ProducerLoad() | Cast(value=ProducerLoad()):
            return True
        case Call(op=Builtin.IF_THEN_ELSE, args=(_, chosen, IntImm(value=0))):
            return isinstance(chosen, ProducerLoad) or (
                isinstance(chosen, Cast) and isinstance(chosen.value, ProducerLoad)
            )
        case _:
            return False


def producers_first(tensor: te.Tensor) -> list[te.Tensor]:
    """Return ``tensor`` and everything it is computed from, each after what it reads."""
    done: dict[te.Tensor, None] = {}

    def visit(current: te.Tensor) -> None:
        if current not in done:
            for source in current.op.input_tensors:
                visit(source)
            done[current] = None

    visit(tensor)
    return list(done)
