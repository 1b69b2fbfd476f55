"""Which operation of TIR becomes which operation of the ALU: the one table of it.

Tests: tests/vta/passes/alu/test_alu_kinds.py and the rest of tests/vta/passes/alu.
"""

from collections.abc import Mapping
from enum import Enum

from isa.alu_semantics import alu_semantics
from isa.instructions import AluOpcode
from vta.tir.expr import Add, Builtin, Call, Expr, Max, Min, Mul, Sub
from vta.tir.expr.arithmetic import Binary

__all__ = ["AluKind", "operands"]

Source = type[Binary] | Builtin
"""How TIR writes an operation: as a node of two operands, or as the call of a builtin."""


class AluKind(Enum):
    """The operations of a stage's expression; one without an opcode is composed of others in ``select.py``.

    ``symbol`` is for messages. A result that ``grows`` may leave the range of a narrow type that both operands fit, and
    is wrapped then.
    """

    # symbol, source, opcode, grows
    ADD = "+", Add, AluOpcode.ADD, True
    SUB = "-", Sub, None, True
    MUL = "*", Mul, AluOpcode.MUL, True
    MIN = "min", Min, AluOpcode.MIN, False
    MAX = "max", Max, AluOpcode.MAX, False
    SHL = "<<", Builtin.SHIFT_LEFT, None, True
    SHR = ">>", Builtin.SHIFT_RIGHT, AluOpcode.SHR, False  # counts are never negative here

    def __init__(self, symbol: str, source: Source, opcode: AluOpcode | None, grows: bool) -> None:
        self.symbol = symbol
        self.source = source
        self.opcode = opcode
        self.grows = grows

    @property
    def commutes(self) -> bool:
        """Whether the operands may be exchanged."""
        return self.opcode is not None and alu_semantics(self.opcode).commutes


_KIND_OF: Mapping[Source, AluKind] = {kind.source: kind for kind in AluKind}


def operands(expr: Expr) -> tuple[AluKind, Expr, Expr] | None:
    """Return what operation ``expr`` is and its two operands, None if it is none of these."""
    match expr:
        case Call(op=op, args=(a, b)) if op in _KIND_OF:
            return _KIND_OF[op], a, b
        case Binary(a=a, b=b) if type(expr) in _KIND_OF:
            return _KIND_OF[type(expr)], a, b
        case _:
            return None
