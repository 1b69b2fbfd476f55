"""The convolution tutorial: upstream's stream to the word, and fewer cycles with two threads than with one."""

import functools
import importlib.util
import re
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import vta
from isa.config import VTAConfig
from runtime.observe.timeline import States
from runtime.session import Session
from tests.support.configs import CONFIGS
from tests.support.golden.golden import load_case
from tests.support.golden.golden_arrays import place_arrays
from tests.support.runtime.call_log import CallLog
from vta.cli.script import run_script

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "convolution.py"


@functools.cache
def example() -> ModuleType:
    """Import the example, which is a script and not part of a package."""
    spec = importlib.util.spec_from_file_location("convolution_tutorial", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_calls_words_micro_ops_and_statistics_equal_the_recorded_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    case = load_case("default", "tut.convolution_opt")
    session = Session(case.config, "sim", record=True)
    with vta.Environment(case.config) as env:
        schedule, args = example().schedule(env, threads=2)
        module = vta.build(schedule, args, target=env.target)
    arrays = place_arrays(case, session)
    with CallLog().installed(monkeypatch) as log:
        module(*arrays.values())
        calls = log.take()
    [launch] = session.queue.launcher.launches
    [recorded] = case.record["launches"]
    assert calls == list(case.calls)
    assert launch.words == case.words
    assert [f"{word:08x}" for word in launch.uops.tolist()] == recorded["uop_dram_hex"]
    assert session.device.stats.as_dict() == case.record["profiler"]


@pytest.mark.parametrize("config", CONFIGS)
@pytest.mark.parametrize("threads", [1, 2])
def test_the_result_is_numpys_on_every_configuration(threads: int, config: str) -> None:
    example().run(vta.Environment(CONFIGS[config]), threads)  # it compares


def test_the_run_shows_the_cycles_of_one_thread_and_of_two(capsys: pytest.CaptureFixture[str]) -> None:
    counters = run_script(EXAMPLE, VTAConfig(target="tsim"))
    printed = capsys.readouterr().out
    found = re.search(r"one virtual thread: ([\d,]+) cycles; two: ([\d,]+) ", printed)
    assert found is not None
    one, two = (int(text.replace(",", "")) for text in found.groups())
    assert two < 0.75 * one
    assert counters.as_dict()["gemm_counter"] >= 451_584
    assert len(re.findall(r"^  compute \|[ ▁-█]{96}\|$", printed, re.MULTILINE)) == 4


def test_a_bar_is_as_high_as_the_share_of_work() -> None:
    states = States(np.array([0, 96, 144, 192]), ("work", "token_prev", "work", "idle"))
    text = example().bars(states, 0, 384, 384)
    assert text == "█" * 24 + " " * 12 + "█" * 12 + " " * 48
    assert example().bars(states, 48, 48 + 96 * 96, 10_000)[:3] == "▄▄ "
