"""Scheduling an epilogue: its stages become ALU operations, the tensors that it reads become loads.

May import ``vta.te``, ``vta.environment``, ``vta.topi.epilogue``. Tests: tests/vta/topi/test_dense.py.
"""

from vta import te
from vta.environment import Environment
from vta.tir.expr import IterVar
from vta.topi.epilogue import Appended

__all__ = ["attach_epilogue"]


def attach_epilogue(
    s: te.Schedule, appended: Appended, axis: IterVar, env: Environment, *, behind: te.Tensor | None = None
) -> None:
    """Compute all stages of ``appended`` in loop ``axis`` of its result, in the accumulator.

    ``behind``, the tensor that the epilogue follows, goes there as well. The result's own stores are the caller's.
    """
    result = s[appended.result]
    loads = list(appended.widened)
    narrow = {tensor for load in loads for tensor in load.op.input_tensors}
    for tensor in appended.inputs:
        if tensor not in narrow:
            loads.append(s.cache_read(tensor, env.acc_scope, [t for t in appended.stages if reads(t, tensor)]))
    for tensor in (*([behind] if behind is not None else []), *loads, *appended.stages):
        s[tensor].set_scope(env.acc_scope)
        s[tensor].compute_at(result, axis)
    for tensors, pragma in ((loads, env.dma_copy), (appended.stages, env.alu)):
        for tensor in tensors:
            s[tensor].pragma(s[tensor].leaf_iter_vars[0], pragma)


def reads(stage: te.Tensor, tensor: te.Tensor) -> bool:
    """Whether ``stage`` reads ``tensor``."""
    return tensor in stage.op.input_tensors
