"""Starting the memory of a LiteX board from the host: the chips' start sequence, and the delays of their data.

A board without a processor comes up with memory that nobody has initialised. LiteDRAM lets the bus send single commands
to the chips (``sdram_dfii_*``); with them the mode registers are set, and where the PHY has delays, every byte lane
gets the middle of the range in which a pattern reads right. Tests: ``tests/runtime/drivers/test_memory_training.py``.
"""

import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from runtime.devices.device import DeviceError
from runtime.drivers.links import Bus
from runtime.drivers.litex_board import BoardFacts, CsrEntry
from runtime.memory.device_memory import PAGE_BYTES

__all__ = ["LaneDelay", "start_memory"]

_SELECT_CONTROLLER, _SELECT_HOST = 1, 0b1110
"""Of ``sdram_dfii_control``: the controller sends commands, or the host (with clock enable, termination, no reset)."""

_CS, _WE, _CAS, _RAS, _WRITES, _READS = 1, 2, 4, 8, 16, 32

_PATTERNS = 4
"""Patterns that a delay must read right."""

_ATTEMPTS = 3
"""Times that everything is tried before it is an error: a link may lose what does not read back."""


@dataclass(frozen=True, slots=True)
class LaneDelay:
    """What was chosen for a byte lane, and how many neighbouring delays read right."""

    lane: int
    bitslip: int
    delay: int
    width: int


def start_memory(bus: Bus, facts: BoardFacts) -> tuple[LaneDelay, ...]:
    """Initialise and train the memory, and try it; return what was chosen (nothing for memory without delays).

    ``DeviceError`` if no delay of a lane reads right, or if memory does not keep what is written.
    """
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            chips = _Chips(bus, facts)
            chips.start()
            chosen = tuple(chips.train(lane) for lane in range(chips.lanes)) if chips.delays else ()
            chips.finish()
            _try(bus, facts)
        except DeviceError:
            if attempt == _ATTEMPTS:
                raise
        else:
            return chosen
    raise AssertionError("the last attempt returns or raises")


class _Chips:
    """The memory chips, one command at a time."""

    def __init__(self, bus: Bus, facts: BoardFacts) -> None:
        memory = facts.memory
        self._bus = bus
        self._csr: Mapping[str, CsrEntry] = facts.csr
        self._clock = facts.clock
        self._steps: Sequence[Mapping[str, int]] = memory["start"]
        self._phases: int = memory["phases"]
        self._read_phase: int = memory["read_phase"]
        self._write_phase: int = memory["write_phase"]
        self._phase_bytes: int = memory["phase_bytes"]
        self._sees_bursts = "ddrphy_burstdet_seen" in facts.csr
        self._random = random.Random(1)
        self._name = facts.name
        self.lanes: int = memory["byte_lanes"]
        self.delays: int = memory["delays"]
        self.bitslips: int = memory["bitslips"]

    def start(self) -> None:
        """Take the chips from the controller, and send the start sequence."""
        self._write("sdram_dfii_control", _SELECT_HOST)
        for step in self._steps:
            if step["control"]:
                self._write("sdram_dfii_pi0_address", step["address"])
                self._write("sdram_dfii_pi0_baddress", step["bank"])
                self._write("sdram_dfii_control", step["control"])
            else:
                self._command(0, step["command"], address=step["address"], bank=step["bank"])
            time.sleep(step["cycles"] / self._clock)

    def finish(self) -> None:
        """Give the chips to the controller."""
        self._write("sdram_dfii_control", _SELECT_CONTROLLER)

    def train(self, lane: int) -> LaneDelay:
        """Choose and set the delay of a lane."""
        best = LaneDelay(lane, 0, 0, 0)
        seen = []
        self._adjust(lane, "ddrphy_rdly_dq_bitslip_rst")
        for bitslip in range(self.bitslips):
            good = self._good_delays(lane)
            seen.append("".join("01"[each] for each in good))
            first, width = _longest(good)
            if width > best.width:
                best = LaneDelay(lane, bitslip, first + width // 2, width)
            if bitslip + 1 < self.bitslips:
                self._adjust(lane, "ddrphy_rdly_dq_bitslip")
        if not best.width:
            raise DeviceError(
                f"{self._name}: no delay of the memory's byte lane {lane} reads right ({' '.join(seen)}); "
                "power the board off and on, or build for a lower --mhz"
            )
        self._adjust(lane, "ddrphy_rdly_dq_bitslip_rst")
        for _ in range(best.bitslip):
            self._adjust(lane, "ddrphy_rdly_dq_bitslip")
        self._adjust(lane, "ddrphy_rdly_dq_rst")
        for _ in range(best.delay):
            self._adjust(lane, "ddrphy_rdly_dq_inc")
        return best

    def _good_delays(self, lane: int) -> list[bool]:
        """Return which delays read patterns right, at the bitslip that is set."""
        good = []
        self._adjust(lane, "ddrphy_rdly_dq_rst")
        for delay in range(self.delays):
            if delay:
                self._adjust(lane, "ddrphy_rdly_dq_inc")
            good.append(all(self._reads_right(lane) for _ in range(_PATTERNS)))
        return good

    def _reads_right(self, lane: int) -> bool:
        """Write a pattern to the first burst of memory, read it, and look at one lane."""
        wanted = [self._random.randbytes(self._phase_bytes) for _ in range(self._phases)]
        self._command(0, _RAS | _CS)
        for phase, data in enumerate(wanted):
            self._write(f"sdram_dfii_pi{phase}_wrdata", int.from_bytes(data, "little"))
        self._command(self._write_phase, _CAS | _WE | _CS | _WRITES)
        if self._sees_bursts:
            self._strobe("ddrphy_burstdet_clr")
        self._command(self._read_phase, _CAS | _CS | _READS)
        found = [self._get(f"sdram_dfii_pi{phase}_rddata") for phase in range(self._phases)]
        self._command(0, _RAS | _WE | _CS)
        lanes = slice(lane, None, self.lanes)
        same = all(
            value.to_bytes(self._phase_bytes, "little")[lanes] == data[lanes]
            for value, data in zip(found, wanted, strict=True)
        )
        return same and (not self._sees_bursts or bool(self._get("ddrphy_burstdet_seen") >> lane & 1))

    def _adjust(self, lane: int, register: str) -> None:
        """Change the delay or the bitslip of a lane; then all lanes pause together, so that they stay in step."""
        self._write("ddrphy_dly_sel", 1 << lane)
        self._strobe(register)
        self._write("ddrphy_dly_sel", 0)
        self._write("ddrphy_dly_sel", (1 << self.lanes) - 1)
        self._write("ddrphy_dly_sel", 0)

    def _command(self, phase: int, command: int, *, address: int = 0, bank: int = 0) -> None:
        self._write(f"sdram_dfii_pi{phase}_address", address)
        self._write(f"sdram_dfii_pi{phase}_baddress", bank)
        self._write(f"sdram_dfii_pi{phase}_command", command)
        self._strobe(f"sdram_dfii_pi{phase}_command_issue")

    def _write(self, name: str, value: int) -> None:
        """Write a register; the words of a long one come with the highest first."""
        entry = self._csr[name]
        words = [value >> 32 * part & 0xFFFF_FFFF for part in reversed(range(entry.words))]
        self._bus.write(entry.address, words)

    def _get(self, name: str) -> int:
        entry = self._csr[name]
        value = 0
        for word in self._bus.read(entry.address, entry.words):
            value = value << 32 | int(word)
        return value

    def _strobe(self, name: str) -> None:
        self._bus.strobe(self._csr[name].address, 1)


def _longest(good: Sequence[bool]) -> tuple[int, int]:
    """Return where the longest run of good delays begins, and its length."""
    best, begin = (0, 0), 0
    for place, each in enumerate([*good, False]):
        if not each:
            best = max(best, (begin, place - begin), key=lambda run: run[1])
            begin = place + 1
    return best


def _try(bus: Bus, facts: BoardFacts) -> None:
    """Write all of memory's address lines, and a block, and read everything back at the end."""
    memory: Mapping[str, Any] = facts.memory
    origin, nbytes = int(memory["origin"]), int(memory["bytes"])
    end = nbytes - PAGE_BYTES  # a serial bus looks at what is behind a write, and behind memory there is nothing
    places = [0, *(1 << bit for bit in range(2, nbytes.bit_length() - 1)), end - 4]
    block = np.frombuffer(random.Random(2).randbytes(256), "<u4").astype(np.uint32)
    for number, place in enumerate(places):
        bus.write(origin + place, [0x5AA5_0000 + number])
    for number, place in enumerate(places):
        found = int(bus.read(origin + place, 1)[0])
        if found != 0x5AA5_0000 + number:
            raise DeviceError(
                f"{facts.name}: memory does not keep what is written: {place:#x} reads as {found:#x}, "
                f"not {0x5AA5_0000 + number:#x}"
            )
    bus.write(origin + end - block.nbytes, block)
