"""Timelines: the same launch on every device, its times in order, and every cycle and byte of it accounted for."""

import io
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from isa.encoding import decode
from isa.instructions import Deps, Finish, Gemm, Instruction, Load, MemoryId, Store
from isa.machine.hardware_config import HardwareConfig
from isa.program import Program
from isa.tokens import TokenQueue, pops, pushes
from runtime.devices.device import DeadlockError, DeviceError
from runtime.devices.tsim.device import RtlSimulator
from runtime.memory.device_memory import DeviceMemory
from runtime.observe.stats import LaunchStats
from runtime.observe.timeline import NEVER, Bursts, Timeline
from runtime.session import Session
from tests.support.configs import CONFIGS
from tests.support.hw.vcd_values import read_vcd
from tests.support.isa.random_programs import random_program

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
            given[queue].append(int(timeline.pushed(queue)[index]))
        for queue in pops(word.module, word.deps):
            taken[queue].append(int(timeline.begun[index]))
    for queue, times in taken.items():
        assert all(pop > push for pop, push in zip(times, given[queue], strict=False))


def test_tokens_move_in_the_cycles_in_which_the_hardware_moves_them() -> None:
    """Compared with waveforms; the reset is posted: loads may go on before it has completed, and stores may not."""
    uop = Load(memory=MemoryId.UOP, dram_base=0x400, x_size=1, y_size=1)
    reset = Gemm(uop_end=1, iter_in=60, dst_factor_in=1, reset=True, deps=Deps(push_prev=True))
    nop = Load(memory=MemoryId.UOP, x_size=0, y_size=1, deps=Deps(push_prev=True, push_next=True))
    load = Load(memory=MemoryId.INP, dram_base=0x100, x_size=1, y_size=1, deps=Deps(pop_next=True))
    store = Store(dram_base=0x100, x_size=4, y_size=1, deps=Deps(pop_prev=True))
    words: tuple[Instruction, ...] = (uop, reset, nop, load, load, store, Finish())
    program = replace(program_of(0), instructions=words, uops=(0,), uop_base=0x1000, origins=())
    session, timelines, text = Session(CONFIG, "tsim"), list[Timeline](), io.StringIO()
    assert isinstance(session.device, RtlSimulator)
    session.device.set_timeline(timelines.append)
    with session.device.waves(text, [*(f"{q.value}_{way}" for q in TokenQueue for way in ("push", "pop")), "running"]):
        session.run_program(program)
    [timeline] = timelines
    waves = {name: np.array(values) for name, values in read_vcd(text.getvalue().encode(), "top.clk").items()}
    running = waves["top.running"] == 1
    first = int(np.flatnonzero(running)[0])
    for queue in TokenQueue:
        given = [int(timeline.pushed(queue)[i]) for i, w in enumerate(words) if queue in pushes(w.module, w.deps)]
        taken = [int(timeline.begun[i]) for i, w in enumerate(words) if queue in pops(w.module, w.deps)]
        assert (np.flatnonzero(waves[f"top.{queue.value}_push"] & running) - first).tolist() == given
        assert (np.flatnonzero(waves[f"top.{queue.value}_pop"] & running) - first).tolist() == taken
    assert timeline.settled is not None
    assert timeline.settled[1] < timeline.begun[3] < timeline.ended[1] < timeline.begun[5]


def test_what_stands_in_for_a_faulty_instruction_is_no_instruction_of_the_launch() -> None:
    beyond = Load(memory=MemoryId.INP, dram_base=1 << 30, x_size=1, y_size=1)
    program = replace(program_of(0), instructions=(beyond, Gemm(), Finish()), origins=())
    session, timelines = Session(CONFIG, "tsim"), list[Timeline]()
    session.device.set_timeline(timelines.append)
    with pytest.raises(DeviceError, match=r"^instruction 0: DRAM bytes 0x"):
        session.run_program(program)
    [timeline] = timelines
    for column in (timeline.issued, timeline.begun, timeline.settled, timeline.ended):
        assert column is not None
        assert column.tolist() == [NEVER, NEVER, NEVER]


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
        origins=(),
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


@pytest.mark.parametrize("device", ["reference", "sim", "tsim"])
def test_a_launch_that_does_not_even_begin_has_a_timeline_with_its_error(device: str) -> None:
    program = replace(program_of(0), instructions=(Gemm(), Finish(), Finish()), origins=())
    session, timelines = Session(CONFIG, device), list[Timeline]()
    session.device.set_timeline(timelines.append)
    with pytest.raises(DeviceError) as caught:
        session.run_program(program)
    [timeline] = timelines
    assert (timeline.error, len(timeline.begun)) == (str(caught.value), 3)


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
