# amaranth: UnusedElaboratable=no
"""Memory that answers with an error, at the AXI top in simulation: a clear error, and a device that goes on."""

import numpy as np
import pytest

from isa.config import VTAConfig
from isa.machine.error_codes import ErrorCode, stop_text
from isa.machine.hardware_config import HardwareConfig
from isa.program import Program
from isa.text.assembler import assemble
from runtime.devices.device import DeviceError
from runtime.drivers.board_device import BoardDevice
from tests.support.drivers.rtl_board import RtlPort
from tests.support.runtime.engine_comparison import run_reference
from tests.support.runtime.launching import place_program

CONFIG = VTAConfig(log_block=2, log_uop_buff_size=11, log_inp_buff_size=12, log_wgt_buff_size=13, log_acc_buff_size=14)
HARDWARE = HardwareConfig()
SLVERR, DECERR = 2, 3


WHOLE = """
    load.acc dram=A x=40
    load.uop dram=uops x=1
    alu.add uop=0:1 imm=3 iter=40,1 dst=1,0 src=1,0 push_next
    store dram=C x=40 pop_prev push_prev
    finish pop_next
"""


def program(text: str) -> Program:
    data = ".data A type=int32 shape=40,4\n arange -80\n.output C type=int8 shape=40,4\n.uop\n dst=0 src=0\n.text\n"
    return assemble(data + text, config=CONFIG)


@pytest.fixture
def port() -> RtlPort:
    return RtlPort(CONFIG, HARDWARE, 1 << 16)


def launches(device: BoardDevice, given: Program) -> None:
    """Run a program to its end; its output is the reference's."""
    placed = place_program(device.memory, given)
    device.launch(placed.address, placed.count)
    expected = run_reference(given).memory
    np.testing.assert_array_equal(device.memory.address_space()[4096 : len(expected)], expected[4096:])


READS = {
    "fetch": ("finish", 0),
    "micro-op loads": ("load.uop dram=uops x=1\n finish", 2),
    "accumulator loads": ("load.acc dram=A x=1\n finish", 2),
    "the load module": ("load.inp dram=A x=1\n finish", 2),
}
"""Who reads: a program that has it read first of all once so many instructions were dispatched."""


@pytest.mark.parametrize("response", [SLVERR, DECERR])
@pytest.mark.parametrize("who", [*READS, "the store module"])
def test_memory_that_answers_with_an_error_is_told_with_who_asked_and_the_device_goes_on(
    port: RtlPort, who: str, response: int
) -> None:
    device = BoardDevice(CONFIG, port, hardware=HARDWARE, patience=5)
    launches(device, program(WHOLE))
    text, dispatched = READS.get(who, (WHOLE, 0))
    signal = "m_axi__bresp" if who == "the store module" else "m_axi__rresp"
    design = port.board.design
    begin = port.launch

    def launch(offset: int) -> None:
        begin(offset)
        for _ in range(200):
            if design.peek("core.fetch.dispatched") >= dispatched:
                break
            design.step(1)
        design.poke(signal, response)

    port.launch = launch  # type: ignore[method-assign]
    device.memory = type(device.memory)(device.memory.limit)
    given = program(text)
    placed = place_program(device.memory, given)
    with pytest.raises(DeviceError) as caught:
        device.launch(placed.address, placed.count)
    place = [*READS, "the store module"].index(who)
    code, moved = ("WRITE_RESPONSE", "write") if who == "the store module" else ("READ_RESPONSE", "read")
    assert str(caught.value) == (
        f"the board: the hardware stopped with error {code} at {place}: memory answered a {moved} of {who} with SLVERR "
        "or DECERR; look if all of the memory that the device was given is there, and may be read and written"
    )
    design.poke(signal, 0)
    port.launch = begin  # type: ignore[method-assign]
    port.board.there[:] = 0xEE  # nothing that it holds may be relied on
    device.memory = type(device.memory)(device.memory.limit)
    launches(device, program(WHOLE))


def test_an_error_that_is_not_memorys_has_its_place_alone() -> None:
    assert stop_text(ErrorCode.OPCODE, 7) == "the hardware stopped with error OPCODE at 7"
    assert "a read of nobody that there is with" in stop_text(ErrorCode.READ_RESPONSE, 9)
