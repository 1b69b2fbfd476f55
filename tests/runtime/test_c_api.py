"""The C API, called as compiled code calls it: through C function pointers, and from code that llvmlite links."""

import ctypes
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import llvmlite.binding as llvm
import numpy as np
import pytest

from isa.config import VTAConfig
from isa.instructions import AluOpcode
from isa.origin import Origin
from runtime.c_api import CallError, functions, symbols
from runtime.memory.array import DeviceArray
from runtime.memory.device_memory import DeviceMemoryError
from runtime.memory.handles import HandleError
from runtime.queue.command_queue import CommandQueueError, DebugFlag
from runtime.queue.instruction_queue import TokenError
from runtime.queue.launch import Launch
from runtime.queue.launcher import LauncherError
from runtime.queue.transfer import TransferError
from runtime.queue.uop_kernel import KernelError
from runtime.session import Session, SessionError

NAMES = {
    "VTABufferAlloc",
    "VTABufferFree",
    "VTABufferCopy",
    "VTATLSCommandHandle",
    "VTARuntimeShutdown",
    "VTASetDebugMode",
    "VTAPlanTokens",
    "VTABufferCPUPtr",
    "VTAWriteBarrier",
    "VTAReadBarrier",
    "VTALoadBuffer2D",
    "VTAStoreBuffer2D",
    "VTAUopPush",
    "VTAUopLoopBegin",
    "VTAUopLoopEnd",
    "VTAPushGEMMOp",
    "VTAPushALUOp",
    "VTADepPush",
    "VTADepPop",
    "VTASynchronize",
}

DESCRIBE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)
LOAD, COMPUTE, STORE = 1, 2, 3
ACC, OUT = 3, 4


def call(name: str, *arguments: Any) -> Any:
    return functions()[name](*arguments)


@pytest.fixture
def session() -> Session:
    return Session(VTAConfig(), "sim", record=True)


def says(text: str) -> str:
    return f"^{re.escape(text)}$"


def test_every_function_has_its_name_and_an_address() -> None:
    assert set(symbols()) == NAMES
    assert all(address > 0 for address in symbols().values())
    assert len(set(symbols().values())) == len(NAMES)


def vector_add(session: Session, a: DeviceArray, b: DeviceArray, c: DeviceArray, *, signature: bytes = b"") -> None:
    """Make the calls of program A, with a kernel that is described by a C function."""
    seen: list[bytes] = []

    def describe(pointer: int | None) -> int:
        seen.append(ctypes.string_at(pointer, len(signature)) if pointer else b"")
        call("VTAUopLoopBegin", 64, 1, 1, 0)
        call("VTAUopPush", 1, 0, 0, 64, 0, AluOpcode.ADD, 0, 0)
        call("VTAUopLoopEnd")
        return 0

    function, handle = DESCRIBE(describe), ctypes.c_void_p(0)
    pointer = ctypes.create_string_buffer(signature, len(signature)) if signature else None
    queue = call("VTATLSCommandHandle")
    call("VTALoadBuffer2D", queue, a.handle, 0, 64, 1, 64, 0, 0, 0, 0, 0, ACC)
    call("VTALoadBuffer2D", queue, b.handle, 0, 64, 1, 64, 0, 0, 0, 0, 64, ACC)
    describer = ctypes.cast(function, ctypes.c_void_p)
    assert call("VTAPushALUOp", ctypes.byref(handle), describer, pointer, len(signature)) == 0
    assert call("VTADepPush", queue, COMPUTE, STORE) == 0
    assert call("VTADepPop", queue, COMPUTE, STORE) == 0
    call("VTAStoreBuffer2D", queue, 0, OUT, c.handle, 0, 64, 1, 64)
    call("VTASynchronize", queue, 1 << 31)
    assert seen == [signature]


@pytest.mark.parametrize("signature", [b"", b"\1\0\0\0", bytes(range(48))])
def test_a_program_in_c_calls_computes_and_can_be_replayed(session: Session, signature: bytes) -> None:
    a, b, c = (DeviceArray(session, (64, 16), dtype) for dtype in ("int32", "int32", "int8"))
    numbers = np.arange(1024, dtype=np.int32).reshape(64, 16)
    a.copyfrom(numbers)
    b.copyfrom(numbers * 3)
    with session.program([x.allocation for x in (a, b, c)]) as run:
        vector_add(session, a, b, c, signature=signature)
    np.testing.assert_array_equal(c.numpy(), (numbers * 4).astype(np.int8))
    d = DeviceArray(session, (64, 16), "int8")
    assert run.recording is not None
    session.replay(run.recording, [b.allocation, a.allocation, d.allocation])
    np.testing.assert_array_equal(d.numpy(), (numbers * 4).astype(np.int8))


def test_buffers_are_allocated_copied_and_freed(session: Session) -> None:
    data = np.arange(100, dtype=np.uint8)
    back = np.zeros(60, np.uint8)
    before = session.memory.allocated_bytes
    with session.program() as run:
        one, two = call("VTABufferAlloc", 4096), call("VTABufferAlloc", 200)
        call("VTABufferCopy", data.ctypes.data, 0, one, 1000, 100, 1)
        call("VTABufferCopy", one, 1010, two, 3, 50, 3)
        call("VTABufferCopy", two, 0, back.ctypes.data, 4, 53, 2)
        call("VTABufferCopy", one, 0, two, 0, 50, 0)
        call("VTABufferFree", one)
        call("VTABufferFree", two)
    assert back.tolist() == [0] * 7 + list(range(10, 60)) + [0] * 3
    assert session.memory.allocated_bytes == before
    assert run.recording is None
    assert run.obstacle == "it allocates a buffer"


def test_the_cpu_pointer_of_a_buffer_reaches_its_bytes_and_others_stay_as_they_are(session: Session) -> None:
    array = DeviceArray(session, (16,), "int32").copyfrom(np.arange(16))
    with session.program() as run:
        queue = call("VTATLSCommandHandle")
        pointer = call("VTABufferCPUPtr", queue, array.handle)
        assert call("VTABufferCPUPtr", queue, 0x1234) == 0x1234
        assert call("VTABufferCPUPtr", queue, None) is None
        (ctypes.c_int32 * 16).from_address(pointer)[3] = -7
        call("VTAReadBarrier", queue, array.handle, 32, 0, 16)
        call("VTAWriteBarrier", queue, array.handle, 32, 4, 12)
    assert array.numpy()[3] == -7
    assert run.obstacle == "it accesses a device buffer"


def test_the_debug_mode_holds_for_the_program(session: Session) -> None:
    with session.program() as run:
        queue = call("VTATLSCommandHandle")
        call("VTAPlanTokens", queue)
        assert session.queue.plans_tokens
        call("VTASetDebugMode", queue, 32)
        assert session.queue.debug_mode is DebugFlag.FORCE_SERIAL
        call("VTASynchronize", queue, 0)
    assert [len(launch) for launch in session.queue.launcher.launches] == [1]
    assert not session.queue.debug_mode
    assert run.obstacle == "it changes the debug mode"


def test_shutting_down_frees_the_queues_memory(session: Session) -> None:
    with session.program():
        call("VTATLSCommandHandle")
        assert session.memory.allocated_bytes == 1 << 26
        call("VTARuntimeShutdown")
        assert session.memory.allocated_bytes == 0


def test_origins_are_read_from_compiled_code(session: Session) -> None:
    index = ctypes.c_int32(1)
    table = [Origin("A", "a.py:1"), Origin("B", "b.py:2")]
    with session.program():
        session.queue.set_origin_source(ctypes.addressof(index), table)
        queue = call("VTATLSCommandHandle")
        call("VTADepPush", queue, STORE, COMPUTE)
        index.value = 0
        call("VTADepPush", queue, LOAD, COMPUTE)
        index.value = -1
        call("VTASynchronize", queue, 0)
    [launch] = session.queue.launcher.launches
    assert launch.origins[:3] == (
        replace(table[1], call="VTADepPush"),
        replace(table[0], call="VTADepPush"),
        Origin("", call="VTASynchronize"),
    )


# --- errors ----------------------------------------------------------------------------------------------------------


def kernel_call(describe: Callable[[int | None], int], *, name: str = "VTAPushGEMMOp") -> Callable[[int, int], object]:
    function = DESCRIBE(describe)

    def make(_queue: int, _handle: int) -> object:
        site = ctypes.c_void_p(0)
        return call(name, ctypes.byref(site), ctypes.cast(function, ctypes.c_void_p), None, 0)

    return make


def push_outside(_: int | None) -> int:
    call("VTAUopPush", 0, 0, -1, 0, 0, 0, 0, 0)
    return 0


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (
            lambda q, _h: call("VTALoadBuffer2D", q, 0x77, 0, 1, 1, 1, 0, 0, 0, 0, 0, 2),
            HandleError,
            "handle 0x77: it stands for no device buffer of this session (a foreign pointer)",
        ),
        (
            lambda q, _h: call("VTAStoreBuffer2D", q, 0, 4, None, 0, 1, 1, 1),
            HandleError,
            "handle 0x0: it stands for no device buffer of this session (a foreign pointer)",
        ),
        (
            lambda q, h: call("VTALoadBuffer2D", q, h, 0, -1, 1, 1, 0, 0, 0, 0, 0, 2),
            TransferError,
            "load of INP: x_size is -1, and nothing here is negative",
        ),
        (
            lambda q, h: call("VTALoadBuffer2D", q, h, 0, 1, 1, 1, 0, 0, 0, 0, 0, 6),
            TransferError,
            "memory 6 is unknown; the memories are UOP 0, WGT 1, INP 2, ACC 3, OUT 4, ACC_8BIT 5",
        ),
        (
            lambda q, _h: call("VTADepPush", q, 1, 4),
            TokenError,
            "dependency: module 4 is unknown; the modules are LOAD 1, COMPUTE 2, STORE 3",
        ),
        (
            lambda _q, _h: call("VTASynchronize", 0x10, 0),
            CallError,
            "command handle 0x10: it is not the one of the session that runs this program",
        ),
        (
            lambda _q, h: call("VTABufferCopy", None, 0, h, 0, 5, 1),
            CallError,
            "VTABufferCopy: the host pointer is null",
        ),
        (
            lambda _q, h: call("VTABufferCopy", h, 0, h, 0, 5, 4),
            CallError,
            "VTABufferCopy: kind 4 is unknown; 1 is to the device, 2 from it, 3 within it",
        ),
        (
            lambda _q, h: call("VTABufferCopy", h, 60, h, 0, 5, 3),
            DeviceMemoryError,
            "device memory: 5 bytes from offset 60 do not lie in a block of 64 bytes",
        ),
        (
            lambda _q, h: call("VTABufferCopy", 0x10, 0, h, 0, (1 << 32) + 4, 1),
            DeviceMemoryError,
            "device memory: 4294967300 bytes from offset 0 do not lie in a block of 64 bytes",
        ),
        (
            lambda _q, h: call("VTABufferCopy", h, 0, 0x10, 0, (1 << 64) - 1, 2),
            DeviceMemoryError,
            "device memory: 18446744073709551615 bytes from offset 0 do not lie in a block of 64 bytes",
        ),
        (
            lambda _q, h: call("VTABufferCopy", 0x10, (1 << 64) - 8, h, 0, 8, 1),
            CallError,
            "VTABufferCopy: no 8 bytes lie 18446744073709551608 bytes after the host pointer 0x10",
        ),
        (
            lambda q, h: call("VTAReadBarrier", q, h, 4, 0, 129),
            CallError,
            "barrier: elements 0 to 129 end at byte 65 of 64",
        ),
        (
            lambda q, h: call("VTAReadBarrier", q, h, 32, 10, 7),
            CallError,
            "barrier: elements 10 to 17 end at byte 68 of 64",
        ),
        (
            lambda _q, _h: call("VTAPushGEMMOp", None, None, None, 0),
            CallError,
            "VTAPushGEMMOp or VTAPushALUOp: the function that describes the kernel is null",
        ),
        (
            lambda _q, _h: call("VTAPushALUOp", None, 1, None, 4),
            CallError,
            "VTAPushGEMMOp or VTAPushALUOp: a signature of 4 bytes at 0x0",
        ),
        (
            kernel_call(lambda _: 3),
            CommandQueueError,
            "micro-op kernel: the function that describes it returned 3 instead of 0",
        ),
        (
            kernel_call(push_outside),
            KernelError,
            "micro-op kernel: indices count from 0, not dst -1, src 0, wgt 0",
        ),
    ],
)
def test_an_error_inside_a_call_is_raised_when_the_program_ends_and_later_calls_do_nothing(
    session: Session, make: Callable[[int, int], object], error: type[Exception], message: str
) -> None:
    array = DeviceArray(session, (16,), "int32")
    results: list[int | None] = []

    def host_code() -> None:
        with session.program():
            queue = call("VTATLSCommandHandle")
            make(queue, array.handle)
            results.append(call("VTADepPush", queue, STORE, COMPUTE))
            results.append(call("VTABufferAlloc", 10))
            results.append(call("VTABufferCPUPtr", queue, array.handle))
            call("VTASynchronize", queue, 0)

    with pytest.raises(error, match=says(message)):
        host_code()
    # Looked at out here: inside, the program's own error would take the place of an assertion's.
    assert results == [-1, None, session.memory.base_pointer + array.allocation.address]
    assert session.queue.launcher.launches == []
    with session.program():
        call("VTASynchronize", call("VTATLSCommandHandle"), 0)
    assert len(session.queue.launcher.launches) == 1


@pytest.mark.parametrize("kind", [1, 2])
def test_a_handle_is_no_host_pointer(session: Session, kind: int) -> None:
    array = DeviceArray(session, (16,), "int32")
    message = f"VTABufferCopy: the host pointer {array.handle + 4:#x} is a handle of this session, not an address"
    with pytest.raises(CallError, match=says(message)), session.program():
        call("VTABufferCopy", array.handle, 4 if kind == 1 else 0, array.handle, 0 if kind == 1 else 4, 5, kind)


def test_copies_of_nothing_need_no_pointer(session: Session) -> None:
    array = DeviceArray(session, (16,), "int32")
    with session.program():
        call("VTABufferCopy", None, 0, array.handle, 64, 0, 1)
        call("VTABufferCopy", array.handle, 64, None, 0, 0, 2)


def test_a_buffer_that_is_freed_before_its_instructions_ran_is_reported(session: Session) -> None:
    array = DeviceArray(session, (16,), "int32")

    def host_code() -> None:
        with session.program():
            queue = call("VTATLSCommandHandle")
            call("VTALoadBuffer2D", queue, array.handle, 0, 1, 1, 1, 0, 0, 0, 0, 0, ACC)
            call("VTABufferFree", array.handle)
            call("VTASynchronize", queue, 0)

    message = "the buffer at 0x1000 was freed before the instructions that use it ran; synchronise first"
    with pytest.raises(LauncherError, match=says(message)):
        host_code()
    assert session.queue.launcher.launches == []


def test_an_interrupt_inside_a_call_is_not_lost(session: Session) -> None:
    def interrupt(_: Launch) -> None:
        raise KeyboardInterrupt

    def host_code() -> None:
        with session.program():
            session.queue.launcher.listeners.append(interrupt)
            call("VTASynchronize", call("VTATLSCommandHandle"), 0)

    with pytest.raises(KeyboardInterrupt):
        host_code()


def test_an_error_names_the_statement_that_asked(session: Session) -> None:
    def host_code() -> None:
        with session.program():
            session.queue.origin = lambda: Origin("C.local", "script.py:12")
            call("VTADepPush", call("VTATLSCommandHandle"), 1, 3)

    message = (
        "C.local (script.py:12): dependency push from LOAD to STORE: no token queue joins them; tokens pass between "
        "LOAD and COMPUTE and between COMPUTE and STORE"
    )
    with pytest.raises(TokenError, match=says(message)):
        host_code()


OUTSIDE = "no session is running a program here; runtime calls belong into 'with session.program()'"


def test_a_call_from_python_outside_of_a_program_is_refused(capfd: pytest.CaptureFixture[str]) -> None:
    for name, arguments in (("VTAUopLoopEnd", ()), ("VTABufferAlloc", (16,)), ("VTADepPush", (None, 1, 2))):
        with pytest.raises(SessionError, match=says(OUTSIDE)):
            call(name, *arguments)
    assert capfd.readouterr() == ("", "")


def test_a_call_of_compiled_code_outside_of_a_program_fails_with_a_sentence(capfd: pytest.CaptureFixture[str]) -> None:
    push = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_int)(symbols()["VTADepPush"])
    alloc = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_size_t)(symbols()["VTABufferAlloc"])
    assert push(None, 1, 2) == -1
    assert alloc(16) is None
    assert capfd.readouterr() == ("", f"error: VTADepPush: {OUTSIDE}\nerror: VTABufferAlloc: {OUTSIDE}\n")


@pytest.mark.parametrize(
    ("make", "obstacle"),
    [
        (lambda q, h: call("VTABufferCPUPtr", q, h), "it accesses a device buffer"),
        (lambda q, h: call("VTAReadBarrier", q, h, 8, 0, 1), "it accesses a device buffer"),
        (lambda _q, h: call("VTABufferCopy", h, 0, h, 8, 8, 3), "it copies data"),
        (lambda _q, _h: call("VTARuntimeShutdown"), "it shuts the runtime down"),
        (lambda q, _h: call("VTASetDebugMode", q, 0), "it changes the debug mode"),
    ],
)
def test_a_program_whose_host_code_does_more_than_launch_is_not_replayed(
    session: Session, make: Callable[[int, int], object], obstacle: str
) -> None:
    array = DeviceArray(session, (16,), "int32")
    with session.program() as run:
        make(call("VTATLSCommandHandle"), array.handle)
    assert (run.recording, run.obstacle) == (None, obstacle)


# --- compiled code ---------------------------------------------------------------------------------------------------

COMPILED = """
@site = internal global i8* null

declare i8* @VTATLSCommandHandle()
declare void @VTALoadBuffer2D(i8*, i8*, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32)
declare void @VTAStoreBuffer2D(i8*, i32, i32, i8*, i32, i32, i32, i32)
declare i32 @VTAPushALUOp(i8**, i32 (i8*)*, i8*, i32)
declare void @VTAUopLoopBegin(i32, i32, i32, i32)
declare void @VTAUopPush(i32, i32, i32, i32, i32, i32, i32, i32)
declare void @VTAUopLoopEnd()
declare i32 @VTADepPush(i8*, i32, i32)
declare i32 @VTADepPop(i8*, i32, i32)
declare void @VTASynchronize(i8*, i32)

define internal i32 @describe(i8* %signature) {
  call void @VTAUopLoopBegin(i32 64, i32 1, i32 1, i32 0)
  call void @VTAUopPush(i32 1, i32 0, i32 0, i32 0, i32 0, i32 2, i32 1, i32 -100000)
  call void @VTAUopLoopEnd()
  ret i32 0
}

define i32 @add(i8* %a, i8* %b) {
  %q = call i8* @VTATLSCommandHandle()
  call void @VTALoadBuffer2D(i8* %q, i8* %a, i32 0, i32 64, i32 1, i32 64, i32 0, i32 0, i32 0, i32 0, i32 0, i32 3)
  %r = call i32 @VTAPushALUOp(i8** @site, i32 (i8*)* @describe, i8* null, i32 0)
  %s = call i32 @VTADepPush(i8* %q, i32 2, i32 3)
  %t = call i32 @VTADepPop(i8* %q, i32 2, i32 3)
  call void @VTAStoreBuffer2D(i8* %q, i32 0, i32 4, i8* %b, i32 0, i32 64, i32 1, i32 64)
  call void @VTASynchronize(i8* %q, i32 -2147483648)
  ret i32 %r
}
"""


def test_code_that_llvm_links_computes(session: Session) -> None:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    module = llvm.parse_assembly(COMPILED)
    machine = llvm.Target.from_default_triple().create_target_machine()
    with llvm.create_mcjit_compiler(module, machine) as engine:
        for name, address in symbols().items():
            declared = [f for f in module.functions if f.name == name]
            for function in declared:
                engine.add_global_mapping(function, address)
        engine.finalize_object()
        add = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)(engine.get_function_address("add"))
        a, b = DeviceArray(session, (64, 16), "int32"), DeviceArray(session, (64, 16), "int8")
        numbers = np.arange(1024, dtype=np.int32).reshape(64, 16)
        a.copyfrom(numbers)
        for _ in range(2):
            with session.program([a.allocation, b.allocation]):
                assert add(a.handle, b.handle) == 0
    np.testing.assert_array_equal(b.numpy(), (numbers - 100000).astype(np.int8))
    first, second = session.queue.launcher.launches
    assert first.words == second.words
