"""Cosine and signal to noise against plain numpy."""

import math

import numpy as np
import pytest

from vta.quantize.score import score_of


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
