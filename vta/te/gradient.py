"""``te.gradient``: how a tensor depends on others, backwards from the tensor.

For ``B[i] = sum(A[i, k]*W[k])`` and a head h of B's shape, the gradient by A is ``h[i]*W[k]``: the element (i, k) of A
is read for one i and one k, which its own indices say. Axes of the computation that the indices do not say are summed
over. Tests: tests/vta/te/test_gradient.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vta.arith.linear import detect_linear_equation
from vta.te.derivative import GradientError, derivative
from vta.te.operation import ComputeOp, PlaceholderOp, compute, domain, load_tensor, reduce_axis
from vta.te.reducer import sum as te_sum
from vta.te.schedule import dataflow_order
from vta.te.tensor import Tensor
from vta.tir import ops
from vta.tir.expr import (
    Add,
    Builtin,
    Call,
    Expr,
    IntImm,
    IterVar,
    Max,
    Min,
    ProducerLoad,
    Range,
    Reduce,
    Select,
    Var,
    const,
    same,
)
from vta.tir.traverse import substitute, uses_var, walk

__all__ = ["GradientError", "gradient"]


def gradient(output: Tensor, inputs: Tensor | Sequence[Tensor], head: Tensor | None = None) -> list[Tensor]:
    """Return the derivatives of ``output`` by each of ``inputs``, which it may need through any stages.

    With a ``head`` of shape (..., *output.shape) a result has the shape (..., *input.shape): the head's sums with the
    derivatives. Without one, the shape (*output.shape, *input.shape), every derivative by itself. Of elements that are
    largest (or smallest) together, each counts. Raises ``GradientError`` for what has no derivative here.
    """
    wanted = [inputs] if isinstance(inputs, Tensor) else list(inputs)
    if not output.dtype.is_float:
        raise GradientError(f"gradient of {output.name!r}: expected a tensor of floats, got {output.dtype}")
    if head is None:
        head = _identity(output)
    prefix = head.shape[: len(head.shape) - output.ndim]
    if len(head.shape) < output.ndim or not same(head.shape[len(prefix) :], output.shape):
        raise GradientError(f"gradient of {output.name!r}: the last sizes of the head are not those of the tensor")
    parts: dict[Tensor, list[Tensor]] = {output: [head]}
    needed = _needed(output, wanted)
    for op in reversed(dataflow_order([output.op])):
        for own in op.outputs:
            if own in parts and own in needed and not isinstance(op, PlaceholderOp):
                _distribute(own, _total(own, parts[own]), len(prefix), needed, parts)
    return [_total(t, parts[t]) if t in parts else _zeros(t, prefix) for t in wanted]


def _needed(output: Tensor, wanted: Sequence[Tensor]) -> set[Tensor]:
    """Return the tensors on a way from one of ``wanted`` to the output."""
    found = set(wanted)
    for op in dataflow_order([output.op]):
        if any(tensor in found for tensor in op.input_tensors):
            found.update(op.outputs)
    return found


def _distribute(
    tensor: Tensor, head: Tensor, prefix: int, needed: set[Tensor], parts: dict[Tensor, list[Tensor]]
) -> None:
    """Add what the head of a computed tensor gives to all that it reads."""
    op = tensor.op
    if not isinstance(op, ComputeOp):
        raise GradientError(f"gradient: stage {op.name!r} is no computation, so it has no derivative here")
    body = op.body[tensor.value_index]
    source = body.source[body.value_index] if isinstance(body, Reduce) else body
    seen: list[ProducerLoad] = []
    for node in walk(source):
        if not isinstance(node, ProducerLoad) or any(same(node, other) for other in seen):
            continue
        seen.append(node)
        read = load_tensor(node)
        if read not in needed:
            continue
        factor = derivative(source, node)
        if factor is not None:
            if isinstance(body, Reduce):
                factor = _of_reduction(body, factor, op)
            parts.setdefault(read, []).append(_Part(op, body, node, factor, head, prefix).tensor())


def _of_reduction(body: Reduce, factor: Expr, op: ComputeOp) -> Expr:
    """Return the derivative of a reduction's result by what its source has the derivative ``factor`` by."""
    nothing = const(0.0, factor.dtype)
    if not (isinstance(body.condition, IntImm) and body.condition.value):
        factor = ops.if_then_else(body.condition, factor, nothing)
    chosen = _chosen_by(body)
    if chosen is None:
        raise GradientError(
            f"gradient: stage {op.name!r} is a reduction that has no derivative here; sums, max, min and choices do"
        )
    place = tuple(axis.var for axis in op.axis)
    alike = [(body.source[k] == ProducerLoad(op.outputs[k], place)).asexpr() for k in chosen]
    return ops.select(ops.all(*alike), factor, nothing) if alike else factor


def _chosen_by(body: Reduce) -> tuple[int, ...] | None:
    """Return which of a reduction's results say what was chosen of its sources: none for a sum, its own for max.

    A reduction with several results that takes all of one side (argmax) chose where all results are the sources'.
    None for a reduction that is none of these.
    """
    combiner, own = body.combiner, body.value_index
    sides = [{lhs, rhs} for lhs, rhs in zip(combiner.lhs, combiner.rhs, strict=True)]
    match combiner.result[own]:
        case Add(a=Var() as a, b=Var() as b) if {a, b} == sides[own]:
            return ()
        case Max(a=Var() as a, b=Var() as b) | Min(a=Var() as a, b=Var() as b) if {a, b} == sides[own]:
            return (own,)
        case _:
            pass
    arms = [_arms(result) for result in combiner.result]
    first = arms[0]
    for k, arm in enumerate(arms):
        if arm is None or first is None or not same(arm[0], first[0]):
            return None
        if arm[1:] not in ((combiner.lhs[k], combiner.rhs[k]), (combiner.rhs[k], combiner.lhs[k])):
            return None
        if (arm[1] is combiner.lhs[k]) != (first[1] is combiner.lhs[0]):
            return None
    return tuple(range(len(arms)))


def _arms(result: Expr) -> tuple[Expr, Expr, Expr] | None:
    """Return condition and both sides of a choice."""
    match result:
        case Select():
            return result.condition, result.true_value, result.false_value
        case Call(op=Builtin.IF_THEN_ELSE, args=(condition, first, second)):
            return condition, first, second
        case _:
            return None


@dataclass(frozen=True, slots=True)
class _Part:
    """What one read of a computation adds to the gradient of the tensor that it reads."""

    op: ComputeOp
    body: Expr
    read: ProducerLoad
    factor: Expr
    head: Tensor
    prefix: int

    def tensor(self) -> Tensor:
        """Return the sums over all places of the computation where the element is read."""
        source = load_tensor(self.read)
        shape = (*self.head.shape[: self.prefix], *source.shape)
        made = compute(shape, self._element, name=f"{source.name}.grad")
        assert isinstance(made, Tensor)
        return made

    def _element(self, *place: Var) -> Expr:
        outer, own = place[: self.prefix], place[self.prefix :]
        axes = [*self.op.axis, *(self.body.axis if isinstance(self.body, Reduce) else ())]
        values, conditions = _solved(self.read.indices, own, axes)
        left = [axis for axis in axes if axis.var not in values]
        fresh = {axis.var: reduce_axis(_moved(domain(axis), values), axis.name) for axis in left}
        places: dict[Var, Expr] = {var: axis.var for var, axis in fresh.items()}
        settled = {var: substitute(value, places) for var, value in values.items()}
        places |= settled
        at = tuple(places[axis.var] for axis in self.op.axis)
        value = ProducerLoad(self.head, (*outer, *at)) * substitute(self.factor, places)
        checks = [substitute(condition, places) for condition in conditions]
        for axis in axes:
            if axis.var in values:
                dom = domain(axis)
                low = substitute(dom.min, places)
                checks += [settled[axis.var] >= low, settled[axis.var] < low + substitute(dom.extent, places)]
        if checks:
            value = ops.if_then_else(ops.all(*checks), value, const(0.0, value.dtype))
        if not fresh:
            return value
        return te_sum(value, axis=list(fresh.values()))


def _moved(dom: Range, values: dict[Var, Expr]) -> Range:
    if uses_var(dom.min, list(values)) or uses_var(dom.extent, list(values)):
        raise GradientError("gradient: the range of a reduction depends on an axis; its derivative is not here")
    return dom


def _solved(
    indices: Sequence[Expr], place: Sequence[Var], axes: Sequence[IterVar]
) -> tuple[dict[Var, Expr], list[Expr]]:
    """Return what axes must be for ``indices`` to be ``place``, and the conditions under which they are.

    The values are in terms of ``place`` and of the axes that have none.
    """
    values: dict[Var, Expr] = {}
    conditions: list[Expr] = []
    for index, target in sorted(zip(indices, place, strict=True), key=lambda pair: not isinstance(pair[0], Var)):
        wanted = substitute(index, values)
        free = [axis.var for axis in axes if axis.var not in values and uses_var(wanted, axis.var)]
        form = detect_linear_equation(wanted, free) if free else None
        chosen = _choice(form[:-1]) if form is not None else None
        if form is None or chosen is None:
            conditions.append((wanted == target).asexpr())
            continue
        var, factor = free[chosen], form[chosen]
        assert isinstance(factor, IntImm)
        rest = target - form[-1]
        for other, c in zip(free, form, strict=False):
            if other is not var:
                rest = rest - other * c
        size = abs(factor.value)
        if factor.value < 0:
            rest = 0 - rest
        if size > 1:
            conditions.append((rest % size == 0).asexpr())
            rest = rest // size
        values = {known: substitute(value, {var: rest}) for known, value in values.items()}
        conditions = [substitute(condition, {var: rest}) for condition in conditions]
        values[var] = rest
    return values, conditions


def _choice(factors: Sequence[Expr]) -> int | None:
    """Return the variable to solve for: one with the smallest constant factor."""
    sizes = [(abs(f.value), i) for i, f in enumerate(factors) if isinstance(f, IntImm) and f.value]
    return min(sizes)[1] if sizes else None


def _total(tensor: Tensor, parts: list[Tensor]) -> Tensor:
    if len(parts) > 1:

        def added(*place: Var) -> Expr:
            total = parts[0](*place)
            for part in parts[1:]:
                total = total + part(*place)
            return total

        made = compute(parts[0].shape, added, name=f"{tensor.name}.grad.sum")
        assert isinstance(made, Tensor)
        parts[:] = [made]
    return parts[0]


def _identity(output: Tensor) -> Tensor:
    count = output.ndim

    def element(*place: Var) -> Expr:
        same_place = [(a == b).asexpr() for a, b in zip(place[:count], place[count:], strict=True)]
        one, zero = const(1.0, output.dtype), const(0.0, output.dtype)
        return ops.select(ops.all(*same_place), one, zero) if same_place else one

    made = compute((*output.shape, *output.shape), element, name=f"{output.name}.identity")
    assert isinstance(made, Tensor)
    return made


def _zeros(tensor: Tensor, prefix: Sequence[Expr]) -> Tensor:
    zero = const(0.0, tensor.dtype)
    made = compute((*prefix, *tensor.shape), lambda *_: zero, name=f"{tensor.name}.grad")
    assert isinstance(made, Tensor)
    return made
