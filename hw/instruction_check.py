"""Which words are legal, and where they go: the hardware of ``isa.legality``'s table.

Tests: ``tests/hw/test_instruction_check.py``; ports and resets: ``tests/hw/test_ports.py``, ``tests/hw/test_reset.py``.
"""

from functools import reduce
from operator import and_, or_
from typing import Any, assert_never

from amaranth.hdl import Const, Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.layouts import instruction_struct
from isa.config import VTAConfig
from isa.instructions import MemoryId, Opcode
from isa.layout import instruction_layouts
from isa.legality import Rule, legality_rules
from isa.machine.error_codes import ErrorCode

__all__ = ["InstructionCheck"]


class InstructionCheck(wiring.Component):
    """Decides about one word; purely combinational.

    Parameters
    ----------
    vta : VTAConfig
        Layouts and rules.

    Members
    -------
    word : In(128)
        An instruction.
    error : Out(ErrorCode)
        NONE if it is legal.
    to_load, to_compute, to_store : Out(1)
        The module that runs it; meaningful for legal words.
    finish : Out(1)
        It is FINISH.
    """

    def __init__(self, vta: VTAConfig) -> None:
        self.vta = vta
        super().__init__(
            {
                "word": In(128),
                "error": Out(ErrorCode),
                "to_load": Out(1),
                "to_compute": Out(1),
                "to_store": Out(1),
                "finish": Out(1),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        """Build the checks of every opcode."""
        m = Module()
        load = data.View(instruction_struct(self.vta, "LOAD"), self.word)
        fills_load = (load.memory == MemoryId.INP) | (load.memory == MemoryId.WGT)
        with m.Switch(load.opcode):
            for opcode in Opcode:
                with m.Case(opcode):
                    self._check(m, opcode.name)
                    match opcode:
                        case Opcode.LOAD:
                            m.d.comb += [self.to_load.eq(fills_load), self.to_compute.eq(~fills_load)]
                        case Opcode.STORE:
                            m.d.comb += self.to_store.eq(1)
                        case Opcode.FINISH:
                            m.d.comb += [self.to_compute.eq(1), self.finish.eq(1)]
                        case Opcode.GEMM | Opcode.ALU:
                            m.d.comb += self.to_compute.eq(1)
                        case _:
                            assert_never(opcode)
            with m.Default():
                m.d.comb += self.error.eq(ErrorCode.OPCODE)
        return m

    def _check(self, m: Module, name: str) -> None:
        """Check unused bits and rules of the layout ``name``."""
        view = data.View(instruction_struct(self.vta, name), self.word)
        unused = [view[field.name].any() for field in instruction_layouts(self.vta)[name].fields if field.unused]
        broken = [_broken(view, rule) for rule in legality_rules(self.vta)[name]]
        is_unused = Signal(name=f"{name.lower()}_unused")
        is_broken = Signal(name=f"{name.lower()}_broken")
        m.d.comb += [
            is_unused.eq(reduce(or_, unused, Const(0))),
            is_broken.eq(reduce(or_, broken, Const(0))),
        ]
        with m.If(is_unused):
            m.d.comb += self.error.eq(ErrorCode.UNUSED_BITS)
        with m.Elif(is_broken):
            m.d.comb += self.error.eq(ErrorCode.ILLEGAL)


def _broken(view: Any, rule: Rule) -> Any:
    """Return whether the word breaks ``rule``."""
    holds = []
    for condition in rule.conditions:
        one_of = reduce(or_, [view[condition.field] == value for value in condition.values], Const(0))
        holds.append(~one_of if condition.negated else one_of)
    return reduce(and_, holds)
