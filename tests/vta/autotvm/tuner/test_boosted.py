"""Boosted trees: numbers or ranks are learned, the same every time; without the library one sentence says so."""

import builtins
import sys

import numpy as np
import pytest

from vta.autotvm import TuningError
from vta.autotvm.tuner.boosted import BoostedTrees, require_lightgbm


@pytest.mark.parametrize("loss", ["reg", "rank"])
def test_smaller_is_faster_and_equal_seeds_are_equal(loss: str) -> None:
    pytest.importorskip("lightgbm")
    rows = np.random.default_rng(0).random((80, 4))
    values = rows[:, 0] * 3 - rows[:, 1]
    found = []
    for _ in range(2):
        trees = BoostedTrees(loss=loss, seed=5, threads=1)
        assert trees.predict(rows).tolist() == [0.0] * 80
        trees.fit(rows, values)
        found.append(trees.predict(rows))
    assert np.array_equal(*found)
    assert np.corrcoef(np.argsort(np.argsort(found[0])), np.argsort(np.argsort(values)))[0, 1] > 0.9


def test_one_measurement_is_enough_to_learn_of() -> None:
    pytest.importorskip("lightgbm")
    for loss in ("reg", "rank"):
        trees = BoostedTrees(loss=loss, seed=0, threads=1)
        trees.fit(np.ones((1, 3)), np.ones(1))
        assert np.isfinite(trees.predict(np.zeros((2, 3)))).all()


def test_without_the_library_the_error_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    with pytest.raises(TuningError) as caught:
        require_lightgbm()
    assert str(caught.value) == (
        "XGBTuner learns with LightGBM, which is not installed: pip install 'vta-toolchain[tuning]'; or take GATuner, "
        "which needs nothing"
    )


def test_a_library_that_cannot_be_loaded_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = builtins.__import__

    def refused(name: str, *args: object) -> object:
        if name == "lightgbm":
            raise OSError("libgomp.so.1: cannot open shared object file")
        return whole(name, *args)  # type: ignore[arg-type]  # as it came

    monkeypatch.delitem(sys.modules, "lightgbm", raising=False)
    monkeypatch.setattr(builtins, "__import__", refused)
    with pytest.raises(TuningError) as caught:
        require_lightgbm()
    assert str(caught.value) == (
        "XGBTuner learns with LightGBM, which cannot be loaded: libgomp.so.1: cannot open shared object file"
    )
