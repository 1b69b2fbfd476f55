"""How far the outputs of two networks lie apart. Tests: tests/vta/quantize/test_score.py."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import onnx

from runtime.executor.operators.types import Array
from vta.quantize.calibrate.float_run import Runner
from vta.quantize.calibrate.samples import Samples
from vta.quantize.encoding import sqnr_db
from vta.quantize.graph import Graph

__all__ = ["Score", "Scorer", "decisive", "score_of"]

_SATURATING = {"LogSoftmax", "Sigmoid", "Softmax"}
_MOVING = {"Flatten", "Identity", "Reshape", "Squeeze", "Transpose", "Unsqueeze"}


@dataclass(frozen=True, slots=True)
class Score:
    """Cosine (mean over samples) and signal to noise ratio of outputs to the float ones."""

    cosine: float
    sqnr_db: float


def score_of(pairs: Iterable[tuple[Mapping[str, Array], Mapping[str, Array]]]) -> Score:
    """Return the score of (float outputs, other outputs) by batch; the first axis of an output counts samples."""
    cosines: list[float] = []
    signal = noise = 0.0
    for real, other in pairs:
        for name, value in real.items():
            a = value.reshape(len(value) if value.ndim else 1, -1).astype(np.float64)
            b = other[name].reshape(a.shape).astype(np.float64)
            norms = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
            same = (a == b).all(axis=1)
            cosines += np.where(same, 1.0, (a * b).sum(1) / np.where(norms > 0, norms, 1)).tolist()
            signal += float((a**2).sum())
            noise += float(((a - b) ** 2).sum())
    return Score(float(np.mean(cosines)), sqnr_db(signal, noise))


class Scorer:
    """Compares int8 networks with a float one on the same samples: ``graph`` is the float one."""

    def __init__(self, graph: Graph, samples: Samples) -> None:
        self._outputs, self._decisive, self._samples = graph.outputs, decisive(graph), samples
        self._wanted = (*self._outputs, *self._decisive)
        runner = Runner(graph.to_model(), self._wanted)
        self._expected = [runner(feed) for feed in samples.batches()]

    def __call__(self, model: onnx.ModelProto) -> tuple[Score, float]:
        """Return how close a model's outputs come, and in decibels how close what they are made of."""
        runner = Runner(model, self._wanted, exact=True)
        found = [runner(feed) for feed in self._samples.batches()]
        pairs = list(zip(self._expected, found, strict=True))
        outputs, inner = (
            score_of(({name: real[name] for name in names}, other) for real, other in pairs)
            for names in (self._outputs, self._decisive)
        )
        return outputs, inner.sqnr_db


def decisive(graph: Graph) -> tuple[str, ...]:
    """Return the outputs, and what it is made of for one that a softmax or sigmoid makes.

    Behind these, most numbers are next to 0 or 1, and hide what is lost on samples that are easy.
    """
    made_by = graph.producers()
    found = []
    for name in graph.outputs:
        node = made_by.get(name)
        while node is not None and node.op_type in _MOVING:
            node = made_by.get(node.input[0])
        inner = node.input[0] if node is not None and node.op_type in _SATURATING else name
        found.append(inner if inner in made_by else name)
    return tuple(dict.fromkeys(found))
