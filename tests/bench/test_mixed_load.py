"""Threads with modules and networks of their own: what they compute is looked at, and what is wrong is told."""

from collections import Counter

import numpy as np
import pytest

import vta
from bench import mixed_load
from bench.mixed_load import module_job, together
from runtime.memory.array import DeviceArray
from runtime.session import Session


def test_threads_compile_and_run_their_own() -> None:
    verdict, done = together(2, seconds=0.1, seed=1)
    assert verdict.errors == ()
    assert verdict.rounds == 2
    assert done == Counter(compiled=4, modules=2, networks=2)


def test_wrong_numbers_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    job = module_job(np.random.default_rng(1), Session(vta.get_env().config, "sim"))
    numpy = DeviceArray.numpy
    monkeypatch.setattr(DeviceArray, "numpy", lambda array: numpy(array) + 1)
    with pytest.raises(AssertionError, match="wrong numbers"):
        job(np.random.default_rng(2))


def test_a_network_s_wrong_numbers_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mixed_load, "interpreted", lambda *_: np.full(1, 1e9))
    verdict, _ = together(1, seconds=0.1, seed=1)
    [error] = verdict.errors
    assert error.startswith("thread 0, round 0: AssertionError: network ")
