"""From a model with quantise and dequantise to integers: the passes, in order.

Tests: tests/vta/relay/integer/test_pipeline.py.
"""

from vta.relay.integer.convert import to_integers
from vta.relay.integer.limits import fold_limits
from vta.relay.ir.nodes import Function
from vta.relay.transform.eliminate_common_subexpressions import eliminate_common_subexpressions
from vta.relay.transform.eliminate_dead_code import eliminate_dead_code
from vta.relay.transform.fold_constants import fold_real_constants
from vta.relay.transform.inline_lets import inline_lets
from vta.relay.transform.pipeline import AfterEach, NamedPass, run_passes
from vta.relay.transform.simplify_inference import simplify_inference

__all__ = ["TO_INTEGERS", "integer_network"]

TO_INTEGERS: tuple[NamedPass, ...] = (
    NamedPass("InlineLets", inline_lets),
    NamedPass("DeadCodeElimination", eliminate_dead_code),
    NamedPass("SimplifyInference", simplify_inference),
    NamedPass("FoldConstant", fold_real_constants),
    NamedPass("EliminateCommonSubexpr", eliminate_common_subexpressions),
    NamedPass("ToIntegers", to_integers),
    NamedPass("FoldLimits", fold_limits),
)
"""Batch norms become factors and offsets of channels; what readers dequantise each for itself becomes one value."""


def integer_network(function: Function, after_each: AfterEach | None = None) -> Function:
    """Return ``function`` with integer operators wherever quantised numbers allow them; inputs and outputs stay."""
    return run_passes(function, TO_INTEGERS, after_each)
