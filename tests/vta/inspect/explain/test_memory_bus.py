"""The memory port of a model: whose bursts they are, when beats come, and who may ask."""

from collections import Counter
from pathlib import Path

import pytest

from isa.instructions import Load, Store
from tests.support.configs import CONFIGS
from tests.support.runtime.recorded_runs import record_programs, some_program
from vta.inspect.explain.memory_bus import Channel
from vta.inspect.explain.run_model import RunModel
from vta.inspect.explain.traffic import latency_of, transfers_of
from vta.inspect.trace import Recorded

PATIENT = frozenset({"load"})

DEAR = ("block32", "b2k16", "in16out32", "b1k8")
"""Configurations whose hardware takes ten seconds to make; they run with `make test-long`."""


def ask(channel: Channel, client: str, now: int, beats: int) -> int:
    """Ask for a burst and return when its last beat comes."""
    last = channel.earliest(now) + beats
    channel.move(client, now, beats=beats, last=last)
    return last


def test_beats_come_a_latency_after_the_address_or_after_those_before() -> None:
    channel = Channel(32)
    assert ask(channel, "fetch", 0, 8) == 39  # beats in cycles 32 to 39
    assert ask(channel, "load", 1, 4) == 43
    assert ask(channel, "load", 100, 4) == 135
    assert (channel.busy, channel.last) == (135, 100)


def test_a_patient_client_asks_again_when_the_memory_was_idle_or_beats_have_come() -> None:
    channel = Channel(32, PATIENT)
    ask(channel, "load", 0, 64)
    assert channel.may_ask("load", 1) == 9  # 8 beats more in each idle cycle, from 8 on: 72 after 8 cycles
    ask(channel, "load", 9, 64)  # 128 on their way, and 128 are the most: one has come in cycle 32
    assert channel.may_ask("load", 10) == 33


def test_another_client_that_could_be_kept_waiting_lets_the_patient_ones_look_further_ahead() -> None:
    channel = Channel(32, PATIENT)
    ask(channel, "fetch", 0, 8)
    assert channel.may_ask("fetch", 1) == 1
    ask(channel, "load", 2, 8)
    assert channel.may_ask("load", 3) == 3  # 16 may be on their way


def test_beats_of_others_keep_nobody_from_asking() -> None:
    channel = Channel(32, PATIENT)
    ask(channel, "uop", 0, 100)
    assert channel.may_ask("load", 1) == 1


@pytest.mark.parametrize(
    "config", [pytest.param(name, marks=pytest.mark.long if name in DEAR else ()) for name in CONFIGS]
)
def test_every_burst_belongs_to_the_instruction_that_needs_it(tmp_path: Path, config: str) -> None:
    _, [launch] = record_programs(tmp_path / "t", "tsim", some_program(5, config))
    moved: Counter[int] = Counter()
    for transfer in transfers_of(launch, 8):
        moved[transfer.owner] += transfer.nbytes
        if transfer.owner >= 0:
            assert launch.timeline.begun[transfer.owner] < transfer.asked
            assert transfer.ended <= launch.timeline.ended[transfer.owner]
            assert transfer.writes == isinstance(launch.instructions[transfer.owner], Store)
    assert moved[-1] == 16 * len(launch)
    for index, instruction in enumerate(launch.instructions):
        if isinstance(instruction, Load | Store):
            needs = instruction.y_size * instruction.x_size * launch.config.elem_bytes(instruction.memory)
            assert needs <= moved[index] <= needs + 14 * instruction.y_size  # whole beats


def test_every_instruction_is_fetched_once(tmp_path: Path) -> None:
    _, [launch] = record_programs(tmp_path / "t", "tsim", some_program(5))
    spans = [transfer.brings for transfer in transfers_of(launch, 8) if transfer.client == "fetch"]
    assert [index for first, end in spans for index in range(first, end)] == list(range(len(launch)))


def test_the_latency_is_found_in_the_bursts(tmp_path: Path) -> None:
    launch = recorded(tmp_path)
    assert latency_of(launch, 8) == 32


def test_the_port_explains_when_almost_every_burst_came(tmp_path: Path) -> None:
    transfers = RunModel.of(recorded(tmp_path), beat_bytes=8).transfers
    reads = [transfer for transfer in transfers if not transfer.writes]
    assert all(0 <= transfer.stall <= 1 for transfer in reads)
    # A load of micro-ops is asked for in the fourth cycle after its start, with nothing to wait for.
    assert sum(transfer.wait > 4 for transfer in transfers) < 0.1 * len(transfers)
    assert all(transfer.wait >= 0 for transfer in transfers)


def recorded(path: Path) -> Recorded:
    _, [launch] = record_programs(path / "t", "tsim", some_program(1))
    return launch
