"""An accelerator as its driver reaches it: control registers by name, memory by address.

Tests: ``tests/runtime/drivers/test_ports.py``.
"""

from typing import Protocol

from isa.config import VTAConfig
from isa.machine.hardware_config import HardwareConfig
from isa.machine.register_map import VERSION, control_registers
from runtime.devices.device import DeviceError

__all__ = ["AcceleratorPort", "ControlRegisters"]


class AcceleratorPort(Protocol):
    """A board's accelerator. Everything may raise ``LinkError``."""

    name: str
    """The board, for messages."""

    base: int
    """The accelerator's address of the first byte of ``memory_bytes`` that are the driver's."""

    memory_bytes: int

    def read_register(self, offset: int) -> int:
        """Return a word of the control registers."""
        ...

    def sample_register(self, offset: int) -> int:
        """Return a word of the control registers that changes while a launch runs; noise may have changed it."""
        ...

    def write_register(self, offset: int, value: int) -> None:
        """Write a register that reads back what was written."""
        ...

    def strobe_register(self, offset: int) -> None:
        """Write a one to a register that does not read back; it may be lost."""
        ...

    def launch(self, offset: int) -> None:
        """Write a one to the register that begins a launch: exactly once, or an error."""
        ...

    def read_memory(self, offset: int, nbytes: int) -> bytes:
        """Return bytes of memory; ``offset`` and ``nbytes`` are multiples of 64."""
        ...

    def write_memory(self, offset: int, data: bytes) -> None:
        """Write bytes of memory; ``offset`` and the length are multiples of 64."""
        ...

    def close(self) -> None:
        """Give back what the port is made of."""
        ...


class ControlRegisters:
    """The control registers of an accelerator that was built for these configurations; ``require_match`` says whether.

    ``KeyError`` for a name that there is no register of.
    """

    def __init__(self, port: AcceleratorPort, vta: VTAConfig, hardware: HardwareConfig) -> None:
        self._port = port
        self._vta = vta
        self._hardware = hardware
        self._registers = {entry.name: entry for entry in control_registers(vta, hardware)}

    def read(self, name: str) -> int:
        """Return a register, both words of a long one."""
        entry = self._registers[name]
        return sum(self._port.read_register(entry.offset + 4 * part) << 32 * part for part in range(entry.words))

    def sample(self, name: str) -> int:
        """Return the low word of a register that changes while a launch runs."""
        return self._port.sample_register(self._registers[name].offset)

    def write(self, name: str, value: int) -> None:
        """Write a register that can be read back."""
        entry = self._registers[name]
        for part in range(entry.words):
            self._port.write_register(entry.offset + 4 * part, value >> 32 * part & 0xFFFF_FFFF)

    def strobe(self, name: str) -> None:
        """Write a one to a register that does not read back; whoever needs it looks at what it does."""
        self._port.strobe_register(self._registers[name].offset)

    def launch(self) -> None:
        """Begin a launch, exactly once."""
        self._port.launch(self._registers["launch"].offset)

    def require_match(self) -> None:
        """Raise ``DeviceError``, naming both, unless this is an accelerator of these configurations."""
        version = self.read("version")
        if version != VERSION:
            raise DeviceError(
                f"{self._port.name}: no accelerator with registers of version {VERSION} is there (it reads as "
                f"{version:#x}); load its bitstream, and look at the address of the registers"
            )
        for name, expected in (("vta_digest", self._vta.digest), ("hardware_digest", self._hardware.digest)):
            found = f"{self.read(name):016x}"
            if found != expected:
                what = "the configuration" if name == "vta_digest" else "the hardware configuration"
                raise DeviceError(
                    f"{self._port.name}: the board was built for {what} of digest {found}, and this is {expected}; "
                    "build it anew, or use its board.json"
                )
