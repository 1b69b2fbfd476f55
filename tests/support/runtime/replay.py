"""Recorded runtime calls (``tests/golden/*/CASE.calls.txt.gz``) made again, on a queue of ours.

Device memory is laid out as it was when the case was recorded: buffers, and the queue's areas, at the same physical
addresses, so that instruction words can be compared in full.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from isa.instructions import MemoryId, Module
from runtime.memory.device_memory import Allocation, DeviceMemory
from runtime.queue.command_queue import CommandQueue
from tests.support.golden.golden import Case

__all__ = ["lay_out", "make_calls", "read_array", "write_array"]


def lay_out(case: Case, queue: CommandQueue) -> dict[str, Allocation]:
    """Allocate the case's buffers, and the queue's areas, where they were; return the buffers by name."""
    memory = queue.memory
    [uop_address] = {launch["uop_phy"] for launch in case.record["launches"]}
    buffers = {entry["phy"]: entry for entry in case.record["buffers"]}
    placed: dict[str, Allocation] = {}
    for address in sorted([*buffers, uop_address]):
        _fill_up_to(memory, address)
        if address == uop_address:
            assert queue.launcher.addresses.uops == uop_address
        else:
            placed[buffers[address]["name"]] = block = memory.alloc(buffers[address]["bytes"])
            assert block.address == address
    return placed


def _fill_up_to(memory: DeviceMemory, address: int) -> None:
    if memory.nbytes < address:
        memory.alloc(address - memory.nbytes)


def write_array(memory: DeviceMemory, block: Allocation, array: npt.NDArray[np.generic]) -> None:
    """Copy an array to the beginning of a block."""
    memory.write(block, 0, np.ascontiguousarray(array).tobytes())


def read_array(memory: DeviceMemory, block: Allocation, like: npt.NDArray[np.generic]) -> npt.NDArray[np.generic]:
    """Return the array of ``like``'s type and shape at the beginning of a block."""
    return np.frombuffer(memory.read(block, 0, like.nbytes), like.dtype).reshape(like.shape)


@dataclass(slots=True)
class _Line:
    name: str
    positional: list[int]
    named: dict[str, int]

    @classmethod
    def parse(cls, text: str) -> "_Line":
        name, *words = text.split()
        positional = [int(word) for word in words if "=" not in word]
        named = {key: int(value) for key, value in (word.split("=") for word in words if "=" in word)}
        return cls(name, positional, named)


def make_calls(case: Case, queue: CommandQueue, buffers: Sequence[Allocation]) -> None:
    """Make the case's calls on ``queue``. A push whose kernel was recorded earlier names it by its number."""
    lines = [_Line.parse(line) for line in case.calls if not line.startswith("#")]
    by_address = {block.address: block for block in buffers}
    pushed = [i["kernel"] for launch in case.record["launches"] for i in launch["insns"] if "kernel" in i]
    position = 0
    while position < len(lines):
        line = lines[position]
        position += 1
        if line.name in ("VTAPushGEMMOp", "VTAPushALUOp"):
            end = position
            while end < len(lines) and lines[end].name.startswith("VTAUop"):
                end += 1
            _push(queue, line, lines[position:end], pushed.pop(0))
            position = end
        else:
            _call(queue, line, by_address)
    assert not pushed


def _push(queue: CommandQueue, line: _Line, body: Sequence[_Line], kernel: int) -> None:
    def record() -> None:
        assert body, "a kernel that was not recorded before is pushed with its calls"
        for call in body:
            _call(queue, call, {})

    push: Callable[..., None] = queue.push_gemm if line.name == "VTAPushGEMMOp" else queue.push_alu
    signature = line.named["sig"].to_bytes(4, "little", signed=True) if line.named["nbytes"] else b""
    push(kernel, record, signature)


def _call(queue: CommandQueue, line: _Line, by_address: dict[int, Allocation]) -> None:
    a, n = line.positional, line.named
    match line.name:
        case "VTADepPush":
            queue.dep_push(Module(a[0]), Module(a[1]))
        case "VTADepPop":
            queue.dep_pop(Module(a[0]), Module(a[1]))
        case "VTAUopLoopBegin":
            queue.uop_loop_begin(*a)
        case "VTAUopLoopEnd":
            queue.uop_loop_end()
        case "VTAUopPush":
            mode, reset, dst, src, wgt, opcode, use_imm, imm = a
            queue.uop_push(mode, bool(reset), dst, src, wgt, opcode, bool(use_imm), imm)
        case "VTALoadBuffer2D":
            queue.load_buffer_2d(
                by_address[n["dram"]],
                n["off"],
                x_size=n["x_size"],
                y_size=n["y_size"],
                x_stride=n["x_stride"],
                x_pad_0=n["x_pad_before"],
                y_pad_0=n["y_pad_before"],
                x_pad_1=n["x_pad_after"],
                y_pad_1=n["y_pad_after"],
                sram_base=n["sram"],
                memory=MemoryId(n["mem"]),
            )
        case "VTAStoreBuffer2D":
            queue.store_buffer_2d(
                n["sram"],
                MemoryId(n["mem"]),
                by_address[n["dram"]],
                n["off"],
                x_size=n["x_size"],
                y_size=n["y_size"],
                x_stride=n["x_stride"],
            )
        case "VTASynchronize":
            queue.synchronize()
        case _:
            raise ValueError(f"unknown call {line.name}")
