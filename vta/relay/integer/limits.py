"""Limits that follow a requantisation become its own.

    before                                          after
    %1 = qnn.rescale(%0, ..., out_min=-128)      %2 = qnn.rescale(%0, ..., out_min=0)
    %2 = qnn.rescale(%1, 0, 0, 1, out_min=0)

Some exporters quantise between a layer and its activation, at one scale. Tests: tests/vta/relay/integer/test_limits.py.
"""

from dataclasses import replace

from runtime.executor.operators.names import Op
from runtime.executor.operators.qnn.rescale import OutputAttrs
from runtime.executor.operators.qnn.saturating import RescaleAttrs
from vta.relay.integer.weights import known
from vta.relay.ir.nodes import Call, Expr, Function
from vta.relay.ir.origin import merged
from vta.relay.ir.traverse import children, post_order, use_counts
from vta.relay.ops.rewrite import with_body, with_children

__all__ = ["fold_limits"]


def fold_limits(function: Function) -> Function:
    """Return ``function`` with such pairs as one call, where nothing else reads the first."""
    counts = use_counts(function.body)
    new: dict[Expr, Expr] = {}
    for expr in post_order(function.body):
        rebuilt = with_children(expr, tuple([new[child] for child in children(expr)]))
        new[expr] = rebuilt
        if isinstance(expr, Call) and isinstance(rebuilt, Call) and _limits(expr) and counts[expr.args[0]] == 1:
            inner = rebuilt.args[0]
            assert isinstance(inner, Call)
            new[expr] = _joined(inner, rebuilt)
    return with_body(function, new[function.body])


def _limits(expr: Call) -> bool:
    """Return whether a call limits its operand and leaves it as it is otherwise, and that is a call with limits."""
    attrs = expr.attrs
    if expr.callee is not Op.RESCALE or not isinstance(attrs, RescaleAttrs) or len(expr.args) != 4:
        return False
    if attrs.shift or attrs.zero_point or [_one(argument) for argument in expr.args[1:]] != [0, 0, 1]:
        return False
    inner = expr.args[0]
    if not isinstance(inner, Call) or inner.callee not in (Op.RESCALE, Op.QNN_ADD):
        return False
    assert isinstance(inner.attrs, OutputAttrs)
    return inner.attrs.out_dtype == attrs.out_dtype


def _one(expr: Expr) -> int | None:
    value = known(expr)
    return None if value is None or value.size != 1 else int(value.reshape(()))


def _joined(inner: Call, outer: Call) -> Call:
    first, second = inner.attrs, outer.attrs
    assert isinstance(first, OutputAttrs)
    assert isinstance(second, OutputAttrs)
    low, high = (min(max(end, second.out_min), second.out_max) for end in (first.out_min, first.out_max))
    return replace(
        inner, attrs=replace(first, out_min=low, out_max=high), origins=merged((inner.origins, outer.origins))
    )
