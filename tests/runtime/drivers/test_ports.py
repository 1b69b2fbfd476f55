"""Control registers by name."""

from isa.config import VTAConfig
from isa.machine.hardware_config import HardwareConfig
from isa.machine.register_map import control_registers, register
from runtime.drivers.ports import ControlRegisters

CONFIG, HARDWARE = VTAConfig(), HardwareConfig(addr_width=40)


class Noting:
    """A port that keeps what is written, and notes how."""

    name = "a port"
    base = memory_bytes = 0

    def __init__(self) -> None:
        self.words: dict[int, int] = {}
        self.seen: list[tuple[str, int]] = []

    def read_register(self, offset: int) -> int:
        return self.words.get(offset, 0)

    def sample_register(self, offset: int) -> int:
        self.seen.append(("sample", offset))
        return self.words.get(offset, 0)

    def write_register(self, offset: int, value: int) -> None:
        self.words[offset] = value

    def strobe_register(self, offset: int) -> None:
        self.seen.append(("strobe", offset))

    def launch(self, offset: int) -> None:
        self.seen.append(("launch", offset))

    def read_memory(self, *_: int) -> bytes:
        raise AssertionError

    def write_memory(self, *_: object) -> None:
        raise AssertionError

    def close(self) -> None:
        raise AssertionError


def offset(name: str) -> int:
    return register(control_registers(CONFIG, HARDWARE), name).offset


def test_a_long_register_is_two_words() -> None:
    port = Noting()
    registers = ControlRegisters(port, CONFIG, HARDWARE)
    registers.write("uop_base", 0x12_3456_7890)
    registers.write("insn_count", 7)
    at = offset("uop_base")
    assert port.words == {at: 0x3456_7890, at + 4: 0x12, offset("insn_count"): 7}
    assert registers.read("uop_base") == 0x12_3456_7890
    assert registers.sample("uop_base") == 0x3456_7890


def test_what_starts_something_goes_its_own_way() -> None:
    port = Noting()
    registers = ControlRegisters(port, CONFIG, HARDWARE)
    registers.launch()
    registers.strobe("abort")
    registers.sample("status")
    expected = [("launch", offset("launch")), ("strobe", offset("abort")), ("sample", offset("status"))]
    assert port.seen == expected
