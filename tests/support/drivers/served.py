"""Simulated boards behind real sockets and pseudo terminals, and the folders that their builds would have left."""

import json
import os
import pty
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from isa.config import VTAConfig
from isa.machine.hardware_config import HardwareConfig
from tests.support.drivers.etherbone_board import EtherboneBoard
from tests.support.drivers.rtl_board import LAUNCHES, MEMORY_CONTROL, ORIGIN, REGISTERS, RtlWords
from tests.support.drivers.uart_board import UartBoard

__all__ = ["ADD_THREE", "BOARD_ADDRESS", "UdpBoard", "over_pty", "over_udp", "udp_board", "write_board"]

BOARD_ADDRESS = "127.0.0.2"
"""This machine's second address: both sides have the same port."""

ADD_THREE = """
.data A type=int32 shape=1,4
    1 2 3 4
.output C type=int8 shape=1,4
.uop
    dst=0 src=0
.text
    load.acc dram=A x=1
    load.uop dram=uops x=1
    alu.add uop=0:1 imm=3 push_next
    store dram=C x=1 pop_prev push_prev
    finish pop_next
"""
"""A program for block 4: 1 2 3 4 become 4 5 6 7."""

_MEMORY = {"start": [], "phases": 1, "read_phase": 0, "write_phase": 0, "byte_lanes": 2, "phase_bytes": 8, "delays": 0,
           "bitslips": 0}  # fmt: skip


def write_board(
    folder: Path,
    config: VTAConfig,
    hardware: HardwareConfig,
    nbytes: int,
    *,
    port: int = 1234,
    links: Sequence[str] = ("etherbone", "uart"),
) -> Path:
    """Write the files of a board of ``RtlWords`` (whose memory has no delays) into a folder, and return that."""
    facts: dict[str, Any] = {
        "board": "ecpix5", "vta": config.to_dict(), "hardware": asdict(hardware), "clock": 60_000_000,
        "ip": BOARD_ADDRESS, "udp_port": port, "baud": 1_000_000, "registers": REGISTERS, "links": list(links),
        "memory": {"origin": ORIGIN, "bytes": nbytes, **_MEMORY},
    }  # fmt: skip
    places = {"vta_launches": LAUNCHES, "sdram_dfii_control": MEMORY_CONTROL}
    registers = {name: {"addr": place, "size": 1, "type": "rw"} for name, place in places.items()}
    folder.mkdir(exist_ok=True)
    (folder / "board.json").write_text(json.dumps(facts))
    (folder / "csr.json").write_text(json.dumps({"csr_registers": registers}))
    return folder


@contextmanager
def over_udp(board: EtherboneBoard) -> Iterator[int]:
    """Answer for a board at a port of ``BOARD_ADDRESS``, which is yielded."""
    over = threading.Event()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as listener:
        listener.bind((BOARD_ADDRESS, 0))
        listener.settimeout(0.05)

        def answer() -> None:
            while not over.is_set():
                try:
                    packet, back = listener.recvfrom(2048)
                except TimeoutError:
                    continue
                board.send(packet)
                while (answered := board.receive(0)) is not None:
                    listener.sendto(answered, back)

        thread = threading.Thread(target=answer)
        thread.start()
        try:
            yield listener.getsockname()[1]
        finally:
            over.set()
            thread.join()


@dataclass(slots=True)
class UdpBoard:
    """A board that answers over Ethernet, and its folder."""

    folder: Path
    board: EtherboneBoard
    words: RtlWords


@contextmanager
def udp_board(folder: Path, config: VTAConfig, hardware: HardwareConfig, nbytes: int) -> Iterator[UdpBoard]:
    """Yield a board with an accelerator in RTL and ``nbytes`` of memory, whose ``folder`` is written."""
    words = RtlWords(config, hardware, nbytes)
    board = EtherboneBoard(words)
    with over_udp(board) as port:
        yield UdpBoard(write_board(folder, config, hardware, nbytes, port=port), board, words)


@contextmanager
def over_pty(board: UartBoard) -> Iterator[str]:
    """Answer for a board at the other end of a pseudo terminal, whose path is yielded."""
    ours, theirs = pty.openpty()

    def answer() -> None:
        while True:
            try:
                board.send(os.read(ours, 4096))
            except OSError:
                return
            if answered := board.receive(1 << 16, 0):
                os.write(ours, answered)

    thread = threading.Thread(target=answer)
    thread.start()
    try:
        yield os.ttyname(theirs)
    finally:
        os.close(theirs)  # the last one who has it open: reading at our end fails, and the thread ends
        thread.join(timeout=10)
        os.close(ours)
