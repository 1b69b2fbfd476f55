"""Refuse a computation that certainly reads beyond a tensor.

Only reads that happen for every element are looked at: not those in ``if_then_else``, ``Select``, a reduction with a
condition or a let. Of those, indices that are linear in the axes with constant ranges, whose smallest and largest value
are known exactly. Tests: tests/vta/te/test_index_range.py.
"""

from collections.abc import Container, Iterator, Sequence

from vta.arith.linear import detect_linear_equation
from vta.te.tensor import Tensor, TensorError
from vta.tir.expr import Builtin, Call, Expr, IntImm, IterVar, Let, ProducerLoad, Range, Reduce, Select
from vta.tir.printer import to_text
from vta.tir.traverse import expr_children

__all__ = ["check_indices"]


def check_indices(
    body: Sequence[Expr], axes: Sequence[IterVar], stage: str, states: Container[Tensor] | None = None
) -> bool:
    """Raise ``TensorError`` if a read in ``body`` leaves its tensor for some value of ``axes``.

    Rows before the first one may be read of ``states``, the states of scans. Where these are not known yet, they may
    be of any placeholder, and the answer says whether they are: then the check is made again later.
    """
    earlier = False
    for expr in body:
        for load, inner in _certain_reads(expr, tuple(axes)):
            earlier |= _check(load, inner, stage, states)
    return earlier


def _may_be_state(tensor: Tensor, states: Container[Tensor] | None) -> bool:
    return not tensor.op.input_tensors if states is None else tensor in states


def _certain_reads(expr: Expr, axes: tuple[IterVar, ...]) -> Iterator[tuple[ProducerLoad, tuple[IterVar, ...]]]:
    """Yield the reads that happen for every value of the axes, and these axes, those of a reduction among them."""
    work = [(expr, axes)]
    seen: set[tuple[int, int]] = set()
    while work:
        part, around = work.pop()
        match part:
            case Call(op=Builtin.IF_THEN_ELSE) | Select() | Let():
                continue
            case Reduce():
                work += [(start, around) for start in reversed(part.init)]
                if isinstance(part.condition, IntImm) and part.condition.value:
                    work += [(source, (*around, *part.axis)) for source in reversed(part.source)]
                continue
            case ProducerLoad():
                yield part, around
            case _:
                pass
        below = expr_children(part)
        if below and (id(part), len(around)) not in seen:
            seen.add((id(part), len(around)))
            work += [(child, around) for child in reversed(below)]


def _check(load: ProducerLoad, axes: tuple[IterVar, ...], stage: str, states: Container[Tensor] | None) -> bool:
    """Check one read; return whether it is of rows before the first one, which only states have."""
    earlier = False
    tensor = load.producer
    assert isinstance(tensor, Tensor), "te bodies read tensors"
    for position, (index, size) in enumerate(zip(load.indices, tensor.shape, strict=True)):
        ends = _ends(index, axes)
        if ends is None or not isinstance(size, IntImm) or (ends[0] >= 0 and ends[1] < size.value):
            continue
        if position == 0 and ends[0] < 0 <= ends[1] < size.value and _may_be_state(tensor, states):
            earlier = True
            continue
        reach = str(ends[0]) if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}"
        raise TensorError(
            f"compute {stage!r}: index {to_text(index)} in dimension {position} of tensor {tensor.name!r}: expected 0 "
            f"to {size.value - 1}, got {reach}; te.if_then_else(condition, {tensor.name}[...], 0) pads"
        )
    return earlier


def _ends(index: Expr, axes: tuple[IterVar, ...]) -> tuple[int, int] | None:
    """Return the smallest and the largest value of ``index``, exactly, or None if they are not known."""
    form = detect_linear_equation(index, [axis.var for axis in axes])
    if form is None or not isinstance(form[-1], IntImm):
        return None
    low = high = form[-1].value
    for axis, step in zip(axes, form, strict=False):
        if isinstance(step, IntImm) and step.value == 0:
            continue
        match axis.dom, step:
            case Range(min=IntImm(value=first), extent=IntImm(value=extent)), IntImm(value=factor) if extent > 0:
                reached = factor * first, factor * (first + extent - 1)
                low, high = low + min(reached), high + max(reached)
            case _:
                return None
    return low, high
