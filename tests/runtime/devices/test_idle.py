"""The device that runs nothing."""

from isa.config import VTAConfig
from isa.instructions import MemoryId
from runtime.devices.device import Device
from runtime.devices.idle import IdleDevice
from runtime.memory.device_memory import DeviceMemory
from runtime.session import Session

CONFIG = VTAConfig()


def test_it_is_a_device() -> None:
    assert isinstance(IdleDevice(CONFIG, DeviceMemory()), Device)


def test_launches_are_collected_and_memory_stays_as_it_is() -> None:
    session = Session(CONFIG, IdleDevice(CONFIG, DeviceMemory()), record=True)
    block = session.memory.alloc(4096)
    session.memory.view(block.address, 4096)[:] = 7
    with session.program([block]):
        session.queue.store_buffer_2d(0, MemoryId.OUT, block, 0, x_size=4, y_size=1, x_stride=4)
        session.queue.synchronize()
    [launch] = session.queue.launcher.launches
    assert launch.buffers == (block,)
    assert set(session.memory.view(block.address, 4096).tolist()) == {7}
    assert session.device.stats.launches == 0


def test_the_timeline_hook_is_kept() -> None:
    device = IdleDevice(CONFIG, DeviceMemory())

    def hook(*_: object) -> None:
        raise AssertionError("nothing happens")

    assert device.set_timeline(hook) is None
    assert device.set_timeline(None) is hook
