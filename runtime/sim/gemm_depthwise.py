"""A step of a depthwise GEMM: each accumulator lane adds up the products of its own input lane, one for each tap.

Tap t multiplies lane i of input element ``src + t`` with number t of weight row i. A vector of accumulator lanes takes
its inputs with one load, because the lanes of an input row lie side by side, and the weights of a tap out of a vector
of groups (``runtime.sim.dot_unit``). Tests: ``tests/runtime/sim/test_gemm_depthwise.py``.
"""

from dataclasses import dataclass
from typing import Any

from llvmlite import ir

from runtime.sim.dot_unit import GROUP_BYTES
from runtime.sim.emit import I32, Emitter, Num, vector
from runtime.sim.geometry import Geometry

__all__ = ["PARAMETERS", "emit_depthwise_step"]

PARAMETERS = ("arena", "dst", "src", "wgt", "count", "src_next", "wgt_next")
"""Elements of the first product, the reduction's trip count, and what its next trip adds."""


def emit_depthwise_step(module: Any, geometry: Geometry) -> Any:
    """Write ``gemm_depthwise``, which adds ``count`` steps to one accumulator element and returns nothing."""
    emit = Emitter(module, "gemm_depthwise", PARAMETERS)
    config = geometry.config
    with emit.loop(config.batch) as row, emit.loop(config.block_out // geometry.lanes) as part:
        _StepWriter(emit, geometry, row, part).write()
    return emit.finish()


@dataclass(frozen=True, slots=True)
class _StepWriter:
    """Writes the code for vector ``part`` of one batch row."""

    emit: Emitter
    geometry: Geometry
    row: Num
    part: Num

    def write(self) -> None:
        """Load the accumulator, run the reduction, store it."""
        emit, geometry, arguments = self.emit, self.geometry, self.emit.arguments
        kind = vector(geometry.lanes, I32)
        place = arguments["arena"] + geometry.acc_at + arguments["dst"] * geometry.acc_elem
        place = place + self.row * geometry.acc_row + self.part * (geometry.lanes * 4)
        total = emit.vector_variable(kind)
        total.set(emit.load(place, kind, 4))
        with emit.loop(arguments["count"]) as trip:
            src = arguments["src"] + trip * arguments["src_next"]
            wgt = arguments["wgt"] + trip * arguments["wgt_next"]
            for tap in range(geometry.config.depthwise_taps):
                product = emit.builder.mul(self._inputs(src + tap, kind), self._weights(wgt, tap, kind))
                total.set(emit.builder.add(total.get(), product))
        emit.store(place, total.get(), 4)

    def _inputs(self, element: Num, kind: Any) -> Any:
        """Return the input lanes as int32, the unit's offset taken off."""
        emit, geometry = self.emit, self.geometry
        stored = GROUP_BYTES // geometry.unit.group
        begin = emit.arguments["arena"] + geometry.inp_at + element * geometry.inp_elem
        begin = begin + self.row * geometry.inp_row + self.part * (geometry.lanes * stored)
        numbers = emit.load(begin, vector(geometry.lanes, ir.IntType(8 * stored)))
        if not geometry.unit.offset:
            return emit.builder.sext(numbers, kind)
        offset = ir.Constant(kind, [geometry.unit.offset] * kind.count)
        return emit.builder.sub(emit.builder.zext(numbers, kind), offset)

    def _weights(self, element: Num, tap: int, kind: Any) -> Any:
        """Return the weights of one tap as int32."""
        emit, geometry = self.emit, self.geometry
        group, place = divmod(tap, geometry.unit.group)
        begin = emit.arguments["arena"] + geometry.wgt_at + element * geometry.wgt_elem
        begin = begin + group * (geometry.config.block_out * GROUP_BYTES) + self.part * (geometry.lanes * 4)
        width = 32 // geometry.unit.group

        def shifts(count: int) -> Any:
            return ir.Constant(kind, [count] * kind.count)

        raised = emit.builder.shl(emit.load(begin, kind, 4), shifts(32 - width * (place + 1)))
        return emit.builder.ashr(raised, shifts(32 - width))
