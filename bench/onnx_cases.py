"""The node cases of the installed ``onnx`` package: which are imported and give the right numbers, which are refused.

    python -m bench.onnx_cases            a table by operator
    python -m bench.onnx_cases --reasons  why cases are refused, most frequent first

Inputs that decide shapes (axes, sizes, repeats) are given as constants where the import asks for that. The exit status
says whether every case passed or was refused in a sentence.
"""

import argparse
import re
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

from runtime.executor.operators.types import Array
from vta.relay.interpreter import run
from vta.relay.onnx.errors import OnnxError
from vta.relay.onnx.importer import from_onnx

__all__ = ["Outcome", "Result", "results"]


class Outcome(Enum):
    """What came of a case."""

    PASSED = "passed"
    REFUSED = "refused"
    WRONG = "wrong"


@dataclass(frozen=True, slots=True)
class Result:
    """A case, its operator, what came of it, and why."""

    name: str
    operator: str
    outcome: Outcome
    reason: str = ""


def cases() -> list[Any]:
    """Return the package's unexpanded node cases, made in memory."""
    from onnx.backend.test.case.node import collect_testcases

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [case for case in collect_testcases(None) if "_expanded" not in case.name]


def results() -> Iterator[Result]:
    """Yield the result of every case."""
    for case in cases():
        operator = case.model.graph.node[-1].op_type
        try:
            outcome, reason = _tried(case)
        except OnnxError as error:
            outcome, reason = Outcome.REFUSED, str(error)
        yield Result(case.name, operator, outcome, reason)


def _tried(case: Any) -> tuple[Outcome, str]:
    for inputs, outputs in case.data_sets:
        if not all(isinstance(value, np.ndarray | np.generic) for value in [*inputs, *outputs]):
            from_onnx(case.model)  # lists and optional values: refused
            return Outcome.REFUSED, "the case's values are no tensors"
        given = [np.asarray(value) for value in inputs]
        found = _computed(case.model, given)
        if reason := _difference(found, [np.asarray(value) for value in outputs], case):
            return Outcome.WRONG, reason
    return Outcome.PASSED, ""


def _computed(model: Any, given: list[Array]) -> list[Array]:
    """Return the outputs for ``given``; what decides shapes becomes constant where it has to."""
    names = [value.name for value in model.graph.input]
    try:
        function, inputs = from_onnx(model), given
    except OnnxError as error:
        if "must be constant here" not in str(error):
            raise
        fixed = dict(list(zip(names, given, strict=True))[1:])  # the first input is the data
        function, inputs = from_onnx(model, constants=fixed), given[:1]
    value = run(function, inputs)
    return [np.asarray(each) for each in (value if isinstance(value, tuple) else (value,))]


def _difference(found: list[Array], wanted: list[Array], case: Any) -> str:
    if len(found) != len(wanted):
        return f"{len(found)} outputs, not {len(wanted)}"
    for index, (have, want) in enumerate(zip(found, wanted, strict=True)):
        if (have.dtype, have.shape) != (want.dtype, want.shape):
            return f"output {index}: {have.dtype} of shape {have.shape}, not {want.dtype} of shape {want.shape}"
        if not np.allclose(have, want, rtol=case.rtol, atol=max(case.atol, 1e-6), equal_nan=have.dtype.kind == "f"):
            return f"output {index}: other numbers"
    return ""


def main() -> None:
    """Print the table, or the reasons."""
    parser = argparse.ArgumentParser(description="Run the node cases of the onnx package.")
    parser.add_argument("--reasons", action="store_true", help="print why cases are refused")
    options = parser.parse_args()
    found = list(results())
    if options.reasons:
        reasons = Counter(re.sub(r"'[^']*'", "...", r.reason) for r in found if r.outcome is Outcome.REFUSED)
        for reason, count in reasons.most_common():
            print(f"{count:5d}  {reason}")
    else:
        print("| operator | passed | refused |\n|---|---|---|")
        for operator in sorted({r.operator for r in found}):
            counts = Counter(r.outcome for r in found if r.operator == operator)
            print(f"| {operator} | {counts[Outcome.PASSED]} | {counts[Outcome.REFUSED]} |")
    wrong = [r for r in found if r.outcome is Outcome.WRONG]
    for result in wrong:
        print(f"WRONG {result.name}: {result.reason}")
    counts = Counter(r.outcome for r in found)
    print(f"{len(found)} cases: " + ", ".join(f"{counts[outcome]} {outcome.value}" for outcome in Outcome))
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
