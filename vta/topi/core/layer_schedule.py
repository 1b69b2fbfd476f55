"""What the schedules of all layers have in common: operands, epilogue and result around one reduction.

Tests: tests/vta/topi/core/test_layer_schedule.py.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from vta import te
from vta.environment import Environment, get_env
from vta.tir.expr import IterVar
from vta.topi.core.fused import FusedError, FusedLayer, fused_layer
from vta.topi.core.operator import OperatorError
from vta.topi.core.resident import Resident
from vta.topi.tiling import turning_loop

__all__ = ["LayerSchedule", "use_in_turn"]


@dataclass(frozen=True, slots=True, eq=False)
class LayerSchedule:
    """A schedule ``s`` of ``layer`` that is being made; ``data`` and ``weights`` bring the operands onto the chip."""

    layer: FusedLayer
    s: te.Schedule
    env: Environment
    data: te.Tensor
    weights: te.Tensor
    loads: tuple[te.Tensor, ...]

    @classmethod
    def of(cls, outs: te.Tensor | Sequence[te.Tensor], env: Environment | None = None) -> Self:
        """Begin with the layer that ends in ``outs``, whose reduction reads data, then weights.

        Operands and what the epilogue reads get a cache on the chip, unless a stage of their own pads or converts them.
        Raises ``FusedError`` for another reduction.
        """
        [output] = [outs] if isinstance(outs, te.Tensor) else outs
        env = env or get_env()
        layer = fused_layer(output)
        operands = layer.reduction.op.input_tensors
        if len(operands) != 2:
            raise FusedError(
                f"stage {layer.reduction.name!r}: the sums of a layer read data and weights, not "
                f"{', '.join(repr(t.name) for t in operands) or 'nothing'}"
            )
        s = te.create_schedule(output.op)
        data, weights = (
            t if isinstance(t.op, te.ComputeOp) else s.cache_read(t, scope, [layer.reduction])
            for t, scope in zip(operands, (env.inp_scope, env.wgt_scope), strict=True)
        )
        caches = [s.cache_read(t, env.acc_scope, layer.readers(t)) for t in layer.placeholders]
        return cls(layer, s, env, data, weights, (*caches, *layer.loads))

    @property
    def result(self) -> te.Stage:
        """The stage of the result."""
        return self.s[self.layer.output]

    @property
    def sums(self) -> te.Stage:
        """The stage of the reduction."""
        return self.s[self.layer.reduction]

    def compute_tile_in(self, loop: IterVar) -> None:
        """Compute the reduction and the epilogue in ``loop`` of the result, in the accumulator."""
        for tensor in (self.layer.reduction, *self.loads, *self.layer.stages):
            self.s[tensor].set_scope(self.env.acc_scope)
            self.s[tensor].compute_at(self.result, loop)
        for tensor in self.loads:
            self._first_loop(tensor, self.env.dma_copy)
        for tensor in self.layer.stages:
            self._first_loop(tensor, self.env.alu)

    def load_operands_in(
        self,
        loop: IterVar,
        *,
        weights_in: IterVar | None = None,
        resident: Resident = Resident.NONE,
        outside: IterVar | None = None,
    ) -> None:
        """Load data and weights in ``loop`` of the reduction; what is ``resident``, in ``outside`` of the result.

        Weights may have a loop of their own inside of ``loop``.
        """
        for tensor, scope, kind, own in (
            (self.data, self.env.inp_scope, Resident.DATA, loop),
            (self.weights, self.env.wgt_scope, Resident.KERNEL, loop if weights_in is None else weights_in),
        ):
            self.s[tensor].set_scope(scope)
            if resident is kind and outside is not None:
                self.s[tensor].compute_at(self.result, outside)
            else:
                self.s[tensor].compute_at(self.sums, own)
            self._first_loop(tensor, self.env.dma_copy)

    def _first_loop(self, tensor: te.Tensor, pragma: str) -> None:
        self.s[tensor].pragma(self.s[tensor].leaf_iter_vars[0], pragma)

    def take_turns(self, loop: IterVar, threads: int, *, swapped_with: IterVar | None = None) -> IterVar:
        """Let ``threads`` neighbouring iterations of the result's ``loop`` run in turn; return what is left of it.

        The loop of the threads becomes the outermost one, or changes places with ``swapped_with``, as TVM-VTA's
        convolution has it.
        """
        if threads == 1:
            return loop
        outer, thread = self.result.split(loop, factor=threads)
        others = [axis for axis in self.result.leaf_iter_vars if axis is not thread]
        self.result.reorder(thread, *(others if swapped_with is None else [swapped_with]))
        self.result.bind(thread, te.thread_axis("cthread"))
        return outer


def use_in_turn(stage: te.Stage, order: Sequence[IterVar], trips: Mapping[IterVar, int], copies: int) -> IterVar:
    """Let iterations of a loop of ``stage`` use ``copies`` copies of the memory inside in turn; return the innermost.

    ``order`` are neighbouring loops. Part of one in ``trips``, chosen by ``turning_loop``, goes innermost.
    """
    if copies == 1:
        return order[-1]
    chosen = turning_loop(trips, copies)
    if chosen is None:
        counts = ", ".join(str(count) for count in trips.values())
        raise OperatorError(
            f"stage {stage.name!r}: no loop around its tiles or steps has {copies} trips or more, as memory that "
            f"is used in turn needs: {counts}"
        )
    outer, inner = stage.split(chosen, factor=copies)
    stage.reorder(*(outer if axis is chosen else axis for axis in order), inner)
    stage.bind(inner, te.thread_axis("rotate"))
    return inner
