"""Whole quantised networks on the accelerator, beside onnxruntime on the same numbers, in one run.

    python -m bench.networks resnet18 [resnet50 efficientnet-lite0 ...] [--engines sim tsim] [--pictures 1]

The networks have their published shapes and seeded weights, quantised by onnxruntime's tool (int8, symmetric, a scale a
channel). For each: which part of its multiplications the accelerator does; whether every engine gives the bits of the
integer graph's interpreter; how many int8 activations equal onnxruntime's, a node at a time (each fed with
onnxruntime's inputs) and at the end; cycles; times of compiling and of one inference. The exit status says whether the
bits are equal and no node is off by more than one.
"""

import argparse
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import onnx
import onnxruntime

import vta
from bench.models.networks import NETWORKS
from bench.models.quantised import pictures, quantised
from runtime.executor.operators.types import Array
from runtime.executor.runner import NetworkRunner
from runtime.session import Session
from vta.relay.backend.build import Built
from vta.relay.backend.compare import against_onnxruntime
from vta.relay.backend.host_functions import host_functions
from vta.relay.backend.report import macs_of
from vta.relay.backend.session import compile_model
from vta.relay.interpreter import run
from vta.relay.ir.traverse import calls


def median_ms(call: Callable[[], object], rounds: int) -> float:
    """Return the median wall time of a call."""
    times = []
    for _ in range(rounds):
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return 1e3 * statistics.median(times)


def compiled(model: onnx.ModelProto) -> Built:
    """Compile twice, and say how long it takes without and with what is kept on disk."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        onnx.save(model, path)
        begin = time.perf_counter()
        compile_model(path, vta.get_env(), cache=False)
        cold = time.perf_counter() - begin
        compile_model(path, vta.get_env())
        begin = time.perf_counter()
        built = compile_model(path, vta.get_env())
        print(f"  compiled in {cold:.1f} s, and in {time.perf_counter() - begin:.2f} s with what is kept")
    return built


def session_of(model: onnx.ModelProto, *, optimised: bool) -> onnxruntime.InferenceSession:
    """Return onnxruntime on one thread."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    if not optimised:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(model.SerializeToString(), options)


def measured(name: str, engines: list[str], count: int, rounds: int) -> bool:
    """Measure one network; return whether its numbers are right."""
    real = NETWORKS[name]()
    images = pictures(4 + count, (3, 224, 224), seed=7)
    model = quantised(real, images[:4])
    print(f"{name}")
    built = compiled(model)
    total = sum(_macs(built))
    print(f"  {built.macs / 1e6:,.1f} M multiplications on the accelerator: {100 * built.macs / total:.2f} % of all")
    right = _compare(built, model, images[4:])
    for engine in engines:
        right &= _run_engine(built, engine, images[4:], rounds)
    feed = {"image": images[4:5]}
    for label, each in (("float", real), ("int8", model)):
        call = partial(session_of(each, optimised=True).run, None, feed)
        call()
        print(f"  onnxruntime {label}, one thread: {median_ms(call, rounds):.1f} ms")
    print(f"  peak memory of this process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")
    return right


def _macs(built: Built) -> list[int]:
    """Return the multiplications of every layer, on the accelerator or not."""
    return [macs_of(call) for call in calls(built.function)]


def _compare(built: Built, model: onnx.ModelProto, images: Array) -> bool:
    right = True
    for fed, where in ((True, "fed with onnxruntime's inputs"), (False, "on its own")):
        nodes = against_onnxruntime(built.function, model, {"image": images[:1]}, fed=fed)
        elements, different = sum(n.elements for n in nodes), sum(n.different for n in nodes)
        last, worst = nodes[-1], max(nodes, key=lambda n: n.largest)
        print(
            f"  int8 activations equal to onnxruntime's, {where}: {100 * (1 - different / elements):.3f} %, "
            f"the last node's {100 * (1 - last.different / last.elements):.2f} %; "
            f"largest difference {worst.largest} ({worst.node})"
        )
        right &= not fed or worst.largest <= 1
    return right


def _run_engine(built: Built, engine: str, images: Array, rounds: int) -> bool:
    fused = host_functions(built.network)
    runner = NetworkRunner(built.network, Session(built.network.config, engine), fused=fused)
    equal = True
    for image in images:
        [found] = runner.run({"image": image[None]}).values()
        equal &= np.array_equal(found, np.asarray(run(built.function, [image[None]])))
    cycles = sum(node.cycles or 0 for node in runner.nodes)
    text = (
        f"{cycles:,} cycles"
        if cycles
        else f"{median_ms(lambda: runner.run({'image': images[:1]}), rounds):.1f} ms a picture"
    )
    print(
        f"  {engine}: bits {'equal' if equal else 'DIFFER from'} the integer graph's on {len(images)} pictures; {text}"
    )
    return equal


def main() -> None:
    """Measure every network that was named."""
    parser = argparse.ArgumentParser(description="Whole quantised networks beside onnxruntime.")
    parser.add_argument("networks", nargs="*", choices=[*NETWORKS, []], default=["resnet18"])
    parser.add_argument("--engines", nargs="*", default=["sim"], choices=["sim", "tsim", "reference"])
    parser.add_argument("--pictures", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=11)
    options = parser.parse_args()
    results = [measured(name, options.engines, options.pictures, options.rounds) for name in options.networks]
    sys.exit(not all(results))


if __name__ == "__main__":
    main()
