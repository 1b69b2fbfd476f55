"""Timelines: the same launch on every device, its times in order, and every cycle and byte of it accounted for."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from hw.config import HardwareConfig
from isa.encoding import decode
from isa.instructions import Deps, Finish, Gemm, Load, MemoryId
from isa.program import Program
from isa.tokens import TokenQueue, pops, pushes
from runtime.devices.device import DeadlockError
from runtime.devices.rtl import RtlSimulator
from runtime.memory import DeviceMemory
from runtime.session import Session
from runtime.stats import LaunchStats
from runtime.timeline import NEVER, Bursts, Timeline
from tests.support.configs import CONFIGS
from tests.support.random_programs import random_program

CONFIG = CONFIGS["default"]
BEAT = HardwareConfig().beat_bytes
SEEDS = range(6)


def timeline_on(device: str, program: Program) -> Timeline:
    """Run ``program`` and return its timeline."""
    session = Session(program.config, device)
    timelines: list[Timeline] = []
    session.device.set_timeline(timelines.append)
    session.run_program(program)
    [timeline] = timelines
    assert timeline.error is None
    return timeline


def program_of(seed: int) -> Program:
    return random_program(np.random.default_rng(seed), CONFIG)


def beats(bursts: Bursts, client: str) -> Counter[int]:
    """Return how often each beat of memory was moved for a client."""
    chosen = np.flatnonzero(bursts.client == bursts.clients.index(client))
    touched: Counter[int] = Counter()
    for begin, size in zip(bursts.address[chosen].tolist(), bursts.nbytes[chosen].tolist(), strict=True):
        touched.update(range(begin // BEAT, -(-(begin + size) // BEAT)))
    return touched


@pytest.mark.parametrize("seed", SEEDS)
def test_devices_without_a_clock_agree_on_order_and_transfers(seed: int) -> None:
    program = program_of(seed)
    reference, functional = timeline_on("reference", program), timeline_on("sim", program)
    assert reference.cycles is functional.cycles is None
    assert reference.duration == functional.duration == len(program.instructions)
    assert reference.begun.tolist() == functional.begun.tolist() == list(range(len(program.instructions)))
    for name in ("begin", "end", "address", "nbytes", "client"):
        assert getattr(reference.bursts, name).tolist() == getattr(functional.bursts, name).tolist()


@pytest.mark.parametrize("seed", SEEDS)
def test_cycles_are_in_order_and_respect_every_token(seed: int) -> None:
    program = program_of(seed)
    timeline = timeline_on("tsim", program)
    assert timeline.issued is not None
    assert timeline.cycles == timeline.duration
    assert (timeline.issued >= 0).all()
    assert (timeline.issued < timeline.begun).all()
    assert (timeline.begun <= timeline.ended).all()
    assert timeline.ended.max() == timeline.duration - 1
    given: dict[TokenQueue, list[int]] = {queue: [] for queue in TokenQueue}
    taken: dict[TokenQueue, list[int]] = {queue: [] for queue in TokenQueue}
    for index, word in enumerate(program.instructions):
        for queue in pushes(word.module, word.deps):
            given[queue].append(int(timeline.ended[index]))
        for queue in pops(word.module, word.deps):
            taken[queue].append(int(timeline.begun[index]))
    for queue, times in taken.items():
        assert all(pop > push for pop, push in zip(times, given[queue], strict=False))


@pytest.mark.parametrize("seed", SEEDS)
def test_states_sum_to_the_account_of_every_module(seed: int) -> None:
    timeline = timeline_on("tsim", program_of(seed))
    assert timeline.account is not None
    assert list(timeline.states) == list(timeline.account.modules)
    for module, states in timeline.states.items():
        spent: Counter[str] = Counter()
        for cause, cycles in zip(states.causes, states.durations(timeline.duration).tolist(), strict=True):
            spent[cause] += cycles
        assert states.begins[0] == 0
        assert all(a != b for a, b in zip(states.causes, states.causes[1:], strict=False))
        assert dict(spent) == {cause: count for cause, count in timeline.account.modules[module].items() if count}


@pytest.mark.parametrize("seed", SEEDS)
def test_bursts_move_the_rows_of_loads_and_stores_and_nothing_else(seed: int) -> None:
    program = program_of(seed)
    rows, bursts = timeline_on("reference", program).bursts, timeline_on("tsim", program).bursts
    assert (bursts.end > bursts.begin).all()
    for client in ("uop", "acc", "load", "store"):
        assert beats(bursts, client) == beats(rows, client)
    assert bursts.nbytes[bursts.client == bursts.clients.index("fetch")].sum() >= 16 * len(program.instructions)
    assert "unknown" not in {bursts.clients[client] for client in bursts.client.tolist()}


def test_a_launch_that_deadlocks_has_the_times_of_what_it_did() -> None:
    program = replace(
        program_of(0),
        instructions=(
            Load(memory=MemoryId.INP, dram_base=0x100, x_size=2, y_size=1, deps=Deps(push_next=True)),
            Gemm(deps=Deps(pop_next=True)),
            Finish(),
        ),
        origins=None,
    )
    for device in ("reference", "sim", "tsim"):
        session = Session(CONFIG, device)
        timelines: list[Timeline] = []
        session.device.set_timeline(timelines.append)
        with pytest.raises(DeadlockError) as caught:
            session.run_program(program)
        [timeline] = timelines
        assert timeline.error == str(caught.value)
        assert timeline.begun[0] >= 0
        assert timeline.begun.tolist()[1:] == timeline.ended.tolist()[1:] == [NEVER, NEVER]


def test_notes_change_no_cycle_and_a_launch_without_a_hook_takes_none() -> None:
    program = program_of(1)
    session = Session(CONFIG, RtlSimulator(CONFIG, DeviceMemory(1 << 32)))
    timelines: list[Timeline] = []
    counts = []
    for hook in (None, timelines.append, None):
        session.device.set_timeline(hook)
        session.device.clear_stats()
        session.run_program(program)
        counts.append(session.device.stats)
    assert counts[0] == counts[1] == counts[2]
    assert len(timelines) == 1
    assert [decode(int(low) | int(high) << 64, CONFIG) for low, high in timelines[0].array.tolist()] == list(
        program.instructions
    )
    assert isinstance(counts[0], type(LaunchStats(statistics=counts[0]).statistics))
