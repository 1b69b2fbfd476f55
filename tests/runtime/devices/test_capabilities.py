"""What devices can do besides running launches, asked of the interface and not of the class."""

import io

import pytest

from isa.config import VTAConfig
from isa.instructions import MemoryId
from isa.machine.hardware_config import HardwareConfig
from isa.text.assembler import assemble
from runtime.devices.device import Capabilities, Device, DeviceError, HardwareSetup
from runtime.devices.idle import IdleDevice
from runtime.memory.device_memory import DeviceMemory
from runtime.observe.heartbeat import Heartbeat
from runtime.session import DEVICE_NAMES, Session, SessionError

CONFIG = VTAConfig()
SETUP = HardwareSetup(hardware=HardwareConfig(data_width=128), latency=7, stall_seed=3)
PROGRAM = assemble("load.uop sram=0 dram=0x400 y=1 x=1 stride=1\ngemm uop=0:1 iter=1,1 reset\nfinish")


@pytest.mark.parametrize("name", DEVICE_NAMES)
def test_every_device_has_the_whole_interface(name: str) -> None:
    device = Session(CONFIG, name).device
    assert isinstance(device, Device)
    assert device.scratchpad(MemoryId.ACC).shape == (CONFIG.acc_depth, CONFIG.batch, CONFIG.block_out)


@pytest.mark.parametrize("name", ["sim", "reference"])
def test_engines_of_instructions_have_no_clock_no_signals_and_no_hardware(name: str) -> None:
    device = Session(CONFIG, name).device
    assert device.capabilities == Capabilities(scratchpads=True)
    for ask in (device.signals, lambda: device.waves(io.StringIO())):
        with pytest.raises(DeviceError) as caught:
            ask()
        assert str(caught.value) == f"device {name!r} has no signals, only the hardware has; use 'tsim'"
    with pytest.raises(SessionError) as refused:
        Session(CONFIG, name, setup=SETUP)
    assert (
        str(refused.value)
        == f"device {name!r} has no hardware to set up; run on 'tsim' (`--target tsim`), or leave its sizes out"
    )


def test_hardware_is_made_as_it_is_asked_for() -> None:
    assert Session(CONFIG, "tsim").device.capabilities.setup == HardwareSetup()
    device = Session(CONFIG, "tsim", setup=SETUP).device
    assert device.capabilities == Capabilities(clock=True, scratchpads=True, signals=True, setup=SETUP)
    assert "running" in device.signals()


@pytest.mark.parametrize("name", ["sim", "reference"])
def test_the_end_of_each_launch_is_told(name: str) -> None:
    session = Session(CONFIG, name)
    beats: list[Heartbeat | None] = []
    session.device.set_heartbeat(beats.append)
    session.run_program(PROGRAM)
    session.run_program(PROGRAM)
    assert beats.count(None) == 2
    assert beats[-1] is None
    assert all(beat.cycles is None and beat.started < beat.count == 3 for beat in beats if beat is not None)
    session.device.set_heartbeat(None)
    session.run_program(PROGRAM)
    assert beats.count(None) == 2


def test_a_device_that_shows_nothing_says_so() -> None:
    idle = IdleDevice(CONFIG, DeviceMemory(1 << 20))
    assert idle.capabilities == Capabilities()
    with pytest.raises(DeviceError) as caught:
        idle.scratchpad(MemoryId.INP)
    assert str(caught.value) == "device 'idle' does not show its scratchpads (INP); use 'sim' or 'tsim'"
