"""How far the outputs of two networks lie apart. Tests: tests/vta/quantize/test_score.py."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import onnx

from runtime.executor.operators.types import Array
from vta.quantize.calibrate.float_run import Runner
from vta.quantize.calibrate.samples import Samples
from vta.quantize.encoding import sqnr_db

__all__ = ["Score", "Scorer", "score_of"]


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
    """Compares int8 networks with a float one on the same samples."""

    def __init__(self, real: onnx.ModelProto, outputs: Sequence[str], samples: Samples) -> None:
        self._outputs, self._samples = outputs, samples
        runner = Runner(real, outputs)
        self._expected = [runner(feed) for feed in samples.batches()]

    def __call__(self, model: onnx.ModelProto) -> Score:
        """Return how close a model's outputs come."""
        runner = Runner(model, self._outputs, exact=True)
        found = (runner(feed) for feed in self._samples.batches())
        return score_of(zip(self._expected, found, strict=True))
