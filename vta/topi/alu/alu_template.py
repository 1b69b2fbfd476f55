"""The template's schedule for operators of the tensor ALU that are described in te: TVM's ``schedule_add_packed``.

What becomes of a stage follows from what it computes: a conversion or a pad of an input is a load, a reduction and
anything else is the ALU's. Tests: tests/vta/topi/alu/test_alu_template.py.
"""

from collections.abc import Sequence

from vta import te
from vta.environment import Environment, get_env
from vta.tir.expr import Cast, ProducerLoad
from vta.topi.alu.alu_schedule import AluStages, AluTiles, alu_schedule
from vta.topi.core.fused import producers_first
from vta.topi.core.operator import OperatorError

__all__ = ["alu_stages", "schedule_alu"]


def schedule_alu(outs: te.Tensor | Sequence[te.Tensor], tiles: AluTiles, env: Environment | None = None) -> te.Schedule:
    """Return the schedule of a packed output in ``tiles``, for ``env`` or the current environment."""
    [output] = [outs] if isinstance(outs, te.Tensor) else outs
    env = env or get_env()
    return alu_schedule(env, output, alu_stages(output, env), tiles)


def alu_stages(output: te.Tensor, env: Environment) -> AluStages:
    """Return what is computed before ``output``, by how it is done; raises ``OperatorError``."""
    if output.ndim != 6 or str(output.dtype) != env.out_dtype:
        raise OperatorError(
            f"stage {output.name!r}: the ALU's operators end in {env.out_dtype} of six dimensions (N, C, H, W, batch, "
            f"block), not in {output.dtype} of {output.ndim}"
        )
    loads: list[te.Tensor] = []
    inlined: list[te.Tensor] = []
    direct: list[te.Tensor] = []
    elementwise: list[te.Tensor] = []
    reductions: list[te.Tensor] = []
    pieces: list[te.Tensor] = []
    for tensor in producers_first(output)[:-1]:
        op = tensor.op
        if isinstance(op, te.PlaceholderOp):
            if str(tensor.dtype) == env.acc_dtype:
                direct.append(tensor)
        elif op.reduce_axis:
            (pieces if tensor.ndim > output.ndim else reductions).append(tensor)
        elif str(tensor.dtype) != env.acc_dtype:
            inlined.append(tensor)
        elif _is_load(op):
            loads.append(tensor)
        else:
            elementwise.append(tensor)
    padded = {source for load in loads for source in load.op.input_tensors}
    return AluStages(
        loads=tuple(loads),
        elementwise=tuple(elementwise),
        reductions=tuple(reductions),
        direct=tuple(tensor for tensor in direct if tensor not in padded),
        inlined=tuple(inlined),
        pieces=tuple(pieces),
    )


def _is_load(op: te.Operation) -> bool:
    """Whether ``op`` converts what it reads, or pads an input."""
    if not isinstance(op, te.ComputeOp):
        return False
    [value] = op.body
    if isinstance(value, Cast):
        return isinstance(value.value, ProducerLoad)
    return "pad" in op.tag.split(",") and all(isinstance(t.op, te.PlaceholderOp) for t in op.input_tensors)
