"""The C runtime on the accelerator's RTL: a shared library, whose board is the co-simulated AXI top.

Needs a C compiler; ``missing_compiler`` says so.
"""

import ctypes
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import hw
import isa
from hw.sim import AxiMemory, cached_design
from hw.top import Top
from isa.config import VTAConfig
from isa.machine.hardware_config import HardwareConfig

__all__ = ["FLAGS", "READ", "WRITE", "Board", "BoardCalls", "Image", "RtlBoard", "built", "missing_compiler"]

FLAGS = ("-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-O2", "-fPIC", "-shared")

_SLICE = 200_000
"""Cycles that a wait for the interrupt lasts at most."""


def missing_compiler() -> str:
    """Return why C cannot be compiled here, empty if it can."""
    return "" if shutil.which("cc") else "there is no C compiler (Debian: apt-get install gcc libc6-dev)"


def built(files: Mapping[str, str], folder: Path) -> ctypes.CDLL:
    """Compile all sources among ``files`` to one library, warnings being errors, and load it."""
    for name, text in files.items():
        (folder / name).write_text(text)
    library = folder / "library.so"
    sources = [name for name in files if name.endswith(".c")]
    done = subprocess.run(
        ["cc", *FLAGS, "-o", str(library), *sources, "-lm"], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return ctypes.CDLL(str(library))


READ = ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_void_p, ctypes.c_uint32)
WRITE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint32)
_RANGE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t)
_WAIT = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Image(ctypes.Structure):
    """``struct vta_image``."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("data_bytes", ctypes.c_size_t),
        ("memory_bytes", ctypes.c_size_t),
        ("alignment", ctypes.c_size_t),
        ("digest", ctypes.c_uint64),
    )


class Board(ctypes.Structure):
    """``struct vta_board``."""

    _fields_ = (
        ("context", ctypes.c_void_p),
        ("read", READ),
        ("write", WRITE),
        ("memory", ctypes.c_void_p),
        ("address", ctypes.c_uint64),
        ("memory_bytes", ctypes.c_size_t),
        ("flush", _RANGE),
        ("invalidate", _RANGE),
        ("wait", _WAIT),
        ("polls", ctypes.c_uint32),
        ("image", ctypes.POINTER(Image)),
        ("error", ctypes.c_uint32),
        ("place", ctypes.c_uint32),
        ("cycles", ctypes.c_uint64),
        ("total_cycles", ctypes.c_uint64),
    )


class BoardCalls:
    """Calls of the library on a board."""

    board: Board

    def call(self, function: Any, *arrays: npt.NDArray[Any]) -> int:
        """Call a function of the library on this board and arrays; return its status."""
        status: int = function(ctypes.byref(self.board), *(ctypes.c_void_p(array.ctypes.data) for array in arrays))
        return status


class RtlBoard(BoardCalls):
    """The AXI top in simulation: registers by AXI-Lite transfers, memory of which the processor has a cached copy.

    What the program writes reaches the accelerator by ``flush`` alone, and the other way round by ``invalidate``, as on
    a board whose caches are not coherent. ``with_irq``: the program sleeps until the interrupt.
    """

    def __init__(
        self,
        config: VTAConfig,
        hardware: HardwareConfig,
        nbytes: int,
        *,
        address: int = 0x10_0000,
        with_irq: bool = True,
    ) -> None:
        self.axi = AxiMemory("m_axi", latency=8)
        self.design = cached_design(
            f"top {config.digest} {hardware.digest}",
            lambda: Top(config, hardware),
            sources=[Path(package.__path__[0]) for package in (hw, isa)],
            hooks=(self.axi,),
        )
        self.there = _aligned(nbytes)
        self.here = np.full(nbytes, 0xA5, np.uint8)
        self.axi.attach(self.there, address=address)
        self.reads = 0
        self._functions = self._callbacks(with_irq=with_irq)
        read, write, flush, invalidate, wait = self._functions
        self.board = Board(
            read=read, write=write, memory=self.here.ctypes.data, address=address, memory_bytes=nbytes, flush=flush,
            invalidate=invalidate, wait=wait,
        )  # fmt: skip

    def _callbacks(self, *, with_irq: bool) -> tuple[Any, ...]:
        def flush(_: Any, offset: int, count: int) -> None:
            self.there[offset : offset + count] = self.here[offset : offset + count]

        def invalidate(_: Any, offset: int, count: int) -> None:
            self.here[offset : offset + count] = self.there[offset : offset + count]

        def wait(_: Any) -> None:
            self.design.run_until("irq", _SLICE)

        return (
            READ(lambda _, offset: self.read(offset)),
            WRITE(lambda _, offset, value: self.write(offset, value)),
            _RANGE(flush),
            _RANGE(invalidate),
            _WAIT(wait) if with_irq else _WAIT(),
        )

    def write(self, offset: int, value: int) -> None:
        """Write a control register."""
        design = self.design
        for name, number in (("awaddr", offset), ("wdata", value), ("wstrb", 15), ("awvalid", 1), ("wvalid", 1)):
            design.poke(f"s_axil__{name}", number)
        waiting = {"aw", "w"}
        while waiting:
            taken = {channel for channel in waiting if design.peek(f"s_axil__{channel}ready")}
            design.step()
            for channel in taken:
                design.poke(f"s_axil__{channel}valid", 0)
            waiting -= taken
        self._answered("b")

    def read(self, offset: int) -> int:
        """Read a control register."""
        design = self.design
        self.reads += 1
        design.poke("s_axil__araddr", offset)
        design.poke("s_axil__arvalid", 1)
        while not design.peek("s_axil__arready"):
            design.step()
        design.step()
        design.poke("s_axil__arvalid", 0)
        return self._answered("r")

    def _answered(self, channel: str) -> int:
        design = self.design
        design.poke(f"s_axil__{channel}ready", 1)
        while not design.peek(f"s_axil__{channel}valid"):
            design.step()
        value = design.peek("s_axil__rdata") if channel == "r" else 0
        design.step()
        design.poke(f"s_axil__{channel}ready", 0)
        return value


def _aligned(nbytes: int) -> npt.NDArray[np.uint8]:
    whole = -(-nbytes // 64) * 64
    raw = np.zeros(whole + 64, np.uint8)
    begin = -raw.ctypes.data % 64
    return raw[begin : begin + whole]
