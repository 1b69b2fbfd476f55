"""Every operation that an ALU stage may have, as te writes it and as numpy says what it is."""

from typing import Any

import numpy as np
import numpy.typing as npt

from isa.instructions import AluOpcode
from tests.support.isa.alu_judge import judge_lanes
from vta.passes.alu.kinds import AluKind
from vta.tir.expr import Builtin, Expr, ExprLike, binary, bitwise

__all__ = ["as_expression", "as_numpy"]


def as_expression(kind: AluKind, a: ExprLike, b: ExprLike) -> Expr:
    """Return ``a kind b``."""
    return bitwise(kind.source, a, b) if isinstance(kind.source, Builtin) else binary(kind.source, a, b)


def as_numpy(kind: AluKind, x: Any, y: Any) -> npt.NDArray[np.int32]:
    """Return what ``as_expression`` computes of int32 numbers; counts of shifts are not negative."""
    match kind:
        case AluKind.SUB:
            return judge_lanes(AluOpcode.ADD, x, -np.asarray(y, np.int64))
        case AluKind.SHL:
            return judge_lanes(AluOpcode.SHR, x, -np.asarray(y, np.int64))
        case _:
            assert kind.opcode is not None
            return judge_lanes(kind.opcode, x, y)
