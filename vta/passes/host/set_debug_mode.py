"""Tell the runtime the debug flag at the beginning of the function.

Before::

body()

After, for flag 6::

    VTASetDebugMode(thread_context(command_handle()), 6)
    body()

Flag 0 changes nothing. The bits are the runtime's. Tests: tests/vta/passes/generic/test_clean_up.py.
"""

from dataclasses import replace

from isa.config import VTAConfig
from vta.passes.errors import PassError
from vta.tir.dtype import HANDLE, INT32
from vta.tir.expr import Builtin, Call, Expr, IntImm, StringImm
from vta.tir.func import Pass, PrimFunc
from vta.tir.stmt import Evaluate, seq

__all__ = ["SET_DEBUG_MODE", "DebugFlagError", "command_context", "set_debug_mode"]

SET_DEBUG_MODE = "VTASetDebugMode"


class DebugFlagError(PassError):
    """A debug flag that the runtime cannot take."""


def command_context() -> Expr:
    """Return the runtime's command queue, the first argument of its calls."""
    return Call(HANDLE, Builtin.THREAD_CONTEXT, (Call(HANDLE, Builtin.COMMAND_HANDLE),))


def set_debug_mode(flag: int) -> Pass:
    """Return the pass that sets the runtime's debug flag to ``flag``; raises ``DebugFlagError`` if it is no int32."""
    if not 0 <= flag < 1 << 31:
        raise DebugFlagError("debug_flag", expected="a sum of the runtime's flag bits, 0 to 2147483647", got=str(flag))

    def set_flag(func: PrimFunc, config: VTAConfig) -> PrimFunc:  # noqa: ARG001  # every pass has this signature
        if flag == 0:
            return func
        call = Call(INT32, Builtin.CALL_EXTERN, (StringImm(SET_DEBUG_MODE), command_context(), IntImm(flag)))
        return replace(func, body=seq([Evaluate(call), func.body]))

    return set_flag
