"""What an instruction is: the five task instructions, the micro-op, and which module runs what.

Values only: bit positions are in ``isa.layout``, ranges and legality in ``isa.encoding``. Tests:
``tests/isa/test_instructions.py``.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from types import MappingProxyType

__all__ = [
    "FUSED",
    "NO_DEPS",
    "Alu",
    "AluOpcode",
    "Deps",
    "Finish",
    "Gemm",
    "Instruction",
    "Load",
    "MemoryId",
    "MicroOp",
    "Module",
    "Opcode",
    "Store",
    "numbered",
]


class Opcode(IntEnum):
    """The three low bits of an instruction word."""

    LOAD = 0
    STORE = 1
    GEMM = 2
    FINISH = 3
    ALU = 4


class MemoryId(IntEnum):
    """The on-chip memory that a LOAD writes or a STORE reads; ACC_8BIT widens int8 in DRAM to the accumulator."""

    UOP = 0
    WGT = 1
    INP = 2
    ACC = 3
    OUT = 4
    ACC_8BIT = 5


class AluOpcode(IntEnum):
    """The operations of the tensor ALU."""

    MIN = 0
    MAX = 1
    ADD = 2
    SHR = 3
    MUL = 4


FUSED: Mapping[AluOpcode, AluOpcode] = MappingProxyType({AluOpcode.MAX: AluOpcode.MIN, AluOpcode.MUL: AluOpcode.ADD})
"""The operations that a fused step may begin with, and what follows: limits on both sides, or product and sum."""


class Module(IntEnum):
    """The three decoupled modules (and their queue ids), a chain LOAD - COMPUTE - STORE joined by token queues."""

    LOAD = 1
    COMPUTE = 2
    STORE = 3


def numbered(entries: Iterable[IntEnum]) -> str:
    """Return names and values as messages list them: ``MIN 0, MAX 1, ...``."""
    return ", ".join(f"{entry.name} {entry.value}" for entry in entries)


@dataclass(frozen=True, slots=True, kw_only=True)
class Deps:
    """Tokens that an instruction takes before it starts (pop) and gives after it completes (push).

    ``prev`` is the module to the left in the chain LOAD - COMPUTE - STORE, ``next`` the one to the right.
    """

    pop_prev: bool = False
    pop_next: bool = False
    push_prev: bool = False
    push_next: bool = False


NO_DEPS = Deps()


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """Copy ``y_size`` rows of ``x_size`` elements from DRAM, padded with zeros, to consecutive scratchpad elements.

    ``dram_base``, ``x_size`` and ``x_stride`` count elements of ``memory``. ``y_pad_0`` rows of zeros come first,
    ``y_pad_1`` last; each row has ``x_pad_0`` zeros before and ``x_pad_1`` after it. A size of zero means no work.
    """

    memory: MemoryId
    sram_base: int = 0
    dram_base: int = 0
    y_size: int = 0
    x_size: int = 0
    x_stride: int = 0
    y_pad_0: int = 0
    y_pad_1: int = 0
    x_pad_0: int = 0
    x_pad_1: int = 0
    deps: Deps = NO_DEPS

    @property
    def module(self) -> Module:
        """The module that runs it: the load module fills INP and WGT, the compute module the rest."""
        return Module.LOAD if self.memory in (MemoryId.INP, MemoryId.WGT) else Module.COMPUTE

    @property
    def scratchpad(self) -> MemoryId:
        """The memory that it fills: an ACC_8BIT load fills ACC."""
        return MemoryId.ACC if self.memory == MemoryId.ACC_8BIT else self.memory

    @property
    def is_nop(self) -> bool:
        """Whether it only carries tokens (upstream's convention looks at ``x_size`` alone)."""
        return self.x_size == 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Store:
    """Copy the low output bits of consecutive accumulator elements to ``y_size`` rows of ``x_size`` in DRAM.

    Pads must be zero; they are fields because LOAD and STORE share one layout.
    """

    memory: MemoryId = MemoryId.OUT
    sram_base: int = 0
    dram_base: int = 0
    y_size: int = 0
    x_size: int = 0
    x_stride: int = 0
    y_pad_0: int = 0
    y_pad_1: int = 0
    x_pad_0: int = 0
    x_pad_1: int = 0
    deps: Deps = NO_DEPS

    @property
    def module(self) -> Module:
        """The module that runs it."""
        return Module.STORE

    @property
    def is_nop(self) -> bool:
        """Whether it only carries tokens."""
        return self.x_size == 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Gemm:
    """Run micro-ops ``uop_bgn`` up to (not including) ``uop_end`` for every step of two loops.

    Each adds the product of input ``src`` and weight ``wgt`` to accumulator ``dst``, or zeroes ``dst`` if ``reset``;
    the factors times the loop counters are added to the indices. With ``depthwise``, which means nothing for a reset,
    lane i adds up input lane i of element ``src + t`` times number t of weight row i, for each tap t.
    """

    reset: bool = False
    depthwise: bool = False
    uop_bgn: int = 0
    uop_end: int = 0
    iter_out: int = 1
    iter_in: int = 1
    dst_factor_out: int = 0
    dst_factor_in: int = 0
    src_factor_out: int = 0
    src_factor_in: int = 0
    wgt_factor_out: int = 0
    wgt_factor_in: int = 0
    deps: Deps = NO_DEPS

    @property
    def module(self) -> Module:
        """The module that runs it."""
        return Module.COMPUTE

    @property
    def is_nop(self) -> bool:
        """Whether it only carries tokens: never, by upstream's convention."""
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Alu:
    """``acc[dst] = op(acc[dst], imm)`` or ``op(acc[dst], acc[src])`` for every micro-op and step of two loops.

    With ``fused``, ``acc[dst] = then(op(acc[dst], acc[src]), acc[src + 1]) >> imm``, where MIN follows MAX and ADD
    follows MUL (``FUSED``).
    """

    alu_opcode: AluOpcode
    fused: bool = False
    use_imm: bool = False
    imm: int = 0
    uop_bgn: int = 0
    uop_end: int = 0
    iter_out: int = 1
    iter_in: int = 1
    dst_factor_out: int = 0
    dst_factor_in: int = 0
    src_factor_out: int = 0
    src_factor_in: int = 0
    deps: Deps = NO_DEPS

    @property
    def module(self) -> Module:
        """The module that runs it."""
        return Module.COMPUTE

    @property
    def is_nop(self) -> bool:
        """Whether it only carries tokens: never, by upstream's convention."""
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Finish:
    """The end of a launch; it may pop tokens."""

    deps: Deps = NO_DEPS

    @property
    def module(self) -> Module:
        """The module that runs it."""
        return Module.COMPUTE

    @property
    def is_nop(self) -> bool:
        """Whether it only carries tokens: never."""
        return False


Instruction = Load | Store | Gemm | Alu | Finish


@dataclass(frozen=True, slots=True, kw_only=True)
class MicroOp:
    """Where the operands of one tensor operation lie: accumulator, input (or accumulator, in the ALU) and weight."""

    dst: int = 0
    src: int = 0
    wgt: int = 0
