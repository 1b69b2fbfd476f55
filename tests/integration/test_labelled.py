"""The data of ``bench.accuracy`` that are drawn: the same every time, and as their labels say."""

import numpy as np
import pytest

pytest.importorskip("PIL")

from bench.models.labelled import TASKS, Task, pages, same_mask, text_lines, top_1
from tests.support.relay.float_models import small_network


def test_lines_are_the_same_every_time_and_half_of_them_upside_down() -> None:
    images, labels = text_lines(20, seed=1)
    again, same = text_lines(20, seed=1)
    np.testing.assert_array_equal(images, again)
    np.testing.assert_array_equal(labels, same)
    assert images.shape == (20, 3, 48, 192)
    assert 0 < labels.sum() < 20
    ink = (images[:, 0] < images[:, 0].max((1, 2), keepdims=True) - 0.5).mean((1, 2))
    assert (ink > 0.02).all()


def test_pages_have_ink_on_paper() -> None:
    assert pages(2, seed=3).shape == (2, 3, 192, 384)
    assert pages(2, seed=3).std() > 0.3


def test_results_are_judged_by_labels_and_masks() -> None:
    task = Task(small_network(), np.zeros((1, 3, 8, 8)), np.zeros((2, 3, 8, 8)), np.array([1, 0]), top_1, "logits")
    assert top_1(np.array([[0.0, 1.0], [0.0, 1.0]]), task) == 0.5
    assert (task.input, task.shapes) == ("image", {"image": (1, 3, 8, 8)})
    task.reference["float"] = np.array([0.9, 0.9, 0.0, 0.0])
    assert same_mask(np.array([0.9, 0.0, 0.9, 0.0]), task) == pytest.approx(1 / 3)
    assert set(TASKS) == {"fashion", "efficientnet", "stretched", "rnet", "onet", "direction", "detection"}
