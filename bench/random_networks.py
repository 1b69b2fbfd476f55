"""Random quantised networks: engines have the bits of the integer graph, and nodes are within one of onnxruntime.

    python -m bench.random_networks --seed 1 --count 200 [--engine tsim] [--steps 8]

Network ``i`` depends on the seed and ``i`` alone (``--only i`` runs it again). A network that differs is printed with
its first node that does, and the exit status is 1.
"""

import argparse
import sys
import time

import onnx

import vta
from runtime.executor.operators.types import Array
from runtime.executor.runner import NetworkRunner
from runtime.session import Session
from tests.support.relay.random_networks import random_network
from vta.relay.backend.compare import NodeDifference, against_integers, against_onnxruntime
from vta.relay.backend.kernel import Kernel
from vta.relay.backend.session import compile_model


def differences(model: onnx.ModelProto, x: Array, engine: str) -> tuple[list[str], int]:
    """Return what is wrong about a network, and how many kernels it has."""
    built = compile_model(model, vta.get_env(), jobs=1, cache=False)
    runner = NetworkRunner(built.network, Session(built.network.config, engine))
    wrong = [_sentence(engine, node) for node in against_integers(built, runner, {"x": x}) if node.different]
    nodes = against_onnxruntime(built.function, model, {"x": x})
    wrong += [_sentence("onnxruntime", node) for node in nodes if node.largest > 1]
    return wrong, sum(isinstance(item, Kernel) for item in built.items)


def _sentence(who: str, node: NodeDifference) -> str:
    return f"{who}: {node.node} ({node.operator}): {node.different} of {node.elements} differ, by up to {node.largest}"


def main() -> None:
    """Try networks and print what differs."""
    parser = argparse.ArgumentParser(description="Compare random quantised networks.")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=50)
    parser.add_argument("--only", type=int)
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--engine", default="sim", choices=["sim", "tsim", "reference"])
    options = parser.parse_args()
    numbers = range(options.count) if options.only is None else [options.only]
    begin, kernels, failed = time.perf_counter(), 0, 0
    for number in numbers:
        model, x = random_network(options.seed * 1_000_000 + number, steps=options.steps)
        wrong, count = differences(model, x, options.engine)
        kernels += count
        failed += bool(wrong)
        if wrong:
            print(f"network {number}: {wrong[0]}")
    seconds = time.perf_counter() - begin
    print(f"{len(numbers)} networks, {kernels} kernels, {failed} differ; {seconds:.0f} s")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
