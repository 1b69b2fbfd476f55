"""The reference interpreter with an eye on numbers: sums and products that wrap, and stores that cut.

Tests: ``tests/isa/check/test_sanitizer.py``.
"""

import numpy as np
import numpy.typing as npt

from isa.alu_semantics import exact_operation
from isa.config import VTAConfig
from isa.instructions import FUSED, Alu, AluOpcode
from isa.reference import Reference

__all__ = ["ValueWatch"]

Indices = npt.NDArray[np.int64]
Int32 = npt.NDArray[np.int32]


class ValueWatch(Reference):
    """Executes as ``Reference`` does; ``events`` are sentences about numbers that did not fit, one per step of work."""

    def __init__(self, config: VTAConfig, memory: npt.NDArray[np.uint8], *, first_address: int = 0) -> None:
        super().__init__(config, memory, first_address=first_address)
        self.events: list[str] = []

    def _accumulate(self, dst: Indices, products: Int32) -> None:
        exact = self.acc.astype(np.int64)
        np.add.at(exact, dst, products)
        super()._accumulate(dst, products)
        self._compare("wraps", np.arange(len(exact)), exact, self.acc)

    def _operate(self, alu: Alu, dst: Indices, operand: Int32 | np.int32) -> None:
        exact = exact_operation(alu.alu_opcode, self.acc[dst], operand).reshape(-1, *self.acc.shape[1:])
        super()._operate(alu, dst, operand)
        self._compare("wraps", np.atleast_1d(dst), exact, exact.astype(np.int32))

    def _operate_twice(self, alu: Alu, dst: Indices, src: Indices) -> None:
        x, y, z = (self.acc[index] for index in (dst, src, src + 1))
        super()._operate_twice(alu, dst, src)
        then, elements = FUSED[alu.alu_opcode], np.atleast_1d(dst)
        for opcode, operand in ((alu.alu_opcode, y), (then, z), (AluOpcode.SHR, np.int32(alu.imm))):
            exact = exact_operation(opcode, x, operand).reshape(-1, *self.acc.shape[1:])
            x = exact.astype(np.int32).reshape(x.shape)
            self._compare("wraps", elements, exact, x.reshape(exact.shape))

    def _stored(self, sram: slice) -> npt.NDArray[np.uint8]:
        limit = 1 << (self.config.out_width - 1)
        kept = (self.acc[sram] + limit & 2 * limit - 1) - limit
        self._compare("cuts", np.arange(sram.start, sram.stop), self.acc[sram].astype(np.int64), kept)
        return super()._stored(sram)

    def _compare(self, verb: str, elements: Indices, exact: npt.NDArray[np.int64], kept: Int32) -> None:
        """Note the first number that is not what is kept of it; the first axis is that of ``elements``."""
        wrong = np.argwhere(exact != kept)
        if not wrong.size:
            return
        at = tuple(wrong[0].tolist())
        more = f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
        place = f"ACC element {elements[at[0]]}, row {at[1]}, lane {at[2]}"
        self.events.append(f"{verb} {place}: {exact[at]} becomes {kept[at]}{more}")
