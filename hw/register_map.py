"""The control registers as data: hardware, drivers and documentation read this table.

Imports ``hw.config``, ``hw.control``, ``hw.errors``. Tests: ``tests/hw/test_register_map.py``.
"""

import enum
from dataclasses import dataclass

from hw.config import HardwareConfig
from hw.control import COUNTER_WIDTH, CYCLE_WIDTH
from hw.errors import ErrorCode
from hw.fetch import COUNT_WIDTH
from isa.config import VTAConfig

__all__ = ["MAP_BYTES", "VERSION", "Access", "Register", "control_registers", "register", "register_page"]

VERSION = 1
"""Of the register map."""

MAP_BYTES = 256
"""Bytes of address space that the registers take."""


class Access(enum.Enum):
    """What the host may do with a register."""

    WRITE = "write"
    """Writing a one starts something; reads as zero."""
    READ_WRITE = "read/write"
    READ = "read"
    """Writes are ignored."""
    CONSTANT = "constant"
    """Reads as ``value``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Register:
    """A register of ``width`` bits at byte ``offset``; above 32 bits its high word follows at ``offset + 4``."""

    name: str
    offset: int
    width: int
    access: Access
    doc: str
    value: int = 0

    @property
    def words(self) -> int:
        """32-bit words that it takes."""
        return 1 if self.width <= 32 else 2


def control_registers(vta: VTAConfig, hardware: HardwareConfig) -> tuple[Register, ...]:
    """Return all registers in the order of their offsets."""
    addr = hardware.addr_width
    codes = ", ".join(f"{code.value} {code.name}" for code in ErrorCode)
    bases = tuple(
        Register(
            name=f"{name}_base",
            offset=0x20 + 8 * index,
            width=addr,
            access=Access.READ_WRITE,
            doc=f"Byte address that DRAM addresses of {name.upper()} count from; a multiple of the beat.",
        )
        for index, name in enumerate(("uop", "inp", "wgt", "acc", "out"))
    )
    digests = tuple(
        Register(
            name=name,
            offset=offset,
            width=64,
            access=Access.CONSTANT,
            doc=f"Digest of the {what}.",
            value=int(value, 16),
        )
        for name, offset, what, value in (
            ("vta_digest", 0x80, "VTA configuration: programs of another one cannot run", vta.digest),
            ("hardware_digest", 0x88, "hardware configuration", hardware.digest),
        )
    )
    counts = tuple(
        Register(name=name, offset=offset, width=width, access=Access.READ, doc=doc)
        for name, offset, width, doc in (
            ("cycles", 0x50, CYCLE_WIDTH, "Cycles of the last launch."),
            ("read_beats", 0x58, COUNTER_WIDTH, "Beats read by the last launch, instructions included."),
            ("write_beats", 0x5C, COUNTER_WIDTH, "Beats written by the last launch."),
            ("fetched", 0x60, COUNT_WIDTH, "Instructions handed to the queues."),
            ("load_started", 0x64, COUNT_WIDTH, "Instructions that the load module has started."),
            ("compute_started", 0x68, COUNT_WIDTH, "Instructions that the compute module has started."),
            ("store_started", 0x6C, COUNT_WIDTH, "Instructions that the store module has started."),
        )
    )
    return (
        Register(name="launch", offset=0x00, width=1, access=Access.WRITE, doc="1 begins a launch."),
        Register(
            name="status",
            offset=0x04,
            width=16,
            access=Access.READ,
            doc=f"Bit 0 busy, bit 1 done, bit 2 error; bits 15:8 the error: {codes}.",
        ),
        Register(
            name="error_place",
            offset=0x08,
            width=COUNT_WIDTH,
            access=Access.READ,
            doc="The index of the instruction in error; for responses of memory who asked: 0 fetch, 1 micro-op loads, "
            "2 accumulator loads, 3 the load module, 4 the store module.",
        ),
        Register(
            name="version", offset=0x0C, width=32, access=Access.CONSTANT, doc="Of this register map.", value=VERSION
        ),
        Register(
            name="insn_address",
            offset=0x10,
            width=addr,
            access=Access.READ_WRITE,
            doc="Byte address of the first instruction, a multiple of 16.",
        ),
        Register(
            name="insn_count",
            offset=0x18,
            width=COUNT_WIDTH,
            access=Access.READ_WRITE,
            doc="Number of instructions.",
        ),
        *bases,
        *counts,
        *digests,
    )


def register(registers: tuple[Register, ...], name: str) -> Register:
    """Return the register called ``name``; ``KeyError`` if there is none."""
    for entry in registers:
        if entry.name == name:
            return entry
    raise KeyError(name)


def register_page(vta: VTAConfig, hardware: HardwareConfig) -> str:
    """Return the page of the documentation, in Markdown, for one pair of configurations."""
    lines = [
        "# Control registers",
        "",
        "32-bit words behind an AXI4-Lite port; generated from `hw/register_map.py`. A register of more than 32 bits",
        "has its high word 4 bytes above. Every other address reads as zero. Digests differ from configuration to",
        "configuration; those of the default one are shown.",
        "",
        "| offset | register | bits | access | meaning |",
        "|---|---|---|---|---|",
    ]
    for entry in control_registers(vta, hardware):
        access = entry.access.value
        if entry.access is Access.CONSTANT:
            access += f" {entry.value:#x}"
        lines.append(f"| {entry.offset:#04x} | {entry.name} | {entry.width} | {access} | {entry.doc} |")
    return "\n".join(lines) + "\n"
