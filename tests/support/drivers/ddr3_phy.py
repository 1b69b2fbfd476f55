"""DDR3 memory behind LiteDRAM's registers, as far as starting it is concerned.

Every byte lane reads right at some delays of some bitslips (its eyes), and turned over elsewhere. Commands have an
effect only after the mode registers were set, with a row open.
"""

import numpy as np

from tests.support.drivers.word_space import WordSpace

__all__ = ["CSR", "MODE_REGISTERS", "ORIGIN", "Ddr3Words", "Lane"]

ORIGIN = 0x4000_0000

MODE_REGISTERS = ((2, 0x200), (3, 0), (1, 6), (0, 0x320))

Eye = tuple[int, int, int]
"""Bitslip, first and last delay."""

CSR: dict[str, tuple[int, int]] = {}
_INJECTOR = (("command", 1), ("command_issue", 1), ("address", 1), ("baddress", 1), ("wrdata", 2), ("rddata", 2))
_NAMES = [
    ("sdram_dfii_control", 1),
    *((f"sdram_dfii_pi{phase}_{name}", words) for phase in (0, 1) for name, words in _INJECTOR),
    *((f"ddrphy_{name}", 1) for name in ("dly_sel", "rdly_dq_rst", "rdly_dq_inc", "rdly_dq_bitslip_rst",
      "rdly_dq_bitslip", "burstdet_clr", "burstdet_seen")),
]  # fmt: skip
CSR = {name: (0xF000_1000 + 16 * index, words) for index, (name, words) in enumerate(_NAMES)}

_PLACES = {address + 4 * part: (name, part) for name, (address, words) in CSR.items() for part in range(words)}


class Lane:
    """A byte lane with its delay and bitslip."""

    def __init__(self, eyes: list[Eye]) -> None:
        self.eyes = eyes
        self.delay = 5
        self.bitslip = 2

    @property
    def reads_right(self) -> bool:
        return any(self.bitslip == slip and first <= self.delay <= last for slip, first, last in self.eyes)


class Ddr3Words(WordSpace):
    """The bus of a board with such memory; ``address_bits`` are those that are connected."""

    def __init__(
        self,
        nbytes: int,
        eyes: list[Eye],
        *,
        more: list[Eye] | None = None,
        sees_bursts: bool = True,
        address_bits: int = 32,
    ) -> None:
        super().__init__(np.zeros(nbytes, np.uint8), origin=ORIGIN, registers=dict.fromkeys(_PLACES, 0))
        self.lanes = [Lane([eye, *others]) for eye, others in zip(eyes, [[each] for each in more or eyes], strict=True)]
        self.sees_bursts = sees_bursts
        self.address_bits = address_bits
        self.mode_registers: dict[int, int] = {}
        self.row_open = False
        self.burst = bytes(16)
        self.registers[CSR["sdram_dfii_control"][0]] = 1

    @property
    def controller_has_it(self) -> bool:
        return bool(self.registers[CSR["sdram_dfii_control"][0]] & 1)

    def read(self, address: int) -> int:
        return super().read(self._connected(address))

    def write(self, address: int, value: int) -> None:
        super().write(self._connected(address), value)

    def _connected(self, address: int) -> int:
        inside = ORIGIN <= address < ORIGIN + len(self.memory)
        return ORIGIN + (address - ORIGIN & (1 << self.address_bits) - 1) if inside else address

    def write_register(self, address: int, value: int) -> None:
        super().write_register(address, value)
        name, _ = _PLACES.get(address, ("", 0))
        if name.endswith("command_issue") and not self.controller_has_it:
            self._command(int(name[13]))
        if name.startswith("ddrphy_rdly"):
            for number, lane in enumerate(self.lanes):
                if self._value("ddrphy_dly_sel") >> number & 1:
                    self._adjust(lane, name)
        if name == "ddrphy_burstdet_clr":
            self.registers[CSR["ddrphy_burstdet_seen"][0]] = 0

    def _adjust(self, lane: Lane, name: str) -> None:
        match name:
            case "ddrphy_rdly_dq_rst":
                lane.delay = 0
            case "ddrphy_rdly_dq_inc":
                lane.delay = (lane.delay + 1) % 8
            case "ddrphy_rdly_dq_bitslip_rst":
                lane.bitslip = 0
            case "ddrphy_rdly_dq_bitslip":
                lane.bitslip = (lane.bitslip + 1) % 4

    def _value(self, name: str) -> int:
        address, words = CSR[name]
        value = 0
        for part in range(words):
            value = value << 32 | self.registers[address + 4 * part]
        return value

    def _command(self, phase: int) -> None:
        command = self._value(f"sdram_dfii_pi{phase}_command")
        awake = self._value("sdram_dfii_control") & 0b1010 == 0b1010
        if command == 15 and awake:
            self.mode_registers[self._value("sdram_dfii_pi0_baddress")] = self._value("sdram_dfii_pi0_address")
        elif command == 9:
            self.row_open = self.mode_registers == dict(MODE_REGISTERS)
        elif command == 11:
            self.row_open = False
        elif command == 23 and phase == 1 and self.row_open:
            self.burst = b"".join(self._value(f"sdram_dfii_pi{each}_wrdata").to_bytes(8, "little") for each in (0, 1))
        elif command == 37 and phase == 0 and self.row_open:
            self._read_burst()

    def _read_burst(self) -> None:
        found = bytearray(self.burst)
        for number, lane in enumerate(self.lanes):
            if not lane.reads_right:
                found[number::2] = bytes(byte ^ 0xFF for byte in found[number::2])
            elif self.sees_bursts:
                self.registers[CSR["ddrphy_burstdet_seen"][0]] |= 1 << number
        for phase in (0, 1):
            address = CSR[f"sdram_dfii_pi{phase}_rddata"][0]
            value = int.from_bytes(found[8 * phase : 8 * phase + 8], "little")
            self.registers[address], self.registers[address + 4] = value >> 32, value & 0xFFFF_FFFF
