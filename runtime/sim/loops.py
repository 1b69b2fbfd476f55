"""The two loops and the micro-op range that GEMM and ALU words share: fields, micro-ops, and exact bounds.

Every factor and index is unsigned, so an index is largest at the end of both loops, and the largest over all
micro-ops is exact. Tests: ``tests/runtime/sim/test_failures.py``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from isa.layout import uop_layout
from runtime.sim.decode import Fields
from runtime.sim.emit import I32, Emitter, Num
from runtime.sim.failures import Failing
from runtime.sim.geometry import Geometry
from runtime.sim.record import Failure, UopField

__all__ = ["Loops"]


@dataclass(frozen=True, slots=True)
class Loops:
    """The loop nest of the instruction whose ``fields`` are given."""

    emit: Emitter
    geometry: Geometry
    fields: Fields

    def factor(self, operand: UopField, loop: str) -> Num:
        """Return what one step of ``loop`` (``out`` or ``in``) adds to the index of ``operand``."""
        return self.fields[f"{operand.name.lower()}_factor_{loop}"]

    @property
    def trips(self) -> Num:
        """How many tensor operations the instruction does."""
        uops = self.fields["uop_end"] - self.fields["uop_bgn"]
        empty = self.fields["uop_end"] <= self.fields["uop_bgn"]
        return empty.select(0, self.fields["iter_out"] * self.fields["iter_in"] * uops)

    def micro_op(self, index: Num) -> Fields:
        """Return the micro-op at ``index`` of the buffer."""
        at = self.emit.arguments["arena"] + self.geometry.uop_at + index * 4
        return Fields(uop_layout(self.geometry.config), (self.emit.read(at, I32),))

    def check(self, failing: Failing, depths: Mapping[UopField, int], *, more_sources: Num | int = 0) -> None:
        """Fail if the micro-op range or any operand in ``depths`` is out of bounds; there is at least one trip.

        A step reads ``more_sources`` elements after the source that its index says.
        """
        depth = self.geometry.config.uop_depth
        with self.emit.when(self.fields["uop_end"] > depth):
            failing.fail(Failure.UOP_RANGE, value=self.fields["uop_end"], limit=depth)
        largest = self._largest_indices(failing, tuple(depths))
        for operand, depth in depths.items():
            reach = largest[operand] + (more_sources if operand is UopField.SRC else 0)
            for loop in ("out", "in"):
                reach = reach + (self.fields[f"iter_{loop}"] - 1) * self.factor(operand, loop)
            with self.emit.when(reach >= depth):
                failing.fail(Failure.INDEX_RANGE, value=reach, limit=depth, detail=operand)

    def _largest_indices(self, failing: Failing, operands: Sequence[UopField]) -> dict[UopField, Num]:
        emit = self.emit
        largest = {operand: emit.variable() for operand in operands}
        unused = emit.variable()
        with emit.loop(self.fields["uop_end"], begin=self.fields["uop_bgn"]) as index:
            micro_op = self.micro_op(index)
            unused.assign(unused.num | micro_op.unused_bits())
            for operand, variable in largest.items():
                variable.assign(variable.num.maximum(micro_op[operand.name.lower()]))
        with emit.when(unused.num.differs(0)):
            failing.fail(Failure.ILLEGAL_UOP)
        return {operand: variable.num for operand, variable in largest.items()}
