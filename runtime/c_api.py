"""The runtime's C API: what compiled host code calls, under upstream's names and signatures (``docs/runtime.md``).

Each function is a ctypes callback that acts on the session whose program is running (``Session.current``). An exception
cannot pass through compiled code, so it is kept in the run, and calls that follow do nothing; ``Session.program``
raises it when the compiled function has returned. (Pointers to buffers are given even then, so that code on its way out
does not fault.) A call that failed returns -1 where it returns a status, and a null pointer where it returns a pointer:
compiled code must return when it gets one. A call outside of every program fails too: it raises ``SessionError`` where
Python made it, and says one sentence on stderr where compiled code did, which has nobody to tell.

Tests: ``tests/runtime/test_c_api.py``.
"""

import ctypes
import functools
import sys
import threading
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from isa.errors import VTAError
from runtime.devices.device import DeviceError
from runtime.queue.command_queue import CommandQueueError, DebugFlag
from runtime.session import Session, SessionError

__all__ = ["CFunction", "functions", "symbols"]

_HOST_TO_DEVICE, _DEVICE_TO_HOST, _DEVICE_TO_DEVICE = 1, 2, 3
_STATUS, _POINTER, _NONE = ctypes.c_int, ctypes.c_void_p, None
_I32, _U32 = ctypes.c_int32, ctypes.c_uint32
_KERNEL = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)

CFunction = Any  # a ctypes function object; its class is made at run time


class CallError(VTAError, ValueError):
    """A runtime call with arguments that mean nothing."""


def _buffer_alloc(session: Session, size: int) -> int:
    return session.handles.of(session.run.alloc(size))


def _buffer_free(session: Session, handle: int | None) -> None:
    session.run.free(session.handles.get(handle or 0))


def _buffer_copy(
    session: Session,
    source: int | None,
    source_offset: int,
    target: int | None,
    target_offset: int,
    size: int,
    kind: int,
) -> None:
    session.run.depends_on_host("it copies data")
    memory, handles = session.memory, session.handles
    match kind:
        case 0:  # neither side is on the device: nothing to do, as upstream has it
            return
        case _ if kind == _HOST_TO_DEVICE:
            span = memory.span(handles.get(target or 0), target_offset, size)
            ctypes.memmove(span.ctypes.data, _host(session, source, source_offset, size), size)
        case _ if kind == _DEVICE_TO_HOST:
            span = memory.span(handles.get(source or 0), source_offset, size)
            ctypes.memmove(_host(session, target, target_offset, size), span.ctypes.data, size)
        case _ if kind == _DEVICE_TO_DEVICE:
            memory.copy(handles.get(source or 0), source_offset, handles.get(target or 0), target_offset, size)
        case _:
            raise CallError(f"VTABufferCopy: kind {kind} is unknown; 1 is to the device, 2 from it, 3 within it")


def _host(session: Session, pointer: int | None, offset: int, size: int) -> int:
    """Return the host address ``offset`` bytes after ``pointer``; refuse one at which no ``size`` bytes can be."""
    if not pointer and size:
        raise CallError("VTABufferCopy: the host pointer is null")
    begin = (pointer or 0) + offset
    if begin + size > 1 << 64:
        raise CallError(f"VTABufferCopy: no {size} bytes lie {offset} bytes after the host pointer {pointer or 0:#x}")
    if begin in session.handles:
        raise CallError(f"VTABufferCopy: the host pointer {begin:#x} is a handle of this session, not an address")
    return begin


def _command_handle(session: Session) -> int:
    _ = session.queue.launcher.addresses  # the memory areas exist from the first use on
    return session.handles.command


def _shutdown(session: Session) -> None:
    session.run.depends_on_host("it shuts the runtime down")
    session.queue.close()


def _set_debug_mode(session: Session, command: int | None, flag: int) -> None:
    _check_command(session, command)
    session.run.depends_on_host("it changes the debug mode")
    session.queue.debug_mode = DebugFlag(flag)


def _plan_tokens(session: Session, command: int | None) -> None:
    _check_command(session, command)
    session.queue.plans_tokens = True


def _buffer_cpu_pointer(session: Session, command: int | None, pointer: int | None) -> int | None:
    _check_command(session, command)
    buffer = session.handles.find(pointer or 0)
    if buffer is None:
        return pointer
    session.run.depends_on_host("it accesses a device buffer")
    return session.memory.base_pointer + buffer.address


def _barrier(
    session: Session, command: int | None, handle: int | None, elem_bits: int, start: int, extent: int
) -> None:
    """Memory is coherent, so there is nothing to do but to check that the range exists."""
    _check_command(session, command)
    session.run.depends_on_host("it accesses a device buffer")
    buffer = session.handles.get(handle or 0)
    end = -(-(start + extent) * elem_bits // 8)  # numbers narrower than a byte are packed
    if end > buffer.nbytes:
        raise CallError(f"barrier: elements {start} to {start + extent} end at byte {end} of {buffer.nbytes}")


def _load_buffer_2d(
    session: Session,
    command: int | None,
    source: int | None,
    offset: int,
    x_size: int,
    y_size: int,
    x_stride: int,
    x_pad_0: int,
    y_pad_0: int,
    x_pad_1: int,
    y_pad_1: int,
    sram_base: int,
    memory: int,
) -> None:
    _check_command(session, command)
    session.queue.load_buffer_2d(
        session.handles.get(source or 0),
        offset,
        x_size=x_size,
        y_size=y_size,
        x_stride=x_stride,
        x_pad_0=x_pad_0,
        y_pad_0=y_pad_0,
        x_pad_1=x_pad_1,
        y_pad_1=y_pad_1,
        sram_base=sram_base,
        memory=memory,
    )


def _store_buffer_2d(
    session: Session,
    command: int | None,
    sram_base: int,
    memory: int,
    target: int | None,
    offset: int,
    x_size: int,
    y_size: int,
    x_stride: int,
) -> None:
    _check_command(session, command)
    buffer = session.handles.get(target or 0)
    session.queue.store_buffer_2d(sram_base, memory, buffer, offset, x_size=x_size, y_size=y_size, x_stride=x_stride)


def _uop_push(
    session: Session, mode: int, reset: int, dst: int, src: int, wgt: int, opcode: int, use_imm: int, imm: int
) -> None:
    session.queue.uop_push(mode, bool(reset), dst, src, wgt, opcode, bool(use_imm), imm)


def _uop_loop_begin(session: Session, extent: int, dst_factor: int, src_factor: int, wgt_factor: int) -> None:
    session.queue.uop_loop_begin(extent, dst_factor, src_factor, wgt_factor)


def _uop_loop_end(session: Session) -> None:
    session.queue.uop_loop_end()


def _push_gemm(session: Session, site: int | None, describe: int | None, signature: int | None, nbytes: int) -> int:
    session.queue.push_gemm(site, _recorder(session, describe, signature), _captured(signature, nbytes))
    return 0


def _push_alu(session: Session, site: int | None, describe: int | None, signature: int | None, nbytes: int) -> int:
    session.queue.push_alu(site, _recorder(session, describe, signature), _captured(signature, nbytes))
    return 0


def _captured(signature: int | None, nbytes: int) -> bytes:
    """Return the bytes of a kernel's free variables."""
    if not nbytes:
        return b""
    if not signature or nbytes < 0:
        raise CallError(f"VTAPushGEMMOp or VTAPushALUOp: a signature of {nbytes} bytes at {signature or 0:#x}")
    return ctypes.string_at(signature, nbytes)


def _recorder(session: Session, describe: int | None, signature: int | None) -> Callable[[], None]:
    """Return what calls the compiled function that describes a kernel."""
    if not describe:
        raise CallError("VTAPushGEMMOp or VTAPushALUOp: the function that describes the kernel is null")

    def record() -> None:
        status = _KERNEL(describe)(signature)
        session.run.raise_error()
        if status:
            raise CommandQueueError(f"micro-op kernel: the function that describes it returned {status} instead of 0")

    return record


def _dep_push(session: Session, command: int | None, source: int, target: int) -> int:
    _check_command(session, command)
    session.queue.dep_push(source, target)
    return 0


def _dep_pop(session: Session, command: int | None, source: int, target: int) -> int:
    _check_command(session, command)
    session.queue.dep_pop(source, target)
    return 0


def _synchronize(session: Session, command: int | None, _wait_cycles: int) -> None:
    """Run what was collected. Engines report a deadlock as such, so no count of polls is needed."""
    _check_command(session, command)
    session.queue.synchronize()


def _check_command(session: Session, command: int | None) -> None:
    if command != session.handles.command:
        raise CallError(f"command handle {command or 0:#x}: it is not the one of the session that runs this program")


_SIGNATURES: tuple[tuple[str, Callable[..., object], Any, tuple[Any, ...]], ...] = (
    ("VTABufferAlloc", _buffer_alloc, _POINTER, (ctypes.c_size_t,)),
    ("VTABufferFree", _buffer_free, _NONE, (_POINTER,)),
    (
        "VTABufferCopy",
        _buffer_copy,
        _NONE,
        (_POINTER, ctypes.c_size_t, _POINTER, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_int),
    ),
    ("VTATLSCommandHandle", _command_handle, _POINTER, ()),
    ("VTARuntimeShutdown", _shutdown, _NONE, ()),
    ("VTASetDebugMode", _set_debug_mode, _NONE, (_POINTER, ctypes.c_int)),
    ("VTAPlanTokens", _plan_tokens, _NONE, (_POINTER,)),
    ("VTABufferCPUPtr", _buffer_cpu_pointer, _POINTER, (_POINTER, _POINTER)),
    ("VTAWriteBarrier", _barrier, _NONE, (_POINTER, _POINTER, _U32, _U32, _U32)),
    ("VTAReadBarrier", _barrier, _NONE, (_POINTER, _POINTER, _U32, _U32, _U32)),
    ("VTALoadBuffer2D", _load_buffer_2d, _NONE, (_POINTER, _POINTER, _U32, *[_I32] * 8, _U32)),
    ("VTAStoreBuffer2D", _store_buffer_2d, _NONE, (_POINTER, _I32, _U32, _POINTER, _U32, _I32, _I32, _I32)),
    ("VTAUopPush", _uop_push, _NONE, (_U32, _U32, _I32, _I32, _I32, _U32, _U32, _I32)),
    ("VTAUopLoopBegin", _uop_loop_begin, _NONE, (_I32, _I32, _I32, _I32)),
    ("VTAUopLoopEnd", _uop_loop_end, _NONE, ()),
    ("VTAPushGEMMOp", _push_gemm, _STATUS, (_POINTER, _POINTER, _POINTER, ctypes.c_int)),
    ("VTAPushALUOp", _push_alu, _STATUS, (_POINTER, _POINTER, _POINTER, ctypes.c_int)),
    ("VTADepPush", _dep_push, _STATUS, (_POINTER, ctypes.c_int, ctypes.c_int)),
    ("VTADepPop", _dep_pop, _STATUS, (_POINTER, ctypes.c_int, ctypes.c_int)),
    ("VTASynchronize", _synchronize, _NONE, (_POINTER, _U32)),
)
"""Name, what it does (with the session in front), C result and C arguments. Sizes are signed so that -1 reads as -1."""


def _guarded(
    action: Callable[..., object], on_failure: int | None, outside: Callable[[SessionError], None]
) -> Callable[..., object]:
    """Return the body of a callback: no exception leaves it, and it does nothing once the program has failed.

    ``outside`` gets the error where no program is running. Translating a handle is harmless, and code that does not
    look at results needs it to get to its end.
    """

    def call(*arguments: int | None) -> object:
        try:
            session = Session.current()
        except SessionError as error:
            outside(error)
            return on_failure
        run = session.run
        if run.error is not None and action is not _buffer_cpu_pointer:
            return on_failure
        try:
            return action(session, *arguments)
        except BaseException as error:  # an interrupt must not get lost in compiled code either
            if run.error is None:
                run.keep_error(_located(session, error))
            return on_failure

    return call


def _located(session: Session, error: BaseException) -> BaseException:
    """Put the statement that asked in front of the error's text; a device's error names its instruction already."""
    origin = session.queue.origin() if session.queue.origin is not None else None
    if origin is not None and len(error.args) == 1 and not isinstance(error, DeviceError):
        error.args = (f"{origin}: {error.args[0]}",)
    return error


@functools.cache
def functions() -> Mapping[str, CFunction]:
    """Return the C API as ctypes functions by name, for calls from Python: outside of a program they raise.

    They are made once and live as long as the process.
    """
    table = _callbacks(lambda _name: lambda _error: None)
    for function in table.values():
        function.errcheck = _refuse_outside
    return MappingProxyType(table)


@functools.cache
def symbols() -> Mapping[str, int]:
    """Return the address of every function of the C API by name, for the linker of compiled code."""
    table = _native()
    return MappingProxyType({name: ctypes.cast(f, ctypes.c_void_p).value or 0 for name, f in table.items()})


_MAKING = threading.Lock()
"""Held while callbacks are made: of two tables, one would be forgotten, with addresses of it in somebody's code."""


def _native() -> Mapping[str, CFunction]:
    """Return the callbacks that compiled code calls; they live as long as the process, and so do their addresses."""
    with _MAKING:
        return _made_once()


@functools.cache
def _made_once() -> Mapping[str, CFunction]:
    def reports(name: str) -> Callable[[SessionError], None]:
        return lambda error: print(f"error: {name}: {error}", file=sys.stderr)

    return MappingProxyType(_callbacks(reports))


def _callbacks(outside: Callable[[str], Callable[[SessionError], None]]) -> dict[str, CFunction]:
    """Return a new callback for each function; ``outside(name)`` hears of calls outside of every program."""
    table = {}
    for name, action, result, arguments in _SIGNATURES:
        body = _guarded(action, -1 if result is _STATUS else None, outside(name))
        table[name] = ctypes.CFUNCTYPE(result, *arguments)(body)
    return table


def _refuse_outside(result: object, _function: CFunction, _arguments: tuple[object, ...]) -> object:
    """Raise ``SessionError`` after a call from Python that found no program (ctypes' ``errcheck``)."""
    Session.current()
    return result
