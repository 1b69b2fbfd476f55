"""Micro-op kernels as the runtime API describes them: a perfect nest of loops around a list of micro-ops.

``KernelRecorder`` collects the calls ``VTAUopLoopBegin``, ``VTAUopPush`` and ``VTAUopLoopEnd`` of one kernel; the
result is a value that says nothing about encodings (``runtime.queue.kernel_lowering`` makes instructions of it). Any
number of loops is accepted, and so are micro-ops that name one accumulator several times in a row: engines execute them
in order.

Tests: ``tests/runtime/queue/test_uop_kernel.py``. Rules: ``docs/runtime.md``.
"""

from dataclasses import dataclass
from enum import IntEnum

from isa.errors import VTAError
from isa.instructions import FUSED, AluOpcode, MicroOp

__all__ = ["KernelError", "KernelMode", "KernelOperation", "KernelRecorder", "UopKernel", "UopLoop"]


class KernelError(VTAError, ValueError):
    """A micro-op kernel that means nothing, or that no sequence of instructions can express."""


class KernelMode(IntEnum):
    """What a kernel's micro-ops do: the ``mode`` argument of ``VTAUopPush``."""

    GEMM = 0
    ALU = 1
    DEPTHWISE = 2
    """A GEMM of lanes by themselves: its kernels are pushed as GEMM."""
    FUSED = 3
    """Steps of the ALU that do two operations and a shift by ``imm``: their kernels are pushed as ALU."""


@dataclass(frozen=True, slots=True)
class UopLoop:
    """One loop: ``extent`` iterations, each adding the factors to the indices of all micro-ops."""

    extent: int
    dst: int
    src: int
    wgt: int


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelOperation:
    """What every micro-op of one kernel does.

    ``mode`` is GEMM or ALU. ``reset`` and ``depthwise`` are a GEMM's alone; ``alu_opcode``, ``fused``, ``use_imm`` and
    ``imm`` are the ALU's alone. Fields without meaning have their default, so operations that mean the same compare
    equal.
    """

    mode: KernelMode
    reset: bool = False
    depthwise: bool = False
    alu_opcode: AluOpcode | None = None
    fused: bool = False
    use_imm: bool = False
    imm: int = 0

    def __str__(self) -> str:
        if self.alu_opcode is None:
            return "GEMM reset" if self.reset else "GEMM depthwise" if self.depthwise else "GEMM"
        if self.fused:
            return f"ALU {self.alu_opcode.name} {FUSED[self.alu_opcode].name} shift {self.imm}"
        return f"ALU {self.alu_opcode.name}" + (f" imm {self.imm}" if self.use_imm else "")


@dataclass(frozen=True, slots=True)
class UopKernel:
    """A captured kernel, ``loops`` outermost first. ``operation`` is None (and ``uops`` empty) if it does nothing."""

    operation: KernelOperation | None
    loops: tuple[UopLoop, ...]
    uops: tuple[MicroOp, ...]

    @property
    def is_empty(self) -> bool:
        """Whether it does no work: no micro-op, or a loop without iterations."""
        return not self.uops or any(loop.extent == 0 for loop in self.loops)

    def __str__(self) -> str:
        """Return upstream's dump: a heading, one line for each micro-op, an empty line."""
        lines = [f"There are {len(self.uops)} uops"]
        lines += [f"[{i:04}]\t acc={u.dst}, inp={u.src}, wgt={u.wgt}" for i, u in enumerate(self.uops)]
        return "\n".join(lines) + "\n\n"


class KernelRecorder:
    """Collects one kernel. Every method raises ``KernelError`` where the calls do not describe a perfect nest."""

    def __init__(self) -> None:
        self._loops: list[UopLoop] = []
        self._uops: list[MicroOp] = []
        self._operation: KernelOperation | None = None
        self._open = 0

    def loop_begin(self, extent: int, dst_factor: int, src_factor: int, wgt_factor: int) -> None:
        """Open a loop inside the loops that are open."""
        if self._uops or self._open < len(self._loops):
            raise KernelError(
                "micro-op kernel: a loop begins after micro-ops or beside a loop, but loops must enclose each other "
                "and all micro-ops; put each nest into a kernel of its own"
            )
        if extent < 0:
            raise KernelError(f"micro-op kernel: a loop has 0 or more iterations, not {extent}")
        self._loops.append(UopLoop(extent, dst_factor, src_factor, wgt_factor))
        self._open += 1

    def loop_end(self) -> None:
        """Close the innermost open loop."""
        if self._open == 0:
            raise KernelError("micro-op kernel: a loop ends, but none is open")
        self._open -= 1

    def push(self, uop: MicroOp, operation: KernelOperation) -> None:
        """Append ``uop``; ``operation`` must be that of the micro-ops before it."""
        if self._open < len(self._loops):
            raise KernelError(
                "micro-op kernel: a micro-op follows the end of a loop, but loops must enclose all micro-ops; put it "
                "into a kernel of its own"
            )
        if min(uop.dst, uop.src, uop.wgt) < 0:
            raise KernelError(f"micro-op kernel: indices count from 0, not dst {uop.dst}, src {uop.src}, wgt {uop.wgt}")
        if self._operation is None:
            self._operation = operation
        elif self._operation != operation:
            raise KernelError(
                f"micro-op kernel: it does {self._operation}, and micro-op {len(self._uops)} does {operation}; one "
                "kernel does one operation"
            )
        self._uops.append(uop)

    def finish(self) -> UopKernel:
        """Return the kernel."""
        if self._open:
            raise KernelError(f"micro-op kernel: it ends with {self._open} open loops")
        return UopKernel(self._operation, tuple(self._loops), tuple(self._uops))
