"""Intrinsics as the body of a computation: ``te.compute((M, N), lambda i: vadd(A[i, 0:N], B[i, 0:N]))``.

The computation is the intrinsic's own, element by element, on the parts of tensors that the call names; its loops from
the intrinsic's first one on are the intrinsic. Tests: tests/vta/te/test_intrinsic_calls.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from vta.arith.simplify import Analyzer
from vta.te.elements import ComputeError
from vta.te.tensor import Tensor, as_index
from vta.te.tensorize.intrin import TensorIntrin
from vta.tir.expr import Expr, ExprLike, IterVar, ProducerLoad, Range, Reduce, Var, const
from vta.tir.traverse import map_expr, substitute

__all__ = ["CallBody", "IntrinsicCall", "body_of_call"]


@dataclass(frozen=True, slots=True)
class IntrinsicCall:
    """``intrinsic`` on a part of each of its inputs: a number or a slice for each dimension of a tensor.

    ``reduce_axis`` are axes of the caller's that it is summed over; ``scalars`` the values of its scalar parameters.
    """

    intrinsic: TensorIntrin
    parts: tuple[tuple[Tensor, tuple[ExprLike | slice, ...]], ...]
    reduce_axis: tuple[IterVar, ...]
    scalars: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class CallBody:
    """What a call computes: axes within the intrinsic, a body for each output, and the intrinsic of this very call."""

    inner_axes: tuple[IterVar, ...]
    body: tuple[Expr, ...]
    intrinsic: TensorIntrin


def body_of_call(call: IntrinsicCall, sizes: Sequence[Expr], name: str) -> CallBody:
    """Return the element-wise computation of a call whose result has dimensions ``sizes`` of its own.

    Raises ``ComputeError`` where parts, sizes, scalars or reduction axes are not the intrinsic's.
    """
    where = f"compute {name!r}: intrinsic {call.intrinsic.name!r}"
    op = call.intrinsic.op
    axes = tuple(IterVar(Range(const(0), size), Var(f"ax{k}")) for k, size in enumerate(sizes))
    values = _indices_within(op.axis, axes, where)
    if len(call.scalars) != len(call.intrinsic.scalar_params):
        raise ComputeError(f"{where}: expected {len(call.intrinsic.scalar_params)} numbers, got {len(call.scalars)}")
    scalars: dict[Var, Expr] = dict(zip(call.intrinsic.scalar_params, call.scalars, strict=True))
    reduced = {axis: replace(axis, var=Var(axis.name)) for axis in op.reduce_axis}
    values |= {axis.var: new.var for axis, new in reduced.items()} | scalars
    if len(call.parts) != len(call.intrinsic.inputs):
        raise ComputeError(f"{where}: expected {len(call.intrinsic.inputs)} tensors, got {len(call.parts)}")
    parts = dict(zip(call.intrinsic.inputs, call.parts, strict=True))

    def placed(expr: Expr) -> Expr:
        if not isinstance(expr, ProducerLoad):
            return expr
        inside = tuple(substitute(index, values) for index in expr.indices)
        wanted = expr.producer
        assert isinstance(wanted, Tensor), "te reads tensors"
        return _element(*parts[wanted], inside, wanted, where)

    body = tuple(_moved(expr, placed, values, call.reduce_axis, reduced, where) for expr in op.body)
    own = op.redefined(tuple(substitute(expr, scalars) for expr in op.body)) if scalars else op
    statements = (call.intrinsic.body, call.intrinsic.reduce_init, call.intrinsic.reduce_update)
    parts_of = [None if stmt is None else substitute(stmt, scalars) for stmt in statements]
    intrinsic = replace(call.intrinsic, op=own, body=parts_of[0], reduce_init=parts_of[1], reduce_update=parts_of[2])
    return CallBody(axes, body, intrinsic)


def _moved(
    expr: Expr,
    placed: object,
    values: Mapping[Var, Expr],
    outer: tuple[IterVar, ...],
    reduced: Mapping[IterVar, IterVar],
    where: str,
) -> Expr:
    """Return one output of the intrinsic's computation in the caller's axes."""
    if not isinstance(expr, Reduce):
        if outer:
            raise ComputeError(f"{where} is no reduction, and cannot be reduced over {outer[0].name!r}")
        return substitute(map_expr(placed, expr), values)  # type: ignore[arg-type]  # a function of expressions
    moved = substitute(map_expr(placed, expr), values)  # type: ignore[arg-type]
    assert isinstance(moved, Reduce)
    return replace(moved, axis=(*outer, *(reduced[axis] for axis in expr.axis)))


def _indices_within(target: Sequence[IterVar], axes: Sequence[IterVar], where: str) -> dict[Var, Expr]:
    """Return what the intrinsic's axes are: the last dimensions of the result, 0 for leading ones of one element."""
    extra = len(target) - len(axes)
    if extra < 0:
        raise ComputeError(f"{where} has {len(target)} dimensions, but {len(axes)} of the result are left for it")
    values: dict[Var, Expr] = {}
    for k, axis in enumerate(target):
        assert axis.dom is not None
        wanted = const(1) if k < extra else axes[k - extra].dom.extent  # type: ignore[union-attr]  # made with one
        if not Analyzer().can_prove_equal(axis.dom.extent, wanted) and not isinstance(axis.dom.extent, Var):
            raise ComputeError(f"{where} has {axis.dom.extent} elements in dimension {k}, the result {wanted}")
        values[axis.var] = const(0) if k < extra else axes[k - extra].var
    return values


def _element(
    tensor: Tensor, region: Sequence[ExprLike | slice], inside: Sequence[Expr], wanted: Tensor, where: str
) -> Expr:
    """Return the element at ``inside`` of the part of ``tensor`` that stands for input ``wanted``."""
    what = f"{where}: tensor {tensor.name!r}"
    if len(region) != tensor.ndim:
        raise ComputeError(f"{what} has {tensor.ndim} dimensions, and {len(region)} are given")
    slices = [k for k, part in enumerate(region) if isinstance(part, slice)]
    skipped = len(inside) - len(slices)
    for k in range(skipped):
        if not isinstance(wanted.shape[k], Var) and not Analyzer().can_prove_equal(wanted.shape[k], 1):
            raise ComputeError(f"{what}: expected {len(inside)} slices, got {len(slices)}")
    if skipped < 0:
        raise ComputeError(f"{what}: expected {len(inside)} slices, got {len(slices)}")
    indices: list[Expr] = []
    for k, part in enumerate(region):
        if not isinstance(part, slice):
            indices.append(as_index(part, what))
            continue
        if part.step not in (None, 1) or part.stop is None:
            raise ComputeError(f"{what}: a part is begin:end, not {part}")
        low = as_index(0 if part.start is None else part.start, what)
        at = skipped + slices.index(k)
        extent = Analyzer().simplify(as_index(part.stop, what) - low)
        size = wanted.shape[at]
        if not isinstance(size, Var) and not Analyzer().can_prove_equal(extent, size):
            raise ComputeError(f"{what}: a part of {extent} elements stands for {size} of {wanted.name!r}")
        indices.append(low + inside[at])
    return tensor(*indices)
