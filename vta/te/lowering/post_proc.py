"""From loops to a function, under TVM's names: what follows ``ScheduleOps`` when a schedule is lowered part by part.

Tests: tests/vta/te/test_schedule_ops.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from vta.te.lowering.lower import Argument, LowerError, add_parameter, function_of
from vta.te.tensor import Tensor
from vta.tir.buffer import Buffer, decl_buffer
from vta.tir.dtype import HANDLE
from vta.tir.expr import BufferLoad, Expr, Var, same
from vta.tir.func import PrimFunc
from vta.tir.stmt import AttrKey, AttrStmt, BufferRealize, BufferStore, Stmt
from vta.tir.traverse import substitute, walk

__all__ = ["SchedulePostProcToPrimFunc", "VerifyCompactBuffer", "get_binds"]


def get_binds(
    args: Sequence[Argument], compact: bool = False, binds: Mapping[Tensor, Buffer] | None = None
) -> tuple[dict[Tensor, Buffer], list[Buffer | Var]]:
    """Return a buffer for each tensor among ``args``, and ``args`` with these buffers.

    Buffers of tensors are compact here, whatever ``compact`` says. Raises ``LowerError`` for what is no argument.
    """
    del compact
    found = dict(binds or {})
    made: list[Buffer | Var] = []
    for arg in args:
        if isinstance(arg, Tensor):
            made.append(found.setdefault(arg, decl_buffer(arg.shape, str(arg.dtype), arg.name)))
        elif isinstance(arg, Buffer | Var):
            made.append(arg)
        else:
            raise LowerError(f"arguments are tensors, buffers and variables, not {arg!r}")
    return found, made


def VerifyCompactBuffer(stmt: Stmt) -> bool:  # noqa: N802  # TVM's name
    """Return whether a program binds parts of buffers to those of intrinsics, which then have to be compact."""
    return any(isinstance(node, AttrStmt) and node.key == AttrKey.BUFFER_BIND_SCOPE for node in walk(stmt))


def SchedulePostProcToPrimFunc(  # noqa: N802  # TVM's name
    arg_list: Sequence[Argument], body: Stmt, bindings: Mapping[Tensor, Buffer] | None = None
) -> PrimFunc:
    """Return the function ``main`` of tensors, buffers and variables whose body ``ScheduleOps`` made.

    A tensor's buffer is the one of its name, shape and type in ``body``, unless ``bindings`` has one for it, which then
    takes that one's place. Raises ``LowerError`` for a tensor that has no buffer there, or several.
    """
    bound = dict(bindings or {})
    for arg in arg_list:
        if not isinstance(arg, Tensor | Buffer | Var):
            raise LowerError(f"arguments are tensors, buffers and variables, not {arg!r}")
    there = _buffers_in(body)
    own = {tensor: _own(tensor, there) for tensor in [*bound, *(arg for arg in arg_list if isinstance(arg, Tensor))]}
    params: dict[Var, Buffer | None] = {}
    for arg in arg_list:
        if isinstance(arg, Var):
            add_parameter(params, arg, None)
            continue
        buffer = bound.get(arg, own[arg]) if isinstance(arg, Tensor) else arg
        add_parameter(params, Var(buffer.name, HANDLE), buffer)
    buffers = {own[tensor]: buffer for tensor, buffer in bound.items()}
    memory: dict[Var, Expr] = {old.data: new.data for old, new in buffers.items()}
    return function_of("main", params, substitute(body, memory, buffers=buffers) if buffers else body)


def _own(tensor: Tensor, there: Sequence[Buffer]) -> Buffer:
    fitting = [b for b in there if (b.name, b.dtype) == (tensor.name, tensor.dtype) and same(b.shape, tensor.shape)]
    if len(fitting) != 1:
        many = "no buffer" if not fitting else f"{len(fitting)} buffers"
        raise LowerError(f"argument {tensor.name!r}: the program has {many} of its name, shape and type")
    return fitting[0]


def _buffers_in(body: Stmt) -> list[Buffer]:
    """Return the buffers that a program reads, writes or realises, in order."""
    found: dict[Buffer, None] = {}
    for node in walk(body):
        if isinstance(node, BufferLoad | BufferStore | BufferRealize):
            found[node.buffer] = None
    return list(found)
