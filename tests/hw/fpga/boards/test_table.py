import pytest

from hw.fpga.boards.table import BOARDS, board_called
from hw.fpga.place import FpgaError
from isa.config import VTAConfig
from isa.machine.hardware_config import HardwareConfig


def test_every_board_is_found_by_its_name() -> None:
    assert [board_called(board.name) for board in BOARDS] == list(BOARDS)


@pytest.mark.parametrize(
    ("name", "hint"), [("ecpix", "did you mean 'ecpix5'?"), ("", "docs/fpga.md tells more of them")]
)
def test_an_unknown_board_is_refused_with_those_that_there_are(name: str, hint: str) -> None:
    with pytest.raises(FpgaError) as error:
        board_called(name)
    assert str(error.value) == f"--board: the boards are ecpix5, ulx3s, pynq-z1, arty-z7, not {name!r}; {hint}"


BLOCK_8 = VTAConfig(log_block=3, log_inp_buff_size=14, log_wgt_buff_size=16, log_acc_buff_size=16)


@pytest.mark.parametrize("board", ["ecpix5", "ulx3s"])
def test_hardware_that_litedram_does_not_take_is_refused(board: str) -> None:
    chosen = board_called(board)
    assert chosen.refusal(BLOCK_8, HardwareConfig()) == ""
    refused = chosen.refusal(BLOCK_8, HardwareConfig(addr_width=40))
    assert refused == "its memory has addresses of 32 bits, not addr_width 40"
    axi3 = HardwareConfig(axi3=1, max_burst_beats=16)
    assert chosen.refusal(BLOCK_8, axi3) == "its memory port is AXI4: leave axi3 at 0"
    too_many = chosen.refusal(VTAConfig(), HardwareConfig())
    assert too_many == "its FPGA has 156 multipliers, and this takes 304: --set most_multipliers=156"
    assert chosen.refusal(VTAConfig(), HardwareConfig(most_multipliers=156)) == ""


@pytest.mark.parametrize("board", ["pynq-z1", "arty-z7"])
def test_hardware_that_a_zynq_does_not_take_is_refused(board: str) -> None:
    chosen = board_called(board)

    def refusal(vta: VTAConfig, **hardware: int) -> str:
        return chosen.refusal(vta, HardwareConfig(**{"axi3": 1, "max_burst_beats": 16, **hardware}))

    assert refusal(BLOCK_8) == ""
    assert refusal(BLOCK_8, axi3=0) == "its memory port is AXI3: --set axi3=1 --set max_burst_beats=16"
    assert refusal(BLOCK_8, data_width=128) == "its high-performance ports have 64 bits, not data_width 128"
    assert refusal(BLOCK_8, addr_width=40) == "its memory has addresses of 32 bits, not addr_width 40"
    assert refusal(VTAConfig()) == (
        "its FPGA has 220 multipliers, and this takes 304: --set share_multipliers=1 --set most_multipliers=220"
    )
    assert refusal(VTAConfig(), share_multipliers=1, most_multipliers=220) == ""
