"""Compiled functions give the numbers of the operators in numpy, and are compiled once."""

import re
import warnings
from pathlib import Path

import numpy as np
import pytest

from isa.config import VTAConfig
from runtime.executor.runner import NetworkRunner
from runtime.session import Session
from tests.support.relay.random_host_steps import RandomSteps, chain, random_array
from vta.relay.host.functions import HostFunctionError, compiled, functions
from vta.relay.host.groups import groups
from vta.relay.host.recipe import Recipe


@pytest.mark.parametrize("first", range(0, 30, 10))
def test_random_steps_have_the_numbers_of_numpy(first: int) -> None:
    session, done = Session(VTAConfig(), "reference"), 0
    for seed in range(first, first + 10):
        random = RandomSteps(seed)
        network, x = random.network, random.input
        if network is None:
            continue
        fused = functions(groups(network, pays=0), "", cache=False)
        done += sum(len(each.steps) for each in fused)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            wanted = NetworkRunner(network, session).run({"x": x})
        found = NetworkRunner(network, session, fused=fused).run({"x": x})
        for name, array in wanted.items():
            np.testing.assert_array_equal(found[name], array, f"seed {seed}: {name}", strict=True)
    assert done > 8


def test_arrays_that_are_not_contiguous_are_read() -> None:
    network = chain((3, 5), "nn.relu", "sqrt")
    [made] = functions(groups(network, pays=0), "", cache=False)
    x = random_array(np.random.default_rng(1), (5, 6), "float32")[:, ::2].T
    x.flags.writeable = False
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(made.run([x]), np.sqrt(np.maximum(x, 0)))


def test_equal_recipes_are_compiled_once_and_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    network = chain((4, 4), "nn.relu", "exp", "nn.relu", "exp")
    found, asked = groups(network, pays=0), list[int]()

    def compile_all(recipes: "list[Recipe]") -> list[bytes]:
        asked.append(len(recipes))
        return [*map(compiled, recipes)]

    for sources in ("a", "a", "b"):
        functions(found, sources, compile_all=compile_all)  # type: ignore[arg-type]
    assert (len(found), asked) == (2, [1, 0, 1])


def test_a_function_that_fails_says_so() -> None:
    [made] = functions(groups(chain((4, 4), "nn.relu"), pays=0), "", cache=False)
    object.__setattr__(made.run, "call", lambda *_: 1)
    text = "a function of host operators found no memory for what it keeps in between"
    with pytest.raises(HostFunctionError, match=f"^{re.escape(text)}$"):
        made.run([np.zeros((4, 4), np.float32)])
