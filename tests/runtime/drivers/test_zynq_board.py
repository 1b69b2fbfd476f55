# amaranth: UnusedElaboratable=no
"""A Zynq without one: files stand for the devices of Linux, the accelerator is simulated."""

import json
import mmap
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from isa.config import VTAConfig
from isa.machine.hardware_config import HardwareConfig
from isa.text.assembler import assemble
from runtime.devices.device import DeviceError
from runtime.drivers.board_device import BoardDevice
from runtime.drivers.board_file import BoardFileError
from runtime.drivers.zynq_board import ZynqPort, open_zynq
from runtime.session import Session
from tests.support.drivers.linux_devices import LinuxDevices, RegisterWindow

CONFIG = VTAConfig(log_block=2, log_uop_buff_size=11, log_inp_buff_size=12, log_wgt_buff_size=13, log_acc_buff_size=14)
HARDWARE = HardwareConfig()
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


@pytest.fixture
def linux(tmp_path: Path) -> LinuxDevices:
    return LinuxDevices(tmp_path, nbytes=1 << 20, base=0x1F40_0000)


def port_of(linux: LinuxDevices) -> ZynqPort:
    return ZynqPort(uio=linux.uio, dma=linux.dma, facts=linux.facts)


def test_words_and_bytes_go_to_the_devices(linux: LinuxDevices) -> None:
    port = port_of(linux)
    port.write_register(0x10, 0x1234_5678)
    port.strobe_register(0x48)
    port.launch(0)
    port.write_memory(64, bytes(range(128)))
    words = np.frombuffer(linux.uio.read_bytes(), "<u4")
    assert {4 * int(place): int(words[place]) for place in np.flatnonzero(words)} == {0: 1, 0x10: 0x1234_5678, 0x48: 1}
    assert linux.dma.read_bytes()[:256] == bytes(64) + bytes(range(128)) + bytes(64)
    assert port.read_register(0x10) == port.sample_register(0x10) == 0x1234_5678
    assert port.read_memory(64, 64) == bytes(range(64))
    assert (port.base, port.memory_bytes) == (0x1F40_0000, 1 << 20)


def test_a_program_runs_on_memory_that_both_have_mapped(linux: LinuxDevices) -> None:
    port = port_of(linux)
    port.registers = RegisterWindow(CONFIG, HARDWARE, linux)  # type: ignore[assignment]  # the accelerator itself
    session = Session(CONFIG, BoardDevice(CONFIG, port, hardware=HARDWARE), area_bytes=1 << 16)
    found = session.run_program(assemble(PROGRAM, config=CONFIG))["C"]
    assert found.reshape(-1).tolist() == list(range(-13, 19))


def test_the_folder_of_a_project_says_what_must_be_there(linux: LinuxDevices, tmp_path: Path) -> None:
    facts: dict[str, Any] = {"vta": CONFIG.to_dict(), "hardware": asdict(HARDWARE)}
    (tmp_path / "board.json").write_text(json.dumps(facts))
    places = {"uio": str(linux.uio), "dma": str(linux.dma), "facts": str(linux.facts)}
    with pytest.raises(
        DeviceError, match=r"uio0: no accelerator with registers of version 2 is there \(it reads as 0x0"
    ):
        open_zynq(tmp_path, **places)
    (tmp_path / "board.json").write_text("{}")
    with pytest.raises(BoardFileError) as caught:
        open_zynq(tmp_path, **places)
    assert str(caught.value) == f"{tmp_path}/board.json: there is no vta in it; build the board again"


def test_devices_that_are_not_there_are_an_error_that_says_what_to_load(linux: LinuxDevices) -> None:
    linux.uio.unlink()
    with pytest.raises(DeviceError) as caught:
        port_of(linux)
    assert str(caught.value) == (
        f"{linux.uio}: it cannot be opened (No such file or directory); load the overlay vta.dtso"
    )
    (linux.facts / "size").write_text("much")
    with pytest.raises(
        DeviceError, match=r"size: expected a number of u-dma-buf \(.*\); load the module and the overlay"
    ):
        port_of(linux)


def test_devices_that_are_too_small_are_an_error(linux: LinuxDevices) -> None:
    (linux.facts / "size").write_text("4096")
    with pytest.raises(DeviceError) as caught:
        port_of(linux)
    assert str(caught.value) == (
        f"{linux.dma}: the accelerator needs memory that begins a page, two pages at least, "
        "not 4096 bytes at 0x1f400000"
    )
    (linux.facts / "size").write_text(str(2 << 20))
    with pytest.raises(DeviceError, match=r": 2097152 bytes cannot be mapped \("):
        port_of(linux)


def test_a_mapping_lasts_as_long_as_its_port(linux: LinuxDevices) -> None:
    port = port_of(linux)
    mapping = port.registers.obj
    assert isinstance(mapping, mmap.mmap)
    assert len(port.registers) * 4 == mmap.PAGESIZE
    port.close()
    assert mapping.closed
    with pytest.raises(ValueError, match="released"):
        port.read_register(0)
