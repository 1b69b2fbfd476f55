"""An accelerator in the fabric of a Zynq, from Linux on its processor: registers by UIO, memory by u-dma-buf.

The memory is mapped without a cache (``O_SYNC``), so that both sides see the same. ``vta.dtso`` of the board's folder
makes both devices. Tests: ``tests/runtime/drivers/test_zynq_board.py``.
"""

import mmap
import os
from pathlib import Path

from isa.machine.register_map import MAP_BYTES
from runtime.devices.device import DeviceError
from runtime.drivers.board_device import BoardDevice
from runtime.drivers.board_file import configurations, read_json
from runtime.memory.device_memory import PAGE_BYTES

__all__ = ["DMA_NAME", "ZynqPort", "open_zynq"]

DMA_NAME = "udmabuf-vta"


class ZynqPort:
    """The accelerator behind two devices of Linux; ``uio``, ``dma`` and ``facts`` are where they are.

    ``facts`` is the folder in which u-dma-buf says address and size. Raises ``DeviceError``.
    """

    def __init__(self, *, uio: Path, dma: Path, facts: Path) -> None:
        self.name = f"the accelerator at {uio}"
        self.base = _number(facts / "phys_addr")
        self.memory_bytes = _number(facts / "size")
        if self.base % PAGE_BYTES or self.memory_bytes < 2 * PAGE_BYTES:
            raise DeviceError(
                f"{dma}: the accelerator needs memory that begins a page, two pages at least, not "
                f"{self.memory_bytes} bytes at {self.base:#x}"
            )
        # One word a time, as a device must be accessed; slices of a mapping may be copied byte by byte.
        registers, memory = _mapped(uio, MAP_BYTES), _mapped(dma, self.memory_bytes)
        self.registers = memoryview(registers).cast("I")
        self._memory = memoryview(memory)
        self._views, self._mappings = (self.registers, self._memory), (registers, memory)

    def read_register(self, offset: int) -> int:
        """Return a word of the control registers."""
        return self.registers[offset // 4]

    sample_register = read_register

    def write_register(self, offset: int, value: int) -> None:
        """Write a register."""
        self.registers[offset // 4] = value

    def strobe_register(self, offset: int) -> None:
        """Write a one to a register that does not read back."""
        self.registers[offset // 4] = 1

    launch = strobe_register

    def read_memory(self, offset: int, nbytes: int) -> bytes:
        """Return bytes of memory."""
        return bytes(self._memory[offset : offset + nbytes])

    def write_memory(self, offset: int, data: bytes) -> None:
        """Write bytes of memory."""
        self._memory[offset : offset + len(data)] = data

    def close(self) -> None:
        """Give the mappings back."""
        for view in self._views:
            view.release()
        for mapping in self._mappings:
            mapping.close()


def open_zynq(
    folder: Path | str, *, uio: str = "/dev/uio0", dma: str = f"/dev/{DMA_NAME}", facts: str | None = None
) -> BoardDevice:
    """Return the device of the board whose project is in ``folder``, on the board itself, with its bitstream loaded.

    ``BoardFileError`` for a folder that is no board's, ``DeviceError`` where the devices are not there or the
    accelerator is another one.
    """
    vta, hardware = configurations(read_json(Path(folder) / "board.json"))
    port = ZynqPort(
        uio=Path(uio), dma=Path(dma), facts=Path(f"/sys/class/u-dma-buf/{Path(dma).name}" if facts is None else facts)
    )
    return BoardDevice(vta, port, hardware=hardware)


def _number(file: Path) -> int:
    try:
        return int(file.read_text(encoding="ascii"), 0)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise DeviceError(
            f"{file}: expected a number of u-dma-buf ({why}); load the module and the overlay vta.dtso, on the board's "
            "own Linux"
        ) from None


def _mapped(file: Path, nbytes: int) -> mmap.mmap:
    try:
        number = os.open(file, os.O_RDWR | os.O_SYNC)
    except OSError as error:
        raise DeviceError(f"{file}: it cannot be opened ({error.strerror}); load the overlay vta.dtso") from None
    try:
        return mmap.mmap(number, -(-nbytes // PAGE_BYTES) * PAGE_BYTES, mmap.MAP_SHARED)
    except (OSError, ValueError) as error:
        raise DeviceError(f"{file}: {nbytes} bytes cannot be mapped ({error})") from None
    finally:
        os.close(number)
