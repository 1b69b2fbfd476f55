"""Random float networks at the corners, quantised and run on ``sim``, beside numpy's float results.

    python -m bench.attack_quantising --seed 1 --count 200 [--only 17]

Odd shapes, groups, depthwise layers, weights that several layers share, channels that are zero, constants as large or
small as float32 bears, one or few samples, every option. A network passes if ``sim`` has the bits of the integer graph
and its int8 file comes as close to float in ``sim`` as in onnxruntime, or if it is refused in one sentence of ours.
Data that are not numbers, of a wrong shape or type must be refused. Network ``i`` depends on the seed and ``i`` alone.
The exit status says whether all passed.
"""

import argparse
import collections
import math
import sys
import traceback
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import vta
from isa.errors import VTAError
from runtime.executor.operators.types import Array
from vta.quantize import Options, quantise
from vta.quantize.calibrate.float_run import Runner
from vta.quantize.score import Score, score_of
from vta.relay.backend.compare import against_integers
from vta.relay.backend.session import InferenceSession

_LOSS_DB = 8.0
"""By how much we may lie further from float than onnxruntime: some of few numbers round to another cell."""
_EXACT_DB = 50.0
"""A network that int8 hits almost exactly is not compared so closely."""


@dataclass(slots=True)
class Maker:
    """A random network of one input; ``values`` are tensors that may be read, with their sizes without the batch."""

    rng: np.random.Generator
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    weights: dict[str, Array] = field(default_factory=dict)
    values: list[tuple[str, tuple[int, ...]]] = field(default_factory=list)

    def pick(self, *choices: Any) -> Any:
        return choices[int(self.rng.integers(len(choices)))]

    def weight(self, shape: tuple[int, ...]) -> str:
        """Return the name of new weights, or of others of the same shape."""
        same = [name for name, value in self.weights.items() if value.shape == shape]
        if same and self.rng.random() < 0.3:
            return str(self.pick(*same))
        made = self.rng.standard_normal(shape) * np.sqrt(2 / max(1, math.prod(shape[1:])))
        match self.pick(*["plain"] * 6, "zero channels", "zero", "large", "small", "tiny", "constant", "outlier"):
            case "zero channels":
                made[self.rng.random(shape[0]) < 0.5] = 0
            case "zero":
                made[:] = 0
            case "large":
                made *= 1e6
            case "small":
                made *= 1e-6
            case "tiny":
                made *= 1e-30
            case "constant":
                made[:] = 0.5
            case "outlier":
                made.reshape(-1)[int(self.rng.integers(made.size))] = 50
            case _:
                pass
        return self.named(made.astype(np.float32))

    def named(self, value: Array) -> str:
        name = f"w{len(self.weights)}"
        self.weights[name] = value
        return name

    def node(self, kind: str, inputs: list[str], shape: tuple[int, ...], **attributes: Any) -> None:
        name = f"{kind.lower()}{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], name=name, **attributes))
        self.values.append((name, shape))

    def image(self) -> tuple[str, tuple[int, ...]]:
        """Return the newest image, or sometimes an older one."""
        images = [each for each in self.values if len(each[1]) == 3]
        return images[-1] if self.rng.random() < 0.7 else self.pick(*images)

    def conv(self) -> None:
        name, (c, h, w) = self.image()
        groups = int(self.pick(1, 1, 1, c, *[g for g in (2, 3) if c % g == 0]))
        out = groups * int(self.pick(1, 2, 3)) if groups > 1 else int(self.pick(1, 3, 5, 8, 16, 17))
        kh, kw = int(min(h, self.pick(1, 1, 2, 3, 5))), int(min(w, self.pick(1, 1, 2, 3, 4)))
        pads = (
            [int(self.rng.integers(0, kh)), int(self.rng.integers(0, kw))] * 2 if self.rng.random() < 0.7 else [0] * 4
        )
        if self.rng.random() < 0.2:
            pads[2], pads[3] = int(self.rng.integers(0, kh)), int(self.rng.integers(0, kw))
        strides = [int(self.pick(1, 1, 2)), int(self.pick(1, 1, 2))]
        size = ((h + pads[0] + pads[2] - kh) // strides[0] + 1, (w + pads[1] + pads[3] - kw) // strides[1] + 1)
        inputs = [name, self.weight((out, c // groups, kh, kw))]
        if self.rng.random() < 0.6:
            inputs.append(self.named((self.rng.standard_normal(out) * self.pick(1, 1, 100, 1e-3)).astype(np.float32)))
        self.node("Conv", inputs, (out, *size), pads=pads, strides=strides, group=groups)

    def norm(self) -> None:
        name, (c, h, w) = self.image()
        stats = [self.named(self.rng.uniform(0.1, 2, c).astype(np.float32)) for _ in range(4)]
        self.node("BatchNormalization", [name, *stats], (c, h, w))

    def pointwise(self) -> None:
        name, shape = self.image()
        kind = self.pick("Relu", "Relu", "Relu", "Clip", "Sigmoid", "HardSwish", "LeakyRelu", "Tanh", "Neg", "Abs")
        limits = [self.named(np.array(v, np.float32)) for v in (0, self.pick(6, 1, 0.01))] if kind == "Clip" else []
        self.node(kind, [name, *limits], shape)

    def pool(self) -> None:
        name, (c, h, w) = self.image()
        if min(h, w) < 2:
            return
        kind = self.pick("MaxPool", "AveragePool")
        self.node(kind, [name], (c, (h - 2) // 2 + 1, (w - 2) // 2 + 1), kernel_shape=[2, 2], strides=[2, 2])

    def pair(self) -> None:
        """Add, multiply or join two tensors, a tensor and a constant, or a tensor and itself."""
        name, shape = self.image()
        same = [each for each, other in self.values if other == shape]
        kind = self.pick("Add", "Add", "Mul", "Concat")
        if kind == "Concat":
            other = self.pick(*same)
            self.node("Concat", [name, other], (2 * shape[0], *shape[1:]), axis=1)
            return
        constant = self.named(self.rng.standard_normal(self.pick((1,), (shape[0], 1, 1))).astype(np.float32))
        inputs = [name, self.pick(constant, *same)]
        self.node(kind, inputs if self.rng.random() < 0.5 else inputs[::-1], shape)

    def tail(self) -> None:
        name, (c, h, w) = self.image()
        match self.pick("gemm", "mean", "none", "both"):
            case "gemm":
                self.node("Flatten", [name], (c * h * w,))
                self._dense(c * h * w)
            case "mean":
                self.node("ReduceMean", [name], (c, 1, 1), axes=[2, 3], keepdims=1)
            case "both":
                self.node("GlobalAveragePool", [name], (c, 1, 1))
                self.node("Flatten", [self.values[-1][0]], (c,))
                self._dense(c)
            case _:
                pass

    def _dense(self, inputs: int) -> None:
        out = int(self.pick(1, 2, 10, 17))
        self.node("Gemm", [self.values[-1][0], self.weight((out, inputs))], (out,), transB=1)

    def model(self, shape: tuple[int, ...], batch: str | int) -> onnx.ModelProto:
        given = helper.make_tensor_value_info("x", TensorProto.FLOAT, [batch, *shape])
        outputs = [self.values[-1][0]]
        if self.rng.random() < 0.2:
            outputs = list(dict.fromkeys([*outputs, self.pick(*self.values[1:])[0]]))
        results = [helper.make_empty_tensor_value_info(name) for name in outputs]
        tensors = [numpy_helper.from_array(value, name) for name, value in self.weights.items()]
        graph = helper.make_graph(self.nodes, "attack", [given], results, tensors)
        return onnx.shape_inference.infer_shapes(
            helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=8)
        )


@dataclass(frozen=True, slots=True)
class Case:
    """A model, data, options, and whether these data must be refused."""

    model: onnx.ModelProto
    data: Any
    options: Options
    refused: bool


def case(seed: int, number: int) -> Case:
    """Return one case."""
    rng = np.random.default_rng([seed, number])
    maker = Maker(rng)
    shape = tuple(int(v) for v in (maker.pick(1, 2, 3, 16, 19), *rng.integers(1, 12, 2)))
    maker.values.append(("x", shape))
    maker.conv()
    for _ in range(int(rng.integers(0, 8))):
        getattr(maker, maker.pick("conv", "conv", "norm", "pointwise", "pointwise", "pool", "pair"))()
    maker.tail()
    fixed = rng.random() < 0.2
    model = maker.model(shape, 1 if fixed else "n")
    count = int(maker.pick(1, 2, 5, 12))
    data: Any = (rng.standard_normal((count, *shape)) * maker.pick(1, 1, 1, 1e-4, 1e4)).astype(np.float32)
    if maker.pick(*[False] * 6, True):
        data[:] = maker.pick(0, 1)
    spoiled = maker.pick(*[None] * 12, "nan", "inf", "shape", "empty", "text", "rank")
    match spoiled:
        case "nan" | "inf":
            data.reshape(-1)[int(rng.integers(data.size))] = float(spoiled)
        case "shape":
            data = data[:, :, :, :0]
        case "empty":
            data = data[:0]
        case "text":
            data = data.astype("U8")
        case "rank":
            data = data[0]
        case _:
            pass
    options = Options(
        per_channel=bool(rng.random() < 0.7), symmetric=maker.pick(None, True, False),
        power_of_two=bool(rng.random() < 0.3), equalise=bool(rng.random() < 0.7),
        floor=maker.pick(None, None, None, 0.99),
    )  # fmt: skip
    return Case(model, {"x": data}, options, spoiled is not None)


def tried(seed: int, number: int) -> str:
    """Return how a case ended: "close", "far" (of int8 alone), or "refused: ..."; raises ``AssertionError``."""
    made = case(seed, number)
    try:
        int8 = quantise(made.model, made.data, made.options).model
    except VTAError as error:
        return _sentence(error)
    assert not made.refused, "data that make no sense were taken"
    onnx.checker.check_model(int8)
    image = made.data["x"][:1]
    outputs = [value.name for value in int8.graph.output]
    session = InferenceSession(int8, {"x": image.shape}, env=vta.get_env(), target="sim")
    found = dict(zip(outputs, (np.asarray(each) for each in session.run(None, {"x": image})), strict=True))
    assert session.built is not None
    wrong = [node.node for node in against_integers(session.built, session.runner, {"x": image}) if node.different]
    assert not wrong, f"other bits than the integer graph at {wrong}"
    real, theirs = (Runner(model, outputs, exact=True)({"x": image}) for model in (made.model, int8))
    return _compared(score_of([(real, found)]), score_of([(real, theirs)]))


def _sentence(error: VTAError) -> str:
    assert str(error).strip(), "an empty message"
    assert "\n" not in str(error), f"more than a sentence: {error}"
    return f"refused: {type(error).__name__}"


def _compared(ours: Score, theirs: Score) -> str:
    bound = min(theirs.sqnr_db, _EXACT_DB) - _LOSS_DB
    assert ours.sqnr_db >= bound, f"{ours.sqnr_db:.1f} dB to float, where onnxruntime has {theirs.sqnr_db:.1f}"
    return "close" if theirs.cosine > 0.98 else "far"


def main() -> None:
    """Try networks and print those that fail."""
    parser = argparse.ArgumentParser(description="Random float networks, quantised and run.")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--only", type=int, default=None)
    options = parser.parse_args()
    ends: collections.Counter[str] = collections.Counter()
    failed = 0
    for number in range(options.count) if options.only is None else [options.only]:
        try:
            ends[tried(options.seed, number)] += 1
        except Exception as error:  # whatever goes wrong is what is looked for
            failed += 1
            print(f"case {number}: {type(error).__name__}: {str(error)[:300]}", flush=True)
            if options.only is not None:
                traceback.print_exc()
    print(f"{failed} failed; " + ", ".join(f"{count} {end}" for end, count in ends.most_common()))
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
