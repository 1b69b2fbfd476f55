"""The control registers as data: hardware, drivers and documentation read this table.

Tests: ``tests/hw/test_registers.py``.
"""

import enum
from dataclasses import dataclass

from isa.config import VTAConfig
from isa.machine.causes import Cause
from isa.machine.counters import CAUSE_STRIDE, COUNT_WIDTH, COUNTED_MODULES, COUNTER_WIDTH, CYCLE_WIDTH
from isa.machine.error_codes import ErrorCode
from isa.machine.hardware_config import HardwareConfig

__all__ = ["CAUSES_OFFSET", "MAP_BYTES", "VERSION", "Access", "Register", "control_registers", "register"]

VERSION = 2
"""Of the register map."""

MAP_BYTES = 512
"""Bytes of address space that the registers take."""

CAUSES_OFFSET = 0x100
"""Where the counters of causes begin, ``CAUSE_STRIDE`` words for each module."""


class Access(enum.Enum):
    """What the host may do with a register."""

    WRITE = "write"
    """Writing a one starts something; reads as zero."""
    READ_WRITE = "read/write"
    ACKNOWLEDGE = "read/acknowledge"
    """Writing a one to a bit makes it zero."""
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
    causes = _causes() if hardware.cause_counters else ()
    launch = (*_launch_registers(hardware), *_bases(hardware), *_GIVING_UP)
    return (*launch, *_COUNTS, *_IRQ, *_digests(vta, hardware), *causes)


def _launch_registers(hardware: HardwareConfig) -> tuple[Register, ...]:
    """Return what begins a launch and tells how it goes."""
    codes = ", ".join(f"{code.value} {code.name}" for code in ErrorCode)
    status = (
        f"Bit 0 busy, bit 1 done, bit 2 error; bits 15:8 the error: {codes}. The others may be 1 while busy is: until "
        "memory has ended what was begun."
    )
    place = (
        "The index of the instruction in error; for responses of memory who asked: 0 fetch, 1 micro-op loads, "
        "2 accumulator loads, 3 the load module, 4 the store module; for MISALIGNED 0 insn_address, 1 uop_base and so "
        "on; for ABORTED how many instructions had been fetched."
    )
    address = "Byte address of the first instruction, a multiple of 16."
    version = "Of this register map."
    launch = "1 begins a launch, with what the addresses and the count are now; it gives up one that is in progress."
    return (
        Register(name="launch", offset=0x00, width=1, access=Access.WRITE, doc=launch),
        Register(name="status", offset=0x04, width=16, access=Access.READ, doc=status),
        Register(name="error_place", offset=0x08, width=COUNT_WIDTH, access=Access.READ, doc=place),
        Register(name="version", offset=0x0C, width=32, access=Access.CONSTANT, doc=version, value=VERSION),
        Register(name="insn_address", offset=0x10, width=hardware.addr_width, access=Access.READ_WRITE, doc=address),
        Register(
            name="insn_count", offset=0x18, width=COUNT_WIDTH, access=Access.READ_WRITE, doc="Number of instructions."
        ),
    )


def _bases(hardware: HardwareConfig) -> tuple[Register, ...]:
    """Return where the DRAM addresses of each memory count from."""
    doc = "Byte address that DRAM addresses of {} count from; a multiple of the beat, or the launch is refused."
    return tuple(
        Register(
            name=f"{name}_base",
            offset=0x20 + 8 * index,
            width=hardware.addr_width,
            access=Access.READ_WRITE,
            doc=doc.format(name.upper()),
        )
        for index, name in enumerate(("uop", "inp", "wgt", "acc", "out"))
    )


_GIVING_UP = (
    Register(
        name="abort",
        offset=0x48,
        width=1,
        access=Access.WRITE,
        doc="1 gives up the launch: memory ends what was begun, and the error is ABORTED. Without a launch: nothing.",
    ),
    Register(
        name="reset",
        offset=0x4C,
        width=1,
        access=Access.WRITE,
        doc="1 gives up the launch without an error or an interrupt, and makes every register that can be written "
        "zero; until memory has ended what was begun, status is busy.",
    ),
)


def _count(name: str, *, offset: int, width: int, doc: str) -> Register:
    return Register(name=name, offset=offset, width=width, access=Access.READ, doc=doc)


_COUNTS = (
    _count("cycles", offset=0x50, width=CYCLE_WIDTH, doc="Cycles of the last launch."),
    _count("read_beats", offset=0x58, width=COUNTER_WIDTH, doc="Beats read by the last launch, instructions included."),
    _count("write_beats", offset=0x5C, width=COUNTER_WIDTH, doc="Beats written by the last launch."),
    _count("fetched", offset=0x60, width=COUNT_WIDTH, doc="Instructions handed to the queues."),
    _count("load_started", offset=0x64, width=COUNT_WIDTH, doc="Instructions that the load module has started."),
    _count("compute_started", offset=0x68, width=COUNT_WIDTH, doc="Instructions that the compute module has started."),
    _count("store_started", offset=0x6C, width=COUNT_WIDTH, doc="Instructions that the store module has started."),
)


_IRQ = (
    Register(
        name="irq_enable", offset=0x70, width=1, access=Access.READ_WRITE, doc="1: irq is high while irq_pending is 1."
    ),
    Register(
        name="irq_pending",
        offset=0x74,
        width=1,
        access=Access.ACKNOWLEDGE,
        doc="A launch has ended, well or not, since 1 was written here.",
    ),
)


def _causes() -> tuple[Register, ...]:
    """Return the counters of what each module spent its cycles on."""
    return tuple(
        _count(
            f"{module}_{cause.name.lower()}",
            offset=CAUSES_OFFSET + 4 * (CAUSE_STRIDE * number + cause),
            width=COUNTER_WIDTH,
            doc=f"Cycles of the {module} module: {cause.name}.",
        )
        for number, module in enumerate(COUNTED_MODULES)
        for cause in Cause
    )


def _digests(vta: VTAConfig, hardware: HardwareConfig) -> tuple[Register, ...]:
    """Return what tells which configurations the hardware was built for."""
    vta_doc = "Digest of the VTA configuration: programs of another one cannot run."
    hardware_doc = "Digest of the hardware configuration."
    return tuple(
        Register(name=name, offset=offset, width=64, access=Access.CONSTANT, doc=doc, value=int(value, 16))
        for name, offset, doc, value in (
            ("vta_digest", 0x80, vta_doc, vta.digest),
            ("hardware_digest", 0x88, hardware_doc, hardware.digest),
        )
    )


def register(registers: tuple[Register, ...], name: str) -> Register:
    """Return the register called ``name``; ``KeyError`` if there is none."""
    for entry in registers:
        if entry.name == name:
            return entry
    raise KeyError(name)
