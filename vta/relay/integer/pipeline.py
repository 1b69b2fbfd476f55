"""From a model with quantise and dequantise to integers: the passes, in order.

Tests: tests/vta/relay/integer/test_pipeline.py.
"""

from collections.abc import Sequence

from runtime.executor.operators.names import Op
from vta.relay.integer.convert import to_integers
from vta.relay.integer.limits import fold_limits
from vta.relay.integer.zero_points import fold_zero_points
from vta.relay.ir.nodes import Function
from vta.relay.ir.traverse import calls
from vta.relay.transform.eliminate_common_subexpressions import eliminate_common_subexpressions
from vta.relay.transform.eliminate_dead_code import eliminate_dead_code
from vta.relay.transform.fold_constants import fold_real_constants
from vta.relay.transform.inline_lets import inline_lets
from vta.relay.transform.pipeline import SIMPLIFY, AfterEach, NamedPass, run_passes
from vta.relay.transform.plain_layouts import plain_layouts
from vta.relay.transform.simplify_inference import simplify_inference

__all__ = ["TO_INTEGERS", "integer_network", "is_quantised", "passes_for"]

TO_INTEGERS: tuple[NamedPass, ...] = (
    NamedPass("InlineLets", inline_lets),
    NamedPass("PlainLayouts", plain_layouts),
    NamedPass("DeadCodeElimination", eliminate_dead_code),
    NamedPass("SimplifyInference", simplify_inference),
    NamedPass("FoldConstant", fold_real_constants),
    NamedPass("EliminateCommonSubexpr", eliminate_common_subexpressions),
    NamedPass("ToIntegers", to_integers),
    NamedPass("FoldLimits", fold_limits),
    NamedPass("FoldZeroPoints", fold_zero_points),
)
"""Batch norms become factors and offsets of channels; what readers dequantise each for itself becomes one value."""


_QUANTISED = (Op.QUANTIZE, Op.DEQUANTIZE)


def is_quantised(function: Function) -> bool:
    """Return whether integers stand for real numbers somewhere in ``function``."""
    return any(each.callee in _QUANTISED or str(each.callee).startswith("qnn.") for each in calls(function))


def passes_for(function: Function) -> tuple[NamedPass, ...]:
    """Return the passes that prepare ``function``: to integers, or those of real numbers where there are none."""
    return TO_INTEGERS if is_quantised(function) else SIMPLIFY


def integer_network(
    function: Function, after_each: AfterEach | None = None, *, passes: Sequence[NamedPass] | None = None
) -> Function:
    """Return ``function`` with integer operators wherever quantised numbers allow them; inputs and outputs stay.

    ``passes`` are those of ``passes_for``, or some of them.
    """
    return run_passes(function, passes_for(function) if passes is None else passes, after_each)
