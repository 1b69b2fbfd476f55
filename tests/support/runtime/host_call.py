"""Calling compiled host code from tests, with a runtime that writes down what it is asked, and reading object files."""

import ctypes
import struct
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from isa.config import VTAConfig
from runtime.native import thread_pool
from runtime.native.compiling import compile_object
from runtime.native.linking import link
from runtime.native.target import CodeTarget
from vta.codegen.host import HostProgram, emit_host
from vta.codegen.runtime_calls import RUNTIME_CALLS
from vta.tir.func import PrimFunc

__all__ = ["FakeRuntime", "call_host", "defined_and_undefined", "run_on"]

POINTERS = {"ptr": ctypes.c_void_p, "i32": ctypes.c_uint32, "i64": ctypes.c_uint64}


class FakeRuntime:
    """Every function of the runtime's C API as a recorder: ``calls`` has (name, arguments...).

    Kernels are recorded as the runtime would: their function runs when it is pushed, and its calls follow the push;
    ``captured`` has the signature bytes of every push. Handles are plain addresses.
    """

    COMMAND = 0xC0

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.captured: list[bytes] = []
        self.sites: list[int] = []
        self.freed: list[int] = []
        self.origin: Callable[[], int] = lambda: -1
        self.origins: list[int] = []
        self._buffers: dict[int, Any] = {}
        self._callbacks = {name: self._callback(name) for name in RUNTIME_CALLS}

    @property
    def symbols(self) -> dict[str, int]:
        """Name to address."""
        return {name: ctypes.cast(f, ctypes.c_void_p).value or 0 for name, f in self._callbacks.items()}

    def _callback(self, name: str) -> Any:
        signature = RUNTIME_CALLS[name]
        kinds = [POINTERS[str(kind)] for kind in signature.parameters]
        result = None if str(signature.result) == "void" else POINTERS[str(signature.result)]
        return ctypes.CFUNCTYPE(result, *kinds)(lambda *arguments: self._answer(name, arguments))

    def _answer(self, name: str, arguments: tuple[Any, ...]) -> int:
        values = tuple(0 if a is None else a for a in arguments)
        self.origins.append(self.origin())
        match name:
            case "VTATLSCommandHandle":
                self.calls.append((name,))
                return self.COMMAND
            case "VTAPushGEMMOp" | "VTAPushALUOp":
                site, record, closure, nbytes = values
                signature = ctypes.string_at(closure, nbytes) if nbytes else b""
                self.calls.append((name, nbytes))
                self.sites.append(site)
                self.captured.append(signature)
                return int(ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(record)(closure))
            case "VTABufferAlloc":
                buffer = ctypes.create_string_buffer(values[0])
                address = ctypes.addressof(buffer)
                self._buffers[address] = buffer
                self.calls.append((name, values[0]))
                return address
            case "VTABufferFree":
                self.freed.append(values[0])
                self.calls.append((name,))
            case "VTABufferCPUPtr":
                self.calls.append((name,))
                return int(values[1])
            case _:
                self.calls.append((name, *(_signed(v) for v in values)))
        return 0


def _signed(value: int) -> int:
    return value - (1 << 32) if (1 << 31) < value < 1 << 32 else value


def run_on(
    program: HostProgram, name: str, arguments: Sequence[Any], runtime: FakeRuntime | None = None, level: int = 2
) -> str | None:
    """Run one function; arrays go in by address, ints as int32, floats as float32; return a failure's text, if any."""
    runtime = runtime or FakeRuntime()
    data = compile_object(program.source, CodeTarget(level=level))
    symbols = {**runtime.symbols, **thread_pool.symbols(data)}
    linked = link(data, symbols, [name, "__vta_origin"], where="test")
    runtime.origin = lambda: ctypes.c_int32.from_address(linked.address["__vta_origin"]).value
    info = next(f for f in program.metadata.functions if f.name == name)
    values: list[Any] = []
    kinds: list[Any] = []
    for argument in arguments:
        if isinstance(argument, np.ndarray):
            kinds.append(ctypes.c_void_p)
            values.append(argument.ctypes.data)
        else:
            kinds.append(ctypes.c_float if isinstance(argument, float) else ctypes.c_int32)
            values.append(argument)
    for place, dim in info.open_dimensions:
        kinds.append(ctypes.c_int32)
        values.append(arguments[place].shape[dim])
    code = ctypes.CFUNCTYPE(ctypes.c_int32, *kinds)(linked.address[name])(*values)
    return None if code == 0 else program.metadata.messages[code - 1]


def call_host(
    function: PrimFunc, *arguments: Any, runtime: FakeRuntime | None = None, config: VTAConfig | None = None
) -> str | None:
    """Compile ``function`` and run it on ``arguments``; see ``run_on``."""
    program = emit_host([function], config or VTAConfig())
    return run_on(program, function.name, arguments, runtime)


def defined_and_undefined(data: bytes) -> tuple[set[str], set[str]]:
    """Return the global symbols that an ELF64 object defines, and those that it needs."""
    assert data[:5] == b"\x7fELF\x02", "this helper reads 64-bit ELF objects"
    (offset,) = struct.unpack_from("<Q", data, 0x28)
    size, count = struct.unpack_from("<HH", data, 0x3A)
    sections = [struct.unpack_from("<IIQQQQIIQQ", data, offset + i * size) for i in range(count)]
    (table,) = (s for s in sections if s[1] == 2)
    strings = sections[table[6]]
    defined: set[str] = set()
    undefined: set[str] = set()
    for place in range(table[4], table[4] + table[5], 24):
        name_at, info, _, section = struct.unpack_from("<IBBH", data, place)
        start = strings[4] + name_at
        name = data[start : data.index(b"\0", start)].decode()
        if info >> 4 in (1, 2) and name:
            (undefined if section == 0 else defined).add(name)
    return defined, undefined
