"""The usual order of passes. Tests: tests/vta/relay/transform/test_pipeline.py."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from vta.relay.ir.nodes import Function
from vta.relay.transform.canonicalize_ops import canonicalize_ops
from vta.relay.transform.eliminate_common_subexpressions import eliminate_common_subexpressions
from vta.relay.transform.eliminate_dead_code import eliminate_dead_code
from vta.relay.transform.fold_constants import fold_constants
from vta.relay.transform.fold_scale_axis import fold_scale_axis
from vta.relay.transform.inline_lets import inline_lets
from vta.relay.transform.plain_layouts import plain_layouts
from vta.relay.transform.simplify_inference import simplify_inference

__all__ = ["SIMPLIFY", "AfterEach", "NamedPass", "Pass", "run_passes"]

Pass: TypeAlias = Callable[[Function], Function]
AfterEach: TypeAlias = Callable[[str, Function], None]
"""Called with a pass's name and its result: to print, to time, to compare."""


@dataclass(frozen=True, slots=True)
class NamedPass:
    """A pass and its name, TVM's where TVM has it."""

    name: str
    function: Pass


SIMPLIFY: tuple[NamedPass, ...] = (
    NamedPass("InlineLets", inline_lets),
    NamedPass("PlainLayouts", plain_layouts),
    NamedPass("DeadCodeElimination", eliminate_dead_code),
    NamedPass("SimplifyInference", simplify_inference),
    NamedPass("FoldConstant", fold_constants),
    NamedPass("CanonicalizeOps", canonicalize_ops),
    NamedPass("FoldConstant", fold_constants),
    NamedPass("FoldScaleAxis", fold_scale_axis),
    NamedPass("EliminateCommonSubexpr", eliminate_common_subexpressions),
)
"""What makes a graph of real numbers small and regular. Graphs with quantised numbers have passes of their own, which
keep the scales (``vta.relay.integer.pipeline``)."""


def run_passes(
    function: Function, passes: Sequence[NamedPass] = SIMPLIFY, after_each: AfterEach | None = None
) -> Function:
    """Return ``function`` after ``passes``, in order."""
    for each in passes:
        function = each.function(function)
        if after_each is not None:
            after_each(each.name, function)
    return function
