"""An operator that is nothing but an epilogue on int32 numbers, for tests of epilogues and of operators as such."""

from dataclasses import dataclass

import numpy as np

from vta import te
from vta.environment import Environment
from vta.topi.core import epilogue
from vta.topi.core.epilogue import Epilogue
from vta.topi.core.layout import blocks, pack_activations, unpack_activations
from vta.topi.core.operand import Argument, Operand
from vta.topi.core.operator import Operator, Scheduled

__all__ = ["EpilogueOnly"]


@dataclass(frozen=True, slots=True)
class EpilogueOnly(Operator):
    """int32 numbers of ``shape`` (N, C, *rest), loaded into the accumulator, through ``steps``, stored whole."""

    shape: tuple[int, ...]
    steps: Epilogue

    def inputs(self, env: Environment) -> tuple[Operand, ...]:  # noqa: ARG002
        return (Operand("data", self.shape, "int32"), *epilogue.operands(self.steps, self.shape))

    def output(self, env: Environment) -> Operand:
        return Operand("res", self.shape, env.out_dtype)

    def reference(self, *arrays: np.ndarray) -> np.ndarray:
        return epilogue.reference(arrays[0], self.steps, arrays[1:])

    def arguments(self, env: Environment) -> tuple[Argument, ...]:
        data = Argument("data", ("data",), lambda data: pack_activations(data, batch=env.BATCH, block=env.BLOCK_OUT))
        read = epilogue.sources(self.steps, self.shape)
        return (data, *epilogue.arguments(self.steps, env, read, rank=len(self.shape) + 2))

    def unpack(self, env: Environment, packed: np.ndarray) -> np.ndarray:  # noqa: ARG002
        return unpack_activations(packed, *self.shape[:2])

    def schedule(self, env: Environment, tiles: object = None) -> Scheduled:  # noqa: ARG002
        images, channels, *rest = self.shape
        outer = (blocks(images, env.BATCH), blocks(channels, env.BLOCK_OUT))
        data = te.placeholder((*outer, *rest, env.BATCH, env.BLOCK_OUT), name="data", dtype="int32")
        appended = epilogue.append(data, self.steps, env)
        s = te.create_schedule(appended.result.op)
        loads = list(appended.widened)
        readers = appended.stages or (appended.result,)
        narrow = {t for load in appended.widened for t in load.op.input_tensors}
        for tensor in (data, *(t for t in appended.inputs if t not in narrow)):
            loads.append(s.cache_read(tensor, env.acc_scope, [r for r in readers if tensor in r.op.input_tensors]))
        for tensor in (*loads, *appended.stages, appended.result):
            stage = s[tensor]
            if tensor is not appended.result:
                stage.set_scope(env.acc_scope)
            stage.pragma(stage.leaf_iter_vars[0], env.alu if tensor in appended.stages else env.dma_copy)
        return Scheduled(s, (data, *appended.inputs, appended.result), None)

    @property
    def macs(self) -> int:
        return 0
