import pytest

from hw.fpga.boards.table import BOARDS, board_called
from hw.fpga.place import FpgaError
from isa.machine.hardware_config import HardwareConfig


def test_every_board_is_found_by_its_name() -> None:
    assert [board_called(board.name) for board in BOARDS] == list(BOARDS)


@pytest.mark.parametrize(
    ("name", "hint"), [("ecpix", "did you mean 'ecpix5'?"), ("", "docs/fpga.md tells more of them")]
)
def test_an_unknown_board_is_refused_with_those_that_there_are(name: str, hint: str) -> None:
    with pytest.raises(FpgaError) as error:
        board_called(name)
    assert str(error.value) == f"--board: the boards are ecpix5, ulx3s, not {name!r}; {hint}"


@pytest.mark.parametrize("board", ["ecpix5", "ulx3s"])
def test_hardware_that_the_memory_port_does_not_take_is_refused(board: str) -> None:
    chosen = board_called(board)
    assert chosen.refusal(HardwareConfig()) == ""
    assert chosen.refusal(HardwareConfig(addr_width=40)) == "its memory has addresses of 32 bits, not addr_width 40"
    axi3 = HardwareConfig(axi3=1, max_burst_beats=16)
    assert chosen.refusal(axi3) == "its memory port is AXI4: leave axi3 at 0"
