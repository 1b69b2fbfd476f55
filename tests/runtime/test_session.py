"""Sessions: what surrounds a program, programs that bring their own memory, and configurations that do not match."""

import re
import threading

import numpy as np
import pytest

from isa.config import VTAConfig
from isa.instructions import Alu, AluOpcode, Deps, Finish, Load, MemoryId, Module, Store
from isa.origin import Origin
from isa.program import MemoryImage, MemorySegment, OutputRegion, Program
from runtime.devices.device import Device, DeviceError
from runtime.devices.reference import ReferenceDevice
from runtime.memory.device_memory import DeviceMemory, DeviceMemoryError
from runtime.queue.command_queue import DebugFlag
from runtime.queue.launch import Launch
from runtime.queue.launcher import LauncherError
from runtime.session import Session, SessionError
from tests.support.compiler.convolution import Convolution
from tests.support.configs import CONFIGS
from tests.support.hw.streams import gemm_kernel
from tests.support.runtime.random_calls import RandomCalls

CONFIG = VTAConfig()
SIM, REFERENCE = "sim", "reference"


def says(text: str) -> str:
    return f"^{re.escape(text)}$"


@pytest.mark.parametrize("name", [SIM, REFERENCE])
def test_a_session_makes_the_device_that_it_is_asked_for(name: str) -> None:
    session = Session(CONFIG, name)
    assert session.device.name == name
    assert isinstance(session.device, Device)
    assert session.device.memory is session.memory


def test_a_session_takes_a_device_and_its_memory() -> None:
    device = ReferenceDevice(CONFIG, DeviceMemory(1 << 27))
    session = Session(CONFIG, device)
    assert session.device is device
    assert session.memory is device.memory


def test_an_unknown_device_is_refused() -> None:
    board = "device 'pynq' is a board, and nothing here drives it; run on one of sim, reference, tsim instead"
    with pytest.raises(SessionError, match=says(board)):
        Session(CONFIG, "pynq")
    with pytest.raises(SessionError, match=says("device 'fpga' is unknown; the devices are sim, reference, tsim")):
        Session(CONFIG, "fpga")


def test_the_current_session_is_the_one_whose_program_runs_in_this_thread() -> None:
    outer = Session(CONFIG, REFERENCE)
    message = "no session is running a program here; runtime calls belong into 'with session.program()'"
    with pytest.raises(SessionError, match=says(message)):
        Session.current()
    seen: list[str] = []

    def elsewhere() -> None:
        with pytest.raises(SessionError):
            Session.current()
        seen.append("none")

    with outer.program():
        assert Session.current() is outer
        inner = Session(CONFIG, REFERENCE)
        with inner.program():
            assert Session.current() is inner
        assert Session.current() is outer
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
    assert seen == ["none"]


def test_programs_of_one_session_take_turns() -> None:
    session = Session(CONFIG, REFERENCE, record=True)
    inside: list[int] = []

    def program(number: int) -> None:
        with session.program():
            inside.append(number)
            session.queue.push_gemm("k", gemm_kernel(session.queue, (number, 0, 0), reset=True))
            inside.append(number)

    threads = [threading.Thread(target=program, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert inside[::2] == inside[1::2]
    assert sorted(int(launch.uops[0]) for launch in session.queue.launcher.launches) == list(range(8))


def run_inside(session: Session) -> None:
    with session.program(), session.program():
        pass


def test_programs_do_not_nest_and_calls_need_one() -> None:
    session = Session(CONFIG, REFERENCE)
    message = "a program is running on this session, and a second one cannot run inside it"
    with pytest.raises(SessionError, match=says(message)):
        run_inside(session)
    message = "this session is not running a program; runtime calls belong into 'session.program()'"
    with pytest.raises(SessionError, match=says(message)):
        _ = session.run


def fail_after_calls(session: Session) -> None:
    with session.program():
        session.queue.dep_pop(Module.LOAD, Module.COMPUTE)
        session.queue.push_gemm("k", gemm_kernel(session.queue, (0, 0, 0)))
        raise KeyError("host code")


def test_a_program_that_fails_leaves_nothing_behind() -> None:
    session = Session(CONFIG, REFERENCE, record=True)
    with pytest.raises(KeyError):
        fail_after_calls(session)
    with session.program():
        session.queue.synchronize()
    [launch] = session.queue.launcher.launches
    assert len(launch) == 4


def test_an_error_that_was_kept_wins_over_what_the_host_code_makes_of_it() -> None:
    session = Session(CONFIG, REFERENCE)

    def host_code() -> None:
        with session.program() as run:
            run.keep_error(ValueError("first"))
            run.keep_error(ValueError("second"))
            raise RuntimeError("host code saw a failed call")

    with pytest.raises(ValueError, match=says("first")):
        host_code()


def test_a_debug_mode_that_a_program_sets_ends_with_it() -> None:
    session = Session(CONFIG, REFERENCE)
    session.queue.debug_mode = DebugFlag.SKIP_READ_BARRIER
    with session.program():
        session.queue.debug_mode = DebugFlag.FORCE_SERIAL
    assert session.queue.debug_mode is DebugFlag.SKIP_READ_BARRIER


def test_buffers_of_a_failed_program_are_freed() -> None:
    session = Session(CONFIG, REFERENCE)

    def host_code() -> None:
        with session.program() as run:
            run.free(run.alloc(100))
            run.alloc(10000)
            raise RuntimeError("failed")

    before = session.memory.allocated_bytes
    with pytest.raises(RuntimeError, match="failed"):
        host_code()
    assert session.memory.allocated_bytes == before
    with session.program() as run:
        kept = run.alloc(100)
    assert session.memory.is_live(kept)


def test_br_046_a_device_of_another_configuration_is_refused_naming_both() -> None:
    other = CONFIGS["block32"]
    device = ReferenceDevice(CONFIG, DeviceMemory(1 << 27))
    message = (
        f"programs are for 1x32_i8w8a32_15_15_18_17 (digest {other.digest}), and device 'reference' is "
        f"1x16_i8w8a32_15_15_18_17 (digest {CONFIG.digest})"
    )
    with pytest.raises(LauncherError, match=says(message)):
        Session(other, device)
    session = Session(CONFIG, device)
    message = (
        f"the program is for 1x32_i8w8a32_15_15_18_17 (digest {other.digest}), and device 'reference' is "
        f"1x16_i8w8a32_15_15_18_17 (digest {CONFIG.digest}); build it for this configuration"
    )
    with pytest.raises(SessionError, match=says(message)):
        session.run_program(Program(config=other, instructions=()))
    session.require_config(VTAConfig(target="tsim"), "a module for another target of equal programs")


# --- programs that bring their own memory ----------------------------------------------------------------------------


def captured(config: VTAConfig, seed: int) -> tuple[Program, np.ndarray[tuple[int, ...], np.dtype[np.int8]]]:
    """Return a random program as one that stands alone, and the numbers that it stores."""
    session = Session(config, REFERENCE)
    calls = RandomCalls(session, seed, 60)
    programs: list[Program] = []

    def listener(launch: Launch) -> None:
        programs.append(launch.program(session.memory))

    session.queue.launcher.listeners.append(listener)
    session.queue.origin = lambda: Origin("stage", "file.py:1")
    calls.calls()
    expected = calls.expected()
    [program] = programs
    output = OutputRegion(name="out", address=calls.out.address, dtype="int8", shape=expected.shape)
    image = MemoryImage(segments=program.memory.segments, outputs=(output,))
    return Program(
        config=config,
        instructions=program.instructions,
        uops=program.uops,
        uop_base=program.uop_base,
        memory=image,
        origins=program.origins,
    ), expected


@pytest.mark.parametrize("device", [SIM, REFERENCE])
@pytest.mark.parametrize("config", CONFIGS)
def test_a_captured_launch_runs_alone_in_a_fresh_session(config: str, device: str) -> None:
    program, expected = captured(CONFIGS[config], seed=5)
    session = Session(CONFIGS[config], device)
    for _ in range(2):
        found = session.run_program(program)
        np.testing.assert_array_equal(found["out"], expected)
    assert session.memory.allocated_bytes == 0


@pytest.mark.parametrize("device", [SIM, REFERENCE])
def test_micro_ops_and_data_of_a_program_may_share_pages(device: str) -> None:
    numbers = np.arange(16, dtype=np.int32)
    program = Program(
        config=CONFIG,
        instructions=(
            Load(memory=MemoryId.ACC, dram_base=0x41, x_size=1, y_size=1, x_stride=1),
            Load(memory=MemoryId.UOP, dram_base=0x400, x_size=1, y_size=1, x_stride=1),
            Alu(alu_opcode=AluOpcode.ADD, use_imm=True, imm=1, uop_end=1, deps=Deps(push_next=True)),
            Store(dram_base=0x200, x_size=1, y_size=1, x_stride=1, deps=Deps(pop_prev=True, push_prev=True)),
            Finish(deps=Deps(pop_next=True)),
        ),
        uops=(0,),
        uop_base=0x1000,
        memory=MemoryImage(
            segments=(MemorySegment.from_array(0x1040, numbers, name="x"),),
            outputs=(OutputRegion(name="y", address=0x2000, shape=(16,)),),
        ),
    )
    session = Session(CONFIG, device)
    np.testing.assert_array_equal(session.run_program(program)["y"], np.arange(1, 17))


def test_a_program_whose_addresses_are_in_use_is_refused_and_nothing_stays_claimed() -> None:
    session = Session(CONFIG, REFERENCE)
    session.memory.claim(0x4000, 10)
    used = session.memory.allocated_bytes
    segments = (MemorySegment(address=0x1080, data=b"abc"), MemorySegment(address=0x4080, data=b"abc"))
    image = MemoryImage(segments=segments)
    program = Program(config=CONFIG, instructions=(), memory=image)
    message = "device memory: 4096 bytes cannot be claimed at 0x4000, because the block of 10 bytes at 0x4000 is in use"
    with pytest.raises(DeviceMemoryError, match=says(message)):
        session.run_program(program)
    assert session.memory.allocated_bytes == used


def test_a_program_without_instructions_is_refused_by_the_reference_device() -> None:
    session = Session(CONFIG, REFERENCE)
    message = "a launch has at least one instruction, FINISH, not 0"
    with pytest.raises(DeviceError, match=says(message)):
        session.run_program(Program(config=CONFIG, instructions=()))


def test_the_convolution_uses_no_memory_after_it_closed_its_queue() -> None:
    session = Session(CONFIG, REFERENCE, record=True)
    convolution = Convolution(session, threads=1)
    before = session.memory.allocated_bytes
    convolution.calls()
    assert session.memory.allocated_bytes == before + (1 << 26)
    session.queue.close()
    assert session.memory.allocated_bytes == before
    convolution.calls()
    assert len(session.queue.launcher.launches) == 2


def test_a_program_goes_on_from_its_first_launch_to_its_end() -> None:
    session = Session(VTAConfig())
    seen = [session.goes_on]
    with session.program():
        for _ in range(2):
            seen.append(session.goes_on)
            session.queue.synchronize()
        seen.append(session.goes_on)
    seen.append(session.goes_on)
    assert seen == [False, False, True, True, False]


def test_nothing_of_a_program_listens_when_it_has_ended() -> None:
    session = Session(VTAConfig())
    with session.program() as first:
        session.queue.origin = lambda: Origin("C", "x.py:1")
        session.queue.synchronize()
    with session.program():
        assert session.queue.origin is None
        session.queue.synchronize()
    assert len(first.launches) == 1


@pytest.mark.parametrize("record", [False, True])
def test_launches_are_kept_if_that_is_asked_for(record: bool) -> None:
    session = Session(VTAConfig(), "sim", record=record) if record else Session(VTAConfig(), "sim")
    session.queue.synchronize()
    assert len(session.queue.launcher.launches) == record
