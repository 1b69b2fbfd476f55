"""Cosine and signal to noise against plain numpy."""

import math

import numpy as np
import pytest

from tests.support.relay.float_models import float_model, node
from vta.quantize.calibrate.samples import Samples, input_types
from vta.quantize.graph import Graph
from vta.quantize.score import Scorer, decisive, score_of


def test_scores_are_means_over_samples_and_sums_over_all() -> None:
    rng = np.random.default_rng(0)
    real, other = rng.standard_normal((3, 7)), rng.standard_normal((3, 7))
    cosines = [a @ b / np.linalg.norm(a) / np.linalg.norm(b) for a, b in zip(real, other, strict=True)]
    score = score_of([({"y": real[:2]}, {"y": other[:2]}), ({"y": real[2:]}, {"y": other[2:]})])
    assert score.cosine == pytest.approx(np.mean(cosines))
    assert score.sqnr_db == pytest.approx(10 * np.log10((real**2).sum() / ((real - other) ** 2).sum()))


def test_equal_outputs_are_perfect_even_if_they_are_nothing() -> None:
    score = score_of([({"y": np.zeros((2, 3))}, {"y": np.zeros((2, 3))})])
    assert (score.cosine, score.sqnr_db) == (1.0, math.inf)


def test_a_softmax_or_sigmoid_is_judged_by_what_it_reads() -> None:
    weights = {"w": np.ones((3, 3, 1, 1), np.float32)}
    nodes = [
        node("Conv", ["image", "w"], "x"), node("Softmax", ["x"], "a", axis=1), node("Sigmoid", ["x"], "b"),
        node("Relu", ["x"], "c"), node("Softmax", ["image"], "d", axis=1),
        node("Conv", ["c", "w"], "y"), node("Sigmoid", ["y"], "s"), node("Flatten", ["s"], "f"),
        node("Identity", ["f"], "e"),
    ]  # fmt: skip
    graph = Graph(float_model(nodes, weights, outputs=["a", "b", "c", "d", "e", "x"]))
    assert decisive(graph) == ("x", "c", "d", "y")


def test_what_a_softmax_hides_is_seen() -> None:
    weights = {"w": np.eye(3, dtype=np.float32).reshape(3, 3, 1, 1), "v": np.diag([1.0, 1.0, 0.9])[..., None, None]}
    weights["v"] = weights["v"].astype(np.float32)
    real, other = (
        Graph(
            float_model([node("Conv", ["image", w], "x"), node("Softmax", ["x"], "y", axis=1)], weights, outputs=["y"])
        )
        for w in ("w", "v")
    )
    data = np.zeros((4, 3, 8, 8), np.float32)
    data[:, 2] = 50
    score, closeness = Scorer(real, Samples({"image": data}, input_types(real.to_model())))(other.to_model())
    assert score.sqnr_db > 100
    assert closeness == pytest.approx(20, abs=0.01)
