"""A board of LiteX in Verilator: the whole system around the accelerator, with its links as a host sees them.

Needs the ``long`` extra (LiteX, Verilator with perl, make and g++); ``built_board`` skips a test without them.
"""

import ctypes
import os
import struct
import subprocess
from importlib.util import find_spec
from pathlib import Path

import pytest

from hw.fpga.boards.litex_project import write_litex_project
from isa.config import VTAConfig
from isa.machine.hardware_config import HardwareConfig
from tests.support.benches.cocotb_run import skip_without, verilator_environment

__all__ = ["BoardSimulation", "built_board"]

_FLAGS = ["-O3", "--no-assert", "-Wno-fatal", "-Wno-lint", "--x-assign", "fast", "--x-initial", "fast"]

_MAC, _IP = bytes.fromhex("020000000001"), bytes([192, 168, 1, 100])
_BOARD_MAC, _BOARD_IP = bytes.fromhex("10e2d5000000"), bytes([192, 168, 1, 50])
_PORT = 1234

_WAIT = 100_000
"""Cycles that an answer may take."""


def built_board(config: VTAConfig, folder: Path) -> Path:
    """Write the simulated system into a folder and compile it; return its library."""
    skip_without("verilator")
    if find_spec("litex") is None:
        pytest.skip("LiteX is not installed: pip install 'vta-toolchain[board]'")
    write_litex_project("simulated", config, HardwareConfig(), folder=folder, mhz=60, ip="192.168.1.50")
    pins = Path(__file__).with_suffix(".cpp")
    command = ["verilator", "--cc", "--exe", "--build", *_FLAGS, "--top-module", "top", "-CFLAGS", "-fPIC -O1"]
    command += ["-LDFLAGS", "-shared", "-o", "libboard.so", "gateware/top.v", "vta.v", str(pins)]
    environment = {**os.environ, **verilator_environment()}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return folder / "obj_dir" / "libboard.so"


class BoardSimulation:
    """The system from power-on: ``Datagrams`` over Ethernet, IP and UDP, and ``serial``, a ``ByteStream``."""

    name = "the simulated board"

    def __init__(self, library: Path) -> None:
        self._calls = calls = ctypes.CDLL(str(library))
        calls.board_new.restype = ctypes.c_void_p
        calls.board_cycles.restype = ctypes.c_uint64
        calls.board_take_frame.restype = calls.board_take_serial.restype = ctypes.c_size_t
        self._board = ctypes.c_void_p(calls.board_new())
        self.serial = SerialSide(self)
        self.asked_for_us = 0

    @property
    def cycles(self) -> int:
        """Cycles of the system's clock since it was reset."""
        return int(self._calls.board_cycles(self._board))

    def run(self, cycles: int) -> None:
        """Go on until something comes out, or for so many cycles."""
        self._calls.board_run(self._board, ctypes.c_uint64(cycles))

    def send(self, packet: bytes) -> None:
        udp = struct.pack(">HHHH", _PORT, _PORT, 8 + len(packet), 0) + packet
        head = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(udp), 0, 0, 64, 17, 0) + _IP + _BOARD_IP
        head = head[:10] + struct.pack(">H", _checksum(head)) + head[12:]
        self._send_frame(_BOARD_MAC + _MAC + b"\x08\x00" + head + udp)

    def receive(self, _: float) -> bytes | None:
        room = ctypes.create_string_buffer(2048)
        end = self.cycles + _WAIT
        while self.cycles < end:
            self.run(1000)
            count = self._calls.board_take_frame(self._board, room)
            frame = room.raw[:count]
            if frame[12:14] == b"\x08\x06" and frame[20:22] == b"\x00\x01" and frame[38:42] == _IP:
                self.asked_for_us += 1
                self._send_frame(
                    frame[6:12] + _MAC + b"\x08\x06" + frame[14:20] + b"\x00\x02" + _MAC + _IP + frame[22:32]
                )
            elif frame[12:14] == b"\x08\x00" and frame[23] == 17 and frame[30:34] == _IP:
                assert struct.unpack(">HH", frame[34:38]) == (_PORT, _PORT)
                return frame[42 : 34 + struct.unpack(">H", frame[38:40])[0]]
        return None

    def close(self) -> None:
        pass

    def _send_frame(self, frame: bytes) -> None:
        frame = frame.ljust(60, b"\x00")
        self._calls.board_send_frame(self._board, frame, ctypes.c_size_t(len(frame)))


class SerialSide:
    """The bytes of the serial port."""

    name = "the simulated board's serial port"

    def __init__(self, board: BoardSimulation) -> None:
        self._board = board

    def send(self, data: bytes) -> None:
        self._board._calls.board_send_serial(self._board._board, data, ctypes.c_size_t(len(data)))

    def receive(self, count: int, seconds: float) -> bytes:
        """Wait in cycles: of a byte each, a second would be a million."""
        room = ctypes.create_string_buffer(count)
        found = b""
        end = self._board.cycles + min(_WAIT, int(seconds * 1e6))
        while len(found) < count and self._board.cycles < end:
            self._board.run(1000)
            some = self._board._calls.board_take_serial(self._board._board, room, ctypes.c_size_t(count - len(found)))
            found += room.raw[:some]
        return found

    def close(self) -> None:
        pass


def _checksum(data: bytes) -> int:
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF
