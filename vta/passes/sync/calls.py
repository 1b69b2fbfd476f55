"""The statements by which a program synchronises with the accelerator.

Tests: tests/vta/passes/sync/test_coproc_sync_plan.py and the rest of tests/vta/passes/sync.
"""

from isa.origin import Origin
from vta.tir.dtype import HANDLE, INT32
from vta.tir.expr import Builtin, Call, Expr, IntImm, StringImm, Var
from vta.tir.stmt import Evaluate, Stmt

__all__ = [
    "command_handle",
    "dep_pop",
    "dep_push",
    "is_sync",
    "plan_tokens",
    "read_barrier",
    "sync",
    "write_barrier",
]


def command_handle() -> Call:
    """Return the argument by which runtime calls name the command queue."""
    return Call(HANDLE, Builtin.THREAD_CONTEXT, (Call(HANDLE, Builtin.COMMAND_HANDLE),))


def sync() -> Evaluate:
    """Return the statement that starts the accelerator and waits until it is done."""
    return Evaluate(Call(INT32, Builtin.COPROC_SYNC), origin=Origin("synchronise"))


def is_sync(stmt: Stmt) -> bool:
    """Whether ``stmt`` waits for the accelerator."""
    return isinstance(stmt, Evaluate) and isinstance(stmt.value, Call) and stmt.value.op is Builtin.COPROC_SYNC


def plan_tokens() -> Evaluate:
    """Return the statement after which the runtime orders the modules of the program by itself."""
    return Evaluate(Call(INT32, Builtin.CALL_EXTERN, (StringImm("VTAPlanTokens"), command_handle())))


def dep_push(source: int, target: int) -> Evaluate:
    """Return the statement by which module ``source`` gives module ``target`` a token."""
    return Evaluate(Call(INT32, Builtin.COPROC_DEP_PUSH, (IntImm(source), IntImm(target))))


def dep_pop(source: int, target: int) -> Evaluate:
    """Return the statement by which module ``target`` waits for a token of module ``source``."""
    return Evaluate(Call(INT32, Builtin.COPROC_DEP_POP, (IntImm(source), IntImm(target))))


def write_barrier(data: Var, bits: int, start: Expr, extent: Expr) -> Evaluate:
    """Return the call that shows the host what the accelerator wrote to ``extent`` elements of ``bits`` bits."""
    return _barrier("VTAWriteBarrier", data, bits, start, extent)


def read_barrier(data: Var, bits: int, start: Expr, extent: Expr) -> Evaluate:
    """Return the call that shows the accelerator what the host wrote to ``extent`` elements of ``bits`` bits."""
    return _barrier("VTAReadBarrier", data, bits, start, extent)


def _barrier(symbol: str, data: Var, bits: int, start: Expr, extent: Expr) -> Evaluate:
    args = (StringImm(symbol), command_handle(), data, IntImm(bits), start, extent)
    return Evaluate(Call(INT32, Builtin.CALL_EXTERN, args))
