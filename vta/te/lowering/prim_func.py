"""``te.create_prim_func``: tensor expressions as a function of blocks, for ``tir.Schedule``.

For ``B = compute((10,), lambda i: A[i] + 1)``::

    block "root" {
      for (i, 0, 10) {
        block "B" {
          IterVar(v_i, [0:10], "DataPar", "") = i
          B[v_i] = (A[v_i] + 1)

Tests: tests/vta/te/test_prim_func.py.
"""

from __future__ import annotations

from collections.abc import Sequence

from vta.te.lowering.lower import LowerError
from vta.te.operation import ComputeOp, Operation, PlaceholderOp, domain, load_tensor
from vta.te.schedule import create_schedule
from vta.te.tensor import Tensor
from vta.tir.buffer import Buffer
from vta.tir.dtype import HANDLE
from vta.tir.expr import BufferLoad, Expr, IntImm, IterVar, PointerType, ProducerLoad, Range, Reduce, Var
from vta.tir.func import PrimFunc
from vta.tir.stmt import Block, BufferStore, For, IfThenElse, LetStmt, Stmt, seq
from vta.tir.traverse import map_expr, substitute

__all__ = ["create_prim_func"]


def create_prim_func(ops: Sequence[Tensor]) -> PrimFunc:
    """Return the function of tensors ``ops``, its arguments: inputs and outputs; what is between has memory of its own.

    Raises ``LowerError`` for an input that is not among them.
    """
    args = list(ops)
    for arg in args:
        if not isinstance(arg, Tensor):
            raise LowerError(f"create_prim_func takes tensors, not {arg!r}")
    computed = [arg for arg in args if isinstance(arg.op, ComputeOp)]
    if not computed:
        raise LowerError("create_prim_func: expected a computed tensor among the arguments")
    order: list[Operation] = [stage.op for stage in create_schedule([tensor.op for tensor in computed]).stages]
    needed = [tensor for op in order for tensor in op.outputs]
    buffers = {tensor: _buffer(tensor) for tensor in (*needed, *args)}  # an input may be there that nothing reads
    for op in order:
        if isinstance(op, PlaceholderOp) and op.outputs[0] not in args:
            raise LowerError(f"tensor {op.name!r} is an input, but not among the arguments")
    names: set[str] = set()
    nests = [_nest(op, buffers, _unique(op.name, names)) for op in order if isinstance(op, ComputeOp)]
    own = tuple(buffers[t] for op in order for t in op.outputs if t not in args)
    handles = {tensor: Var(buffers[tensor].name, HANDLE) for tensor in args}
    return PrimFunc(
        "main",
        tuple(handles[tensor] for tensor in args),
        Block("root", (), (), seq(nests), alloc_buffers=own),
        {handles[tensor]: buffers[tensor] for tensor in args},
        {"global_symbol": "main", "tir.noalias": True},
    )


def _unique(wanted: str, taken: set[str]) -> str:
    name, number = wanted, 0
    while name in taken or name == "root":
        number += 1
        name = f"{wanted}_{number}"
    taken.add(name)
    return name


def _buffer(tensor: Tensor) -> Buffer:
    data = Var(tensor.name, HANDLE, PointerType(tensor.dtype))
    return Buffer(tensor.name, data, tensor.dtype, tensor.shape)


def _nest(op: ComputeOp, buffers: dict[Tensor, Buffer], name: str) -> Stmt:
    """Return the loops and the block of an operation."""
    first = op.body[0]
    # A loop of no iterations would never reach the start of its block: where there is nothing to combine, that is all.
    empty = any(isinstance(extent := domain(axis).extent, IntImm) and extent.value == 0 for axis in op.reduce_axis)
    roots = op.axis if empty else (*op.axis, *op.reduce_axis)
    loops = [Var(axis.name) for axis in roots]
    renamed: dict[Var, Expr] = {}
    axes: list[IterVar] = []
    for axis in roots:
        dom = domain(axis)
        held = Range(substitute(dom.min, renamed), substitute(dom.extent, renamed))
        axes.append(IterVar(held, Var(f"v_{axis.name}"), axis.kind))
        renamed[axis.var] = axes[-1].var
    of_loop: dict[Var, Expr] = {axis.var: loop for axis, loop in zip(axes, loops, strict=True)}

    def settled(expr: Expr) -> Expr:
        def on_node(node: Expr) -> Expr:
            return BufferLoad(buffers[load_tensor(node)], node.indices) if isinstance(node, ProducerLoad) else node

        return map_expr(on_node, substitute(expr, renamed))

    indices = tuple(renamed[axis.var] for axis in op.axis)
    outputs = [buffers[tensor] for tensor in op.outputs]
    init: Stmt | None = None
    if isinstance(first, Reduce):
        starts = first.init or first.combiner.identity
        init = seq(BufferStore(b, settled(s), indices, op.origin) for b, s in zip(outputs, starts, strict=True))
        if empty:
            body, init = init, None
        else:
            body = _update(first, outputs, indices, [settled(source) for source in first.source])
            condition = settled(first.condition)
            if not (isinstance(condition, IntImm) and condition.value):
                body = IfThenElse(condition, body, None, op.origin)
    else:
        body = seq(BufferStore(b, settled(v), indices, op.origin) for b, v in zip(outputs, op.body, strict=True))
    nest: Stmt = Block(name, tuple(axes), tuple(loops), body, init, origin=op.origin)
    for loop, axis in zip(reversed(loops), reversed(axes), strict=True):
        dom = domain(axis)
        nest = For(loop, substitute(dom.min, of_loop), substitute(dom.extent, of_loop), nest, origin=op.origin)
    return nest


def _update(reduce: Reduce, outputs: list[Buffer], indices: tuple[Expr, ...], sources: list[Expr]) -> Stmt:
    """Return the statement that combines the old values with new ones; several are computed before any is stored."""
    old = [BufferLoad(buffer, indices) for buffer in outputs]
    combined = dict(zip((*reduce.combiner.lhs, *reduce.combiner.rhs), [*old, *sources], strict=True))
    values = [substitute(value, combined) for value in reduce.combiner.result]
    if len(values) == 1:
        return BufferStore(outputs[0], values[0], indices)
    held = [Var(f"{buffer.name}.new", buffer.dtype) for buffer in outputs]
    result: Stmt = seq(BufferStore(b, var, indices) for b, var in zip(outputs, held, strict=True))
    for var, value in zip(reversed(held), reversed(values), strict=True):
        result = LetStmt(var, value, result)
    return result
