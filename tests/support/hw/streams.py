"""Short names for instruction streams, as ``docs/runtime.md`` writes them: ``LOAD UOP 0100`` and so on."""

from collections.abc import Callable, Sequence

from isa.instructions import Alu, Finish, Gemm, Instruction, Load, Module, Store
from runtime.queue.command_queue import CommandQueue

__all__ = ["gemm_kernel", "short", "trace"]

_NOPS = {Module.LOAD: "NOP-LOAD", Module.COMPUTE: "NOP-COMPUTE", Module.STORE: "NOP-STORE"}


def short(instruction: Instruction) -> str:
    """Return kind and flags (pop_prev, pop_next, push_prev, push_next) of an instruction."""
    match instruction:
        case Load() | Store() if instruction.is_nop:
            name = _NOPS[instruction.module]
        case Load():
            name = f"LOAD {instruction.memory.name}"
        case Store():
            name = "STORE"
        case Gemm():
            name = "GEMM-reset" if instruction.reset else "GEMM"
        case Alu():
            name = "ALU"
        case Finish():
            name = "FINISH"
    deps = instruction.deps
    flags = (deps.pop_prev, deps.pop_next, deps.push_prev, deps.push_next)
    return name + " " + "".join(str(int(flag)) for flag in flags)


def trace(instructions: Sequence[Instruction]) -> list[str]:
    """Return the short names of a stream."""
    return [short(instruction) for instruction in instructions]


def gemm_kernel(
    queue: CommandQueue, *uops: tuple[int, int, int], reset: bool = False, loop: tuple[int, int, int, int] | None = None
) -> Callable[[], None]:
    """Return what records a GEMM kernel of these micro-ops (dst, src, wgt) in an optional loop."""

    def record() -> None:
        if loop is not None:
            queue.uop_loop_begin(*loop)
        for dst, src, wgt in uops:
            queue.uop_push(0, reset, dst, src, wgt)
        if loop is not None:
            queue.uop_loop_end()

    return record
