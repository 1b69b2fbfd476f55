"""The system that is built for a board, simulated whole: tutorials run on it through its own links."""

from pathlib import Path

import pytest

from isa.config import VTAConfig
from isa.text.assembler import assemble
from runtime.drivers.etherbone import EtherboneBus
from runtime.drivers.litex_board import BoardFacts, read_board
from runtime.drivers.opening import device_on
from runtime.drivers.uart_bridge import UartBus
from runtime.session import Session
from tests.support.hw.board_simulation import BoardSimulation, built_board
from vta.cli.script import run_script

pytestmark = pytest.mark.long

CONFIG = VTAConfig(log_block=2, log_uop_buff_size=11, log_inp_buff_size=12, log_wgt_buff_size=13, log_acc_buff_size=14)
EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
PROGRAM = """
.data A type=int32 shape=8,4
    arange -16
.output C type=int8 shape=8,4
.uop
    dst=0 src=0
.text
    load.acc dram=A x=8
    load.uop dram=uops x=1
    alu.add uop=0:1 imm=3 iter=8,1 dst=1,0 src=1,0 push_next
    store dram=C x=8 pop_prev push_prev
    finish pop_next
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, BoardFacts]:
    folder = tmp_path_factory.mktemp("board")
    library = built_board(CONFIG, folder)
    return library, read_board(folder)


@pytest.mark.parametrize("tutorial", ["matrix_multiply", "vector_add"])
def test_a_tutorial_runs_on_the_board_over_ethernet(
    tutorial: str, built: tuple[Path, BoardFacts], capsys: pytest.CaptureFixture[str]
) -> None:
    library, facts = built
    board = BoardSimulation(library)
    device = device_on(EtherboneBus(board, seconds=10), facts)
    session = Session(CONFIG, device, area_bytes=1 << 20)
    done = run_script(EXAMPLES / f"{tutorial}.py", CONFIG, session=session)
    assert capsys.readouterr().out.endswith(": equal to numpy\n")
    assert done.cycles == device.stats.cycles
    assert done.launches > 0
    assert board.asked_for_us == 1  # by ARP, of which nothing but its own kind is answered


def test_a_program_runs_on_the_board_over_its_serial_port(built: tuple[Path, BoardFacts]) -> None:
    library, facts = built
    board = BoardSimulation(library)
    session = Session(CONFIG, device_on(UartBus(board.serial), facts), area_bytes=1 << 16)
    found = session.run_program(assemble(PROGRAM, config=CONFIG))["C"]
    assert found.reshape(-1).tolist() == list(range(-13, 19))
