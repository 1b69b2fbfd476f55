"""The C functions that host code calls: the runtime's API (`docs/runtime.md`) and the C library's allocator.

Tests: tests/vta/codegen/test_runtime_calls.py.
"""

from dataclasses import dataclass

from vta.codegen.llvm_types import I32, I64, POINTER, VOID, LlvmType

__all__ = ["C_LIBRARY", "DMA_CALLS", "RUNTIME_CALLS", "Signature"]


@dataclass(frozen=True, slots=True)
class Signature:
    """Result and parameter types of a C function."""

    result: LlvmType
    parameters: tuple[LlvmType, ...]


_COMMAND = POINTER
_QUEUES = (_COMMAND, I32, I32)
_KERNEL = (POINTER, POINTER, POINTER, I32)
_BARRIER = (_COMMAND, POINTER, I32, I32, I32)

RUNTIME_CALLS: dict[str, Signature] = {
    "VTABufferAlloc": Signature(POINTER, (I64,)),
    "VTABufferFree": Signature(VOID, (POINTER,)),
    "VTATLSCommandHandle": Signature(POINTER, ()),
    "VTABufferCPUPtr": Signature(POINTER, (_COMMAND, POINTER)),
    "VTASetDebugMode": Signature(VOID, (_COMMAND, I32)),
    "VTAPlanTokens": Signature(VOID, (_COMMAND,)),
    "VTAWriteBarrier": Signature(VOID, _BARRIER),
    "VTAReadBarrier": Signature(VOID, _BARRIER),
    "VTALoadBuffer2D": Signature(VOID, (_COMMAND, POINTER, *[I32] * 10)),
    "VTAStoreBuffer2D": Signature(VOID, (_COMMAND, I32, I32, POINTER, *[I32] * 4)),
    "VTAUopPush": Signature(VOID, (I32,) * 8),
    "VTAUopLoopBegin": Signature(VOID, (I32,) * 4),
    "VTAUopLoopEnd": Signature(VOID, ()),
    "VTAPushGEMMOp": Signature(I32, _KERNEL),
    "VTAPushALUOp": Signature(I32, _KERNEL),
    "VTADepPush": Signature(I32, _QUEUES),
    "VTADepPop": Signature(I32, _QUEUES),
    "VTASynchronize": Signature(VOID, (_COMMAND, I32)),
}
"""Every runtime function that host code may call, by its C name."""

DMA_CALLS: dict[str, int] = {"VTALoadBuffer2D": 1, "VTAStoreBuffer2D": 3}
"""Runtime functions that move data: the argument (counted from 0) that is the handle of a buffer in device memory."""

C_LIBRARY: dict[str, Signature] = {
    "malloc": Signature(POINTER, (I64,)),
    "free": Signature(VOID, (POINTER,)),
}
"""What host temporaries are made with."""
