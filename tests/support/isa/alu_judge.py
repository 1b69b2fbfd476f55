"""What the tensor ALU must compute: the one model by which tests judge reference, simulators, hardware and compiler.

Deliberately apart from ``isa.alu_semantics``: whole numbers of any size, a shift as a product or a floor division, and
a cut to 32 bits at the end.
"""

import functools
from typing import Any, assert_never

import numpy as np
import numpy.typing as npt

from isa.instructions import AluOpcode

__all__ = ["is_constant", "judge", "judge_lanes", "wrap"]

_CORNERS = (-(2**31), -1, 0, 1, 2**31 - 1)


def wrap(value: int) -> int:
    """Return the accumulator number with the low 32 bits of ``value``."""
    return (value + 2**31) % 2**32 - 2**31


def _exact(opcode: AluOpcode, x: int, y: int) -> int:
    match opcode:
        case AluOpcode.MIN:
            return x if x < y else y
        case AluOpcode.MAX:
            return x if x > y else y
        case AluOpcode.ADD:
            return x + y
        case AluOpcode.SHR:
            return x // 2 ** min(y, 64) if y >= 0 else x * 2 ** min(-y, 64)
        case AluOpcode.MUL:
            return x * y
        case _:
            assert_never(opcode)


def judge(opcode: AluOpcode, x: int, y: int) -> int:
    """Return what ``acc[dst] = x`` becomes with operand 1 ``y``."""
    return wrap(_exact(opcode, x, y))


def judge_lanes(opcode: AluOpcode, x: npt.ArrayLike, y: npt.ArrayLike) -> npt.NDArray[np.int32]:
    """Return the same lane by lane, for operands that broadcast to one shape."""
    lanes: Any = np.frompyfunc(functools.partial(judge, opcode), 2, 1)
    return np.asarray(lanes(x, y)).astype(np.int32)


def is_constant(opcode: AluOpcode, y: int) -> bool:
    """Return whether the result with a 16-bit immediate ``y`` is the same for every x; the corners tell."""
    return len({judge(opcode, x, y) for x in _CORNERS}) == 1
