"""The node cases of the installed ``onnx`` package: which are compiled and give the right numbers, which are refused.

    python -m bench.onnx_cases            a table of who computed which operators' cases
    python -m bench.onnx_cases --reasons  why cases are refused, most frequent first

Every case is compiled and run as a network on ``sim``, with everything compiled for the host that can be, also where it
is too small to pay. A case counts for the accelerator if some of it ran there, for onnxruntime if some of it ran there,
for our compiler if it compiled some of it, and else for the operators in numpy. Inputs that decide shapes (axes, sizes,
repeats) are given as constants where the import asks for that. The exit status says whether every case passed or was
refused in a sentence.
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

from isa.config import VTAConfig
from runtime.executor.network import DeviceStep, HostStep, Network, NetworkError
from runtime.executor.operators.names import Op
from runtime.executor.operators.types import Array, RelayError
from runtime.executor.runner import NetworkRunner
from runtime.session import Session
from vta.environment import Environment
from vta.relay.backend.build import build_network
from vta.relay.backend.host_functions import host_functions
from vta.relay.ir.nodes import Function
from vta.relay.ir.traverse import calls
from vta.relay.onnx.errors import OnnxError
from vta.relay.onnx.importer import from_onnx

__all__ = ["Outcome", "Place", "Result", "results"]


class Outcome(Enum):
    """What came of a case."""

    PASSED = "passed"
    REFUSED = "refused"
    WRONG = "wrong"


class Place(Enum):
    """Who computed a case."""

    ACCELERATOR = "accelerator"
    COMPILED = "our compiler"
    NUMPY = "our operators in numpy"
    ONNXRUNTIME = "onnxruntime"


@dataclass(frozen=True, slots=True)
class Result:
    """A case, its operator, what came of it, and why, or who computed it."""

    name: str
    operator: str
    outcome: Outcome
    reason: str = ""
    place: Place | None = None


def cases() -> list[Any]:
    """Return the package's unexpanded node cases, made in memory."""
    from onnx.backend.test.case.node import collect_testcases

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [case for case in collect_testcases(None) if "_expanded" not in case.name]


def results(step: int = 1) -> Iterator[Result]:
    """Yield the result of every case, or of every ``step``-th one of each operator."""
    seen: Counter[str] = Counter()
    for case in cases():
        number = seen[case.model.graph.node[-1].op_type]
        seen[case.model.graph.node[-1].op_type] += 1
        if number % step:
            continue
        operator = case.model.graph.node[-1].op_type
        place = None
        try:
            outcome, reason, place = _tried(case)
        except (OnnxError, RelayError, NetworkError) as error:
            outcome, reason = Outcome.REFUSED, str(error)
        yield Result(case.name, operator, outcome, reason, place)


def _tried(case: Any) -> tuple[Outcome, str, Place | None]:
    place = None
    for inputs, outputs in case.data_sets:
        if not all(isinstance(value, np.ndarray | np.generic) for value in [*inputs, *outputs]):
            from_onnx(case.model)  # lists and optional values: refused
            return Outcome.REFUSED, "the case's values are no tensors", None
        given = [np.asarray(value) for value in inputs]
        found, place = _computed(case.model, given)
        if reason := _difference(found, [np.asarray(value) for value in outputs], case):
            return Outcome.WRONG, reason, place
    return Outcome.PASSED, "", place


def _computed(model: Any, given: list[Array]) -> tuple[list[Array], Place]:
    """Return the outputs for ``given``, and who computed them; what decides shapes becomes constant where it has to."""
    function, inputs = _imported(model, given)
    network = build_network(function, Environment(VTAConfig()), jobs=1).network
    fused = host_functions(network, jobs=1, pays=0)
    runner = NetworkRunner(network, Session(network.config, "sim"), fused=fused)
    made = runner.run(dict(zip(network.inputs, inputs, strict=True)))
    return [made[name] for name in network.outputs], _place(network, is_compiled=bool(fused))


def _imported(model: Any, given: list[Array]) -> tuple[Function, list[Array]]:
    """Return the function and its inputs: with all but the data constant where this spares a call of onnxruntime."""
    names = [value.name for value in model.graph.input]
    try:
        function = from_onnx(model)
    except OnnxError as error:
        if "must be constant here" not in str(error):
            raise
        function = None
    if function is not None and (len(given) < 2 or (not _is_foreign(function) and not _is_quantised(model))):
        return function, given
    try:
        settled = from_onnx(model, constants=dict(list(zip(names, given, strict=True))[1:]))
    except OnnxError:
        if function is None:
            raise
        settled = function
    better = function is None or (settled is not function and not _is_foreign(settled))
    if better:
        return settled, given[:1]
    assert function is not None
    return function, given


def _is_foreign(function: Function) -> bool:
    return any(each.callee == Op.ONNX_NODE for each in calls(function))


def _is_quantised(model: Any) -> bool:
    """Return whether the case is a layer of integers, whose weights and scales a real model has as constants."""
    return model.graph.node[-1].op_type in ("QLinearConv", "QLinearMatMul", "ConvInteger", "MatMulInteger")


def _place(network: Network, *, is_compiled: bool) -> Place:
    if any(isinstance(step, DeviceStep) for step in network.steps):
        return Place.ACCELERATOR
    foreign = any(isinstance(step, HostStep) and step.operator == Op.ONNX_NODE for step in network.steps)
    if foreign:
        return Place.ONNXRUNTIME
    return Place.COMPILED if is_compiled else Place.NUMPY


def _difference(found: list[Array], wanted: list[Array], case: Any) -> str:
    if len(found) != len(wanted):
        return f"{len(found)} outputs, not {len(wanted)}"
    for index, (have, want) in enumerate(zip(found, wanted, strict=True)):
        if (have.dtype, have.shape) != (want.dtype, want.shape):
            return f"output {index}: {have.dtype} of shape {have.shape}, not {want.dtype} of shape {want.shape}"
        if not np.allclose(have, want, rtol=case.rtol, atol=max(case.atol, 1e-6), equal_nan=have.dtype.kind == "f"):
            return f"output {index}: other numbers"
    return ""


def _print_table(found: list[Result]) -> None:
    """Print which operators' cases each place computed, and which were refused."""
    print("| by | cases | of operators |\n|---|---|---|")
    for name, place in [*((place.value, place) for place in Place), ("refused", None)]:
        mine = Counter(r.operator for r in found if r.place is place and r.outcome is not Outcome.WRONG)
        listed = ", ".join(f"{operator} {count}" for operator, count in sorted(mine.items()))
        print(f"| {name} | {mine.total()} | {listed or 'none'} |")


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
        _print_table(found)
    wrong = [r for r in found if r.outcome is Outcome.WRONG]
    for result in wrong:
        print(f"WRONG {result.name}: {result.reason}")
    counts = Counter(r.outcome for r in found)
    places = Counter(r.place for r in found if r.outcome is Outcome.PASSED)
    print(f"{len(found)} cases: " + ", ".join(f"{counts[outcome]} {outcome.value}" for outcome in Outcome))
    print("passed by: " + ", ".join(f"{places[place]} {place.value}" for place in Place))
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
