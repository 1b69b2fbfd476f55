"""Moving a launch to other buffers: only addresses change, and only to where the launch can work."""

import re

import numpy as np
import pytest

from isa.config import VTAConfig
from isa.instructions import Load, MemoryId, Store
from runtime.memory.device_memory import Allocation
from runtime.queue.command_queue import CommandQueueError
from runtime.queue.launch import LaunchAddresses, RelocationError, dram_base
from runtime.queue.launcher import LauncherError
from runtime.session import Session
from tests.support.compiler.convolution import Convolution


@pytest.fixture
def session() -> Session:
    return Session(VTAConfig(), "reference", record=True)


def test_a_moved_launch_differs_in_dram_bases_alone(session: Session) -> None:
    convolution = Convolution(session, threads=2)
    convolution.calls()
    [launch] = session.queue.launcher.launches
    assert launch.buffers == tuple(convolution.buffers)
    inp = convolution.buffers[0]
    other = session.memory.alloc(inp.nbytes)
    moved = launch.moved({inp: other})
    assert moved.buffers == (other, *convolution.buffers[1:])
    for before, after in zip(launch.instructions, moved.instructions, strict=True):
        if isinstance(before, Load) and before.memory is MemoryId.INP and not before.is_nop:
            assert isinstance(after, Load)
            assert after.dram_base - before.dram_base == (other.address - inp.address) // 16
        else:
            assert after == before
    back = moved.moved({other: inp})
    np.testing.assert_array_equal(back.array, launch.array)
    assert launch.moved({}) is launch


def test_buffers_may_trade_places(session: Session) -> None:
    block, other = session.memory.alloc(64), session.memory.alloc(64)
    for number, buffer in enumerate((block, other)):
        session.queue.load_buffer_2d(buffer, number, x_size=1, y_size=1, x_stride=1, sram_base=0, memory=MemoryId.INP)
    session.queue.store_buffer_2d(0, MemoryId.OUT, other, 3, x_size=1, y_size=1, x_stride=1)
    session.queue.synchronize()
    [launch] = session.queue.launcher.launches
    moved = launch.moved({block: other, other: block})
    bases = [i.dram_base for i in moved.instructions if isinstance(i, Load | Store) and not i.is_nop]
    assert bases == [other.address // 16, block.address // 16 + 1, block.address // 16 + 3]


def test_words_are_read_only(session: Session) -> None:
    session.queue.synchronize()
    [launch] = session.queue.launcher.launches
    with pytest.raises(ValueError, match="read-only"):
        launch.array[0, 0] = 0


def test_elements_start_at_multiples_of_their_size(session: Session) -> None:
    message = "buffer at 0x1008: elements of 16 bytes start at multiples of their size"
    with pytest.raises(RelocationError, match=f"^{re.escape(message)}$"):
        dram_base(Allocation(0x1008, 64), 0, 16)
    convolution = Convolution(session, threads=1)
    convolution.calls()
    [launch] = session.queue.launcher.launches
    with pytest.raises(RelocationError, match=f"^{re.escape(message)}$"):
        launch.moved({convolution.buffers[0]: Allocation(0x1008, 4096)})


def test_a_launch_of_another_session_is_refused(session: Session) -> None:
    session.memory.alloc(1)
    session.queue.synchronize()
    [launch] = session.queue.launcher.launches
    message = (
        "the launch has its micro-ops at 0x2000, and this queue's are at 0x1000; it belongs to another session, or to "
        "the time before a shutdown"
    )
    with pytest.raises(LauncherError, match=f"^{re.escape(message)}$"):
        Session(VTAConfig(), "reference").queue.launcher.submit(launch)


def test_areas_that_do_not_fit_leave_nothing_allocated() -> None:
    session = Session(VTAConfig(), "reference", memory_limit=(1 << 25) + (1 << 13))
    with pytest.raises(MemoryError, match="no 33554432 bytes free"):
        session.queue.synchronize()
    assert session.memory.allocated_bytes == 0


def test_areas_may_be_smaller_and_launches_are_forced_earlier() -> None:
    session = Session(VTAConfig(log_uop_buff_size=12), "sim", area_bytes=4096, record=True)
    block = session.memory.alloc(4096)
    with session.program():
        for _ in range(300):
            session.queue.load_buffer_2d(block, 0, x_size=1, y_size=1, x_stride=1, sram_base=0, memory=MemoryId.INP)
    launches = session.queue.launcher.launches
    assert len(launches) == 2
    assert max(len(launch) for launch in launches) * 16 <= 4096
    assert [launch.addresses for launch in launches] == [LaunchAddresses(instructions=0x3000, uops=0x2000)] * 2


@pytest.mark.parametrize(("config", "nbytes", "least"), [
    (VTAConfig(log_uop_buff_size=12), 4095, 4096), (VTAConfig(), 32767, 32768), (VTAConfig(), (1 << 25) + 1, 32768),
])  # fmt: skip
def test_an_area_that_is_too_small_or_too_large_is_refused(config: VTAConfig, nbytes: int, least: int) -> None:
    with pytest.raises(CommandQueueError) as caught:
        Session(config, "reference", area_bytes=nbytes)
    assert str(caught.value) == f"command queue: an area has {least} to 33554432 bytes, not {nbytes}"


def test_a_buffer_that_ends_before_the_launch_does_is_refused(session: Session) -> None:
    block = session.memory.alloc(64)
    session.queue.load_buffer_2d(block, 1, x_size=2, y_size=1, x_stride=2, sram_base=0, memory=MemoryId.INP)
    session.queue.synchronize()
    [launch] = session.queue.launcher.launches
    [at] = [index for index, word in enumerate(launch.instructions) if isinstance(word, Load) and word.x_size == 2]
    enough = Allocation(0x8000, 48)
    assert launch.moved({block: enough}).buffers == (enough,)
    message = f"buffer at 0x8000: it has 47 bytes, and instruction {at} of the recorded launch reaches to byte 48"
    with pytest.raises(RelocationError, match=f"^{re.escape(message)}$"):
        launch.moved({block: Allocation(0x8000, 47)})


def test_a_launch_with_its_data_is_a_program_that_stands_alone(session: Session) -> None:
    block, other = session.memory.alloc(48), session.memory.alloc(16)
    session.memory.write(block, 0, bytes(range(48)))
    session.queue.load_buffer_2d(block, 0, x_size=3, y_size=1, x_stride=3, sram_base=0, memory=MemoryId.INP)
    session.queue.store_buffer_2d(0, MemoryId.OUT, other, 0, x_size=1, y_size=1, x_stride=1)
    session.queue.synchronize()
    [launch] = session.queue.launcher.launches
    session.memory.write(other, 0, bytes(16))
    program = launch.program(session.memory)
    assert [(each.address, bytes(each.data), each.name) for each in program.memory.segments] == [
        (block.address, bytes(range(48)), "buffer0"),
        (other.address, bytes(16), "buffer1"),
    ]
    assert program.instructions == tuple(launch.instructions)
    assert (program.uop_base, program.uops) == (launch.addresses.uops, ())
    assert (program.config, program.origins) == (launch.config, launch.origins)
    session.memory.write(block, 0, bytes(48))
    assert bytes(program.memory.segments[0].data) == bytes(range(48))  # as it was


def test_a_launch_that_runs_for_a_node_again_is_the_same(session: Session) -> None:
    session.queue.synchronize()
    [launch] = session.queue.launcher.launches
    assert launch.nodes == ("",)
    assert launch.run_for("") is launch
    other = launch.run_for("conv1")
    assert (other.nodes, {origin.node for origin in other.origins if origin}) == (("conv1",), {"conv1"})
    assert other.run_for("conv1") is other
    np.testing.assert_array_equal(other.array, launch.array)
