"""The device ``tsim``: cycles, accounts, traces, and a clean start of every launch."""

from collections.abc import Sequence

import numpy as np
import pytest

from isa.bulk import encode_all
from isa.config import VTAConfig
from isa.instructions import Alu, AluOpcode, Deps, Finish, Gemm, Instruction, Load, MemoryId, Module, Store
from isa.machine.hardware_config import HardwareConfig
from runtime.devices.device import (
    DeadlockError,
    Device,
    DeviceDebug,
    DeviceError,
    ExecutionError,
    ModuleHead,
    TraceEvent,
)
from runtime.devices.tsim.device import RtlSimulator
from runtime.memory.device_memory import DeviceMemory
from runtime.observe.heartbeat import Heartbeat
from runtime.observe.stats import LaunchStats
from tests.support.hw.rtl_comparison import account_error

CONFIG = VTAConfig(log_block=2, log_uop_buff_size=9, log_inp_buff_size=9, log_wgt_buff_size=10, log_acc_buff_size=11)
LOAD, COMPUTE, STORE = Module.LOAD, Module.COMPUTE, Module.STORE
SOURCE, TARGET = 0x1000, 0x2000


def make(**options: object) -> RtlSimulator:
    """Return a device with two pages of memory, the first of which holds 1024 numbers."""
    device = RtlSimulator(CONFIG, DeviceMemory(1 << 20), **options)  # type: ignore[arg-type]
    device.memory.alloc(0x2000)
    device.memory.view(SOURCE, 4096).view("<i4")[:] = np.arange(1024)
    return device


def run(device: RtlSimulator, instructions: Sequence[Instruction]) -> LaunchStats:
    words = encode_all(instructions, CONFIG)
    code = device.memory.alloc(words.nbytes)
    device.memory.write(code, 0, words.tobytes())
    try:
        return device.launch(code.address, len(instructions))
    finally:
        device.memory.free(code)


def copy(count: int = 16, *, imm: int = 1) -> list[Instruction]:
    """Load ``count`` tiles, add ``imm``, store them. The micro-op is the zero at the beginning of the numbers."""
    return [
        Load(memory=MemoryId.UOP, dram_base=SOURCE // 4, y_size=1, x_size=1),
        Load(memory=MemoryId.ACC, dram_base=SOURCE // 16, y_size=1, x_size=count),
        Alu(
            alu_opcode=AluOpcode.ADD, use_imm=True, imm=imm, uop_end=1, iter_in=count, dst_factor_in=1,
            deps=Deps(push_next=True),
        ),
        Store(dram_base=TARGET // 4, y_size=1, x_size=count, deps=Deps(pop_prev=True, push_prev=True)),
        Finish(deps=Deps(pop_next=True)),
    ]  # fmt: skip


def stored(device: Device, count: int = 16) -> list[int]:
    return device.memory.view(TARGET, 4 * count).view(np.int8).tolist()


def test_it_is_a_device() -> None:
    device = make()
    assert isinstance(device, Device)
    assert (device.name, device.config, device.hardware) == ("tsim", CONFIG, HardwareConfig())


@pytest.mark.parametrize("latency", [1, 32, 100])
def test_every_module_accounts_for_every_cycle(latency: int) -> None:
    device = make(latency=latency)
    launch = run(device, copy())
    assert stored(device) == [value % 256 - 256 * (value % 256 > 127) for value in range(1, 65)]
    assert account_error(launch) is None
    assert launch.account is not None
    assert list(launch.account.modules) == ["fetch", "load", "compute", "store"]
    assert launch.account.modules["compute"]["work"] >= 2 * 16
    assert launch.account.modules["load"]["work"] == 0
    assert device.stats.cycles == launch.cycles
    assert device.stats.as_dict()["cycle_count"] == launch.cycles


def test_cycles_grow_with_latency_and_shrink_with_the_width_of_memory() -> None:
    cycles = [run(make(latency=latency), copy(120)).cycles or 0 for latency in (1, 10, 100)]
    assert cycles == sorted(set(cycles))
    wide = run(make(latency=1, hardware=HardwareConfig(data_width=256)), copy(120)).cycles or 0
    assert wide < cycles[0] - 120


def test_launches_are_alike_and_add_up() -> None:
    device = make()
    first = run(device, copy())
    second = run(device, copy())
    assert first == second
    assert first.cycles is not None
    assert (device.stats.cycles, device.stats.launches) == (2 * first.cycles, 2)
    assert device.stats.account is not None
    assert device.stats.account.total("store") == 2 * first.cycles
    device.clear_stats()
    assert device.stats.as_dict()["cycle_count"] == 0


def test_random_stalls_change_cycles_and_nothing_else() -> None:
    plain, one, same, other = make(), make(stall_seed=5), make(stall_seed=5), make(stall_seed=7)
    launches = [run(device, copy(64)) for device in (plain, one, same, other)]
    assert {tuple(stored(device, 64)) for device in (plain, one, same, other)} == {tuple(stored(plain, 64))}
    assert all(account_error(launch) is None for launch in launches)
    assert launches[1].cycles == launches[2].cycles
    assert len({launches[0].cycles, launches[1].cycles, launches[3].cycles}) == 3


def test_a_trace_has_the_cycles_of_every_instruction() -> None:
    device = make()
    events: list[TraceEvent] = []
    device.set_trace(events.append)
    launch = run(device, copy())
    assert [event.index for event in events] == [0, 1, 2, 3, 4]
    spans = [(event.begin, event.end) for event in events]
    assert all(begin is not None and end is not None and 0 <= begin <= end for begin, end in spans)
    assert [end for _, end in spans] == sorted(end for _, end in spans if end is not None)
    assert events[3].begin is not None
    assert events[2].end is not None
    assert events[3].begin > events[2].end  # the store waits for the addition
    assert launch.cycles == (events[-1].end or 0) + 1
    device.set_trace(None)
    run(device, copy())
    assert len(events) == 5


def test_tokens_that_a_launch_leaves_are_gone_in_the_next() -> None:
    device = make()
    run(device, [Load(memory=MemoryId.INP, deps=Deps(push_next=True)), Finish()])
    with pytest.raises(DeadlockError) as caught:
        run(device, [Gemm(deps=Deps(pop_prev=True)), Finish()])
    assert caught.value.heads == (
        ModuleHead(LOAD, None),
        ModuleHead(COMPUTE, 0, ((LOAD, COMPUTE),)),
        ModuleHead(STORE, None),
    )


def test_a_launch_after_a_deadlock_starts_clean() -> None:
    fresh, device = make(), make()
    stuck = [
        *copy()[:3],
        Store(dram_base=TARGET // 4, y_size=1, x_size=1, deps=Deps(pop_prev=True)),
        Store(dram_base=TARGET // 4, y_size=1, x_size=1, deps=Deps(pop_prev=True)),
        Finish(deps=Deps(pop_next=True)),
    ]
    with pytest.raises(DeadlockError) as caught:
        run(device, stuck)
    assert str(caught.value) == (
        "deadlock: load: nothing left; compute: instruction 5 waits for a token store->compute; "
        "store: instruction 4 waits for a token compute->store"
    )
    assert device.stats.launches == 0
    assert device.stats.instructions.total == 4
    assert run(device, copy()) == run(fresh, copy())
    assert stored(device) == stored(fresh)


def test_a_head_that_was_not_fetched_waits_for_no_token() -> None:
    device = make()
    waiting = [Gemm(deps=Deps(pop_prev=True)) for _ in range(100)]
    given = [Load(memory=MemoryId.INP, deps=Deps(push_next=True)) for _ in range(100)]
    with pytest.raises(DeadlockError) as caught:
        run(device, [*waiting, *given, Finish()])
    assert caught.value.heads[0] == ModuleHead(LOAD, 100)
    assert caught.value.heads[1] == ModuleHead(COMPUTE, 0, ((LOAD, COMPUTE),))
    assert str(caught.value).startswith("deadlock: load: instruction 100 was not fetched, a queue before it is full; ")


def test_skipping_execution_keeps_tokens_and_the_words_in_memory() -> None:
    device = make()
    words = encode_all(copy(), CONFIG)
    code = device.memory.alloc(words.nbytes)
    device.memory.write(code, 0, words.tobytes())
    device.debug_mode(DeviceDebug.SKIP_EXEC)
    launch = device.launch(code.address, 5)
    assert stored(device) == [0] * 64
    assert launch.statistics.alu_counter == 16
    assert device.memory.read(code, 0, words.nbytes) == words.tobytes()


def test_instructions_before_one_that_fails_are_executed() -> None:
    device = make()
    bad = Load(memory=MemoryId.ACC, sram_base=120, dram_base=SOURCE // 16, y_size=1, x_size=9)
    message = "^instruction 4: ACC elements 120 to 128 are out of range, the buffer has 128 elements$"
    with pytest.raises(ExecutionError, match=message):
        run(device, [*copy(4)[:4], bad, Finish(deps=Deps(pop_next=True))])
    assert stored(device, 4) == list(range(1, 17))
    assert device.stats.instructions.total == 4
    assert device.stats.launches == 0


def test_a_device_without_logs_has_the_same_cycles_and_refuses_to_record() -> None:
    bare = make(recordable=False)
    assert run(bare, copy()) == run(make(), copy())
    bare.set_trace(None)
    bare.set_timeline(None)
    for refused in (bare.set_trace, bare.set_timeline):
        with pytest.raises(DeviceError) as caught:
            refused(print)
        assert str(caught.value) == (
            "this tsim was made with recordable=False, so it keeps no times; "
            "make one with recordable=True to trace or record launches"
        )


def test_a_memory_that_is_slower_than_the_watchdog_looks_is_no_deadlock() -> None:
    device = make(latency=20_000)
    launch = run(device, copy(1))
    assert stored(device, 1) == [1, 2, 3, 4]
    assert launch.cycles is not None
    assert 60_000 < launch.cycles < 120_000  # words, micro-ops and numbers come, and the store is answered


def test_a_launch_that_stores_over_its_own_words_runs_as_it_was_launched() -> None:
    """Numbers are stored over the last two instructions before these are fetched."""
    device = make(latency=100)
    program = copy(8)
    code = device.memory.alloc(4096)
    idle = [Load(memory=MemoryId.INP)] * 60
    over = Store(dram_base=(code.address + 16 * 63) // 4, y_size=1, x_size=8, deps=Deps(pop_prev=True, push_prev=True))
    words = [*program[:3], over, *idle, program[4]]
    encoded = encode_all(words, CONFIG)
    device.memory.write(code, 0, encoded.tobytes())
    launch = device.launch(code.address, len(words))
    assert launch.statistics.instructions.total == 65
    assert device.memory.read(code, 16 * 63, 32) == bytes(range(1, 33))
    assert device.memory.read(code, 0, 16 * 63) == encoded.tobytes()[: 16 * 63]


def test_a_heartbeat_comes_every_8192_cycles_and_as_many_as_answers_may_take() -> None:
    device = make(latency=32)
    beats: list[Heartbeat | None] = []
    device.set_heartbeat(beats.append)
    long = Alu(alu_opcode=AluOpcode.ADD, use_imm=True, imm=1, uop_end=1, iter_out=2000, iter_in=16, dst_factor_in=1)
    words = [copy()[0], long, Finish()]
    launch = run(device, words)
    assert launch.cycles is not None
    assert beats.pop() is None
    period = 8192 + 16 * 32
    assert [round(beat.cycles / period, 2) for beat in beats if beat is not None and beat.cycles is not None] == [
        number + 1 for number in range(launch.cycles // period)
    ]
    assert {(beat.started, beat.count) for beat in beats if beat is not None} == {(3, 3)}


def test_notes_are_taken_while_somebody_listens_and_not_afterwards() -> None:
    device = make()
    logs = device._core._notes.hooks
    events: list[TraceEvent] = []
    for hook, seen in ((None, 0), (events.append, 5), (None, 5), (events.append, 10)):
        device.set_trace(hook)
        run(device, copy())
        assert len(events) == seen
        assert not any(log.enabled for log in logs)
