"""Compare networks as C with numpy: random steps of the host, and random quantised networks.

    python -m bench.c_networks --seed 0 --count 300

Half of the programs are chains and branches of the host's operators over all element types
(``tests/support/relay/random_host_steps.py``), the others quantised networks with kernels on the accelerator
(``tests/support/relay/random_integers.py``). All that can be C is compiled in one go by the machine's compiler, and run
twice on a board whose accelerator is the functional simulator. What is refused is counted by its reason. The exit
status is 1 if any number differs.
"""

import argparse
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import vta
from isa.config import VTAConfig
from runtime.executor.network import Network
from runtime.executor.runner import NetworkRunner
from runtime.session import Session
from tests.support.hw.c_board import built, missing_compiler
from tests.support.hw.functional_board import FunctionalBoard
from tests.support.relay.random_host_steps import RandomSteps
from tests.support.relay.random_integers import random_network
from vta.relay.backend.build import build_network
from vta.relay.c import CExportError, CSources, c_sources

Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """A network with inputs, and what it is as C."""

    name: str
    network: Network
    inputs: Mapping[str, Array]
    sources: CSources


def network_of(seed: int, *, of_host: bool) -> tuple[Network, Mapping[str, Array]] | None:
    """Return a random network and inputs; None for one without steps."""
    if of_host:
        steps = RandomSteps(seed)
        network = steps.network
        return None if network is None else (network, {"x": steps.input})
    random = random_network(seed, nodes=3 + seed % 5)
    names = [param.name for param in random.model.params]
    compiled = build_network(random.model, vta.Environment(VTAConfig()), jobs=1).network
    return compiled, dict(zip(names, random.inputs(), strict=True))


def difference(case: Case, library: Any) -> str | None:
    """Return the first tensor that differs, None if none does."""
    with np.errstate(all="ignore"):
        wanted = NetworkRunner(case.network, Session(case.network.config, "sim")).run(case.inputs)
    board = FunctionalBoard(case.network.config, case.sources.memory_bytes)
    if board.call(getattr(library, f"{case.name}_load")):
        return "it does not load"
    found = [np.zeros(value.shape, value.dtype) for value in wanted.values()]
    inputs = [np.ascontiguousarray(case.inputs[name]) for name in case.network.inputs]
    for _ in range(2):
        if status := board.call(getattr(library, f"{case.name}_run"), *inputs, *found):
            return f"status {status}"
        for (name, value), other in zip(wanted.items(), found, strict=True):
            if not np.array_equal(value, other, equal_nan=value.dtype.kind == "f"):
                return name
    return None


def main() -> int:
    """Run the command line; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=300)
    arguments = parser.parse_args()
    if missing_compiler():
        parser.error(missing_compiler())
    cases: list[Case] = []
    refused: Counter[str] = Counter()
    for seed in range(arguments.seed, arguments.seed + arguments.count):
        made = network_of(seed, of_host=seed % 2 == 0)
        if made is None:
            continue
        try:
            cases.append(Case(f"n{seed}", *made, c_sources(made[0], f"n{seed}")))
        except CExportError as error:
            reason = re.search(r"\(.*?\)|\S+ has no type", str(error))
            refused[reason.group() if reason else str(error)] += 1
    files = {name: text for case in cases for name, text in case.sources.files.items()}
    with tempfile.TemporaryDirectory() as folder:
        library = built(files, Path(folder))
    wrong = {case.name: what for case in cases if (what := difference(case, library)) is not None}
    for name, what in wrong.items():
        print(f"{name}: {what} differs")
    reasons = ", ".join(f"{count} {reason}" for reason, count in refused.most_common())
    print(f"{len(cases)} networks as C, {len(wrong)} differ; {sum(refused.values())} refused: {reasons}")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
