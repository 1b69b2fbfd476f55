"""What programs cannot see of the hardware: bus and address width, queue depths, transfers in flight.

``VTAConfig`` decides programs, ``HardwareConfig`` stands beside it. Read once at the edge and passed on; leaves of the
hardware take plain ints. Tests: ``tests/isa/machine/test_hardware_config.py``.
"""

import hashlib
import json
from dataclasses import asdict, dataclass

from isa.errors import VTAError

__all__ = ["DATA_WIDTHS", "HardwareConfig", "HardwareConfigError"]

DATA_WIDTHS = (64, 128, 256, 512)
"""Widths in bits that the memory port may have."""

PAGE_BYTES = 4096
"""An AXI burst never crosses a multiple of this."""

AXI3_BEATS = 16
"""Beats of the longest burst of AXI3."""


class HardwareConfigError(VTAError, ValueError):
    """A hardware configuration that no hardware can be built for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HardwareConfig:
    """Sizes of the hardware that do not change what a program means.

    Raises ``HardwareConfigError`` naming the field, what it must be and what it is.
    """

    addr_width: int = 32
    """Bits of a byte address in DRAM, 32 to 64."""
    data_width: int = 64
    """Bits of a beat of the memory port."""
    inst_queue_depth: int = 16
    """Instructions that each of the three instruction queues holds."""
    fetch_buffer_depth: int = 32
    """Instructions that are read ahead of the queues; a power of two."""
    max_burst_beats: int = 64
    """Beats of the longest burst; a power of two up to 256 (bursts end at multiples of this many beats, too)."""
    read_bursts: int = 64
    """Read bursts that may be on their way in the whole core."""
    read_beats: int = 128
    """A reader may ask for a further burst while fewer beats than this are on their way to it."""
    write_bursts: int = 64
    """Write bursts that may wait for their response."""
    load_jobs: int = 4
    """Instructions whose data the load module may wait for at a time."""
    store_jobs: int = 4
    """Instructions that the store module may have begun and not completed."""
    share_multipliers: int = 0
    """1: two products of the GEMM core come from one multiplier of 25 by 18 bits, as a DSP48 has; 0: one each."""
    most_multipliers: int = 65536
    """Multipliers that the core takes at most; further products are made of look-up tables, the cheapest ones first."""
    axi3: int = 0
    """1: the memory port is one of AXI3, whose bursts have 16 beats at most; 0: of AXI4."""
    axi_cache: int = 3
    """AxCACHE of every burst, 0 to 15; 3 is normal memory that is not cached, 15 suits a coherent port."""
    axi_prot: int = 0
    """AxPROT of every burst, 0 to 7; 2 is not secure."""
    cause_counters: int = 1
    """1: the host can read what the modules spent their cycles on, and the registers have counters for it; 0: not."""

    def __post_init__(self) -> None:
        """Check every rule."""
        for name, value in asdict(self).items():
            if not isinstance(value, int) or isinstance(value, bool):
                raise HardwareConfigError(f"{name} is {value!r}, but it must be a whole number")
        if self.data_width not in DATA_WIDTHS:
            widths = ", ".join(map(str, DATA_WIDTHS))
            raise HardwareConfigError(f"data_width is {self.data_width}, but it must be one of {widths}")
        ranges = {
            "addr_width": (32, 64),
            "inst_queue_depth": (1, 1024),
            "fetch_buffer_depth": (2 * self.beat_bytes // 16 or 2, 1024),
            "max_burst_beats": (1, 256),
            "read_bursts": (1, 256),
            "read_beats": (1, 4096),
            "write_bursts": (1, 256),
            "load_jobs": (2, 64),
            "store_jobs": (2, 64),
            "share_multipliers": (0, 1),
            "most_multipliers": (0, 65536),
            "axi3": (0, 1),
            "axi_cache": (0, 15),
            "axi_prot": (0, 7),
            "cause_counters": (0, 1),
        }
        for name, (low, high) in ranges.items():
            value = getattr(self, name)
            if not low <= value <= high:
                raise HardwareConfigError(f"{name} is {value}, but it must be {low} to {high}")
        if self.axi3 and self.max_burst_beats > AXI3_BEATS:
            raise HardwareConfigError(
                f"max_burst_beats is {self.max_burst_beats}, but bursts of AXI3 have {AXI3_BEATS} beats at most; "
                f"set max_burst_beats to {AXI3_BEATS}, too"
            )
        for name in ("max_burst_beats", "fetch_buffer_depth"):
            value = getattr(self, name)
            if value & (value - 1):
                low = 1 << (value.bit_length() - 1)
                raise HardwareConfigError(f"{name} is {value}, but it must be a power of two, such as {low}")

    @property
    def beat_bytes(self) -> int:
        """Bytes of a beat of the memory port."""
        return self.data_width // 8

    @property
    def burst_beats(self) -> int:
        """Beats of the longest burst that stays within 4 KiB: bursts end at multiples of this many beats."""
        return min(self.max_burst_beats, PAGE_BYTES // self.beat_bytes)

    @property
    def digest(self) -> str:
        """Sixteen hex digits over every field."""
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()[:16]
