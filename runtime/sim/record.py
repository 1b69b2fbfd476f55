"""The record at the start of a simulator's arena, through which Python and the native kernels speak.

Every field is one 64-bit number at ``RECORD_OFFSETS[name]``. Tests:
``tests/runtime/sim/test_functional_device.py``, ``tests/runtime/sim/test_failures.py``.
"""

from collections.abc import Mapping
from dataclasses import fields
from enum import IntEnum

from isa.instructions import Module
from isa.tokens import TokenQueue
from runtime.observe.stats import InstructionCounts

__all__ = [
    "BYTE_COUNTERS",
    "COUNTER_NAMES",
    "FIELD_NAMES",
    "KIND_NAMES",
    "RECORD_BYTES",
    "RECORD_OFFSETS",
    "Failure",
    "Status",
    "UopField",
    "head_field",
    "token_field",
]


class Status(IntEnum):
    """What ``run`` and ``fetch`` return."""

    DONE = 0
    FAILED = 1
    DEADLOCK = 2
    PAUSED = 3
    """``budget`` is spent, or ``stop_at`` instructions have run."""


class Failure(IntEnum):
    """Why an instruction failed; ``value``, ``limit`` and ``detail`` of the record mean what is said here."""

    ILLEGAL_WORD = 1
    """The decoder refuses the word (its sentence says why)."""
    NOT_LAST = 2
    """A FINISH that is not the last of ``limit`` instructions."""
    NO_FINISH = 3
    """The last of ``limit`` instructions is not FINISH."""
    SRAM_RANGE = 4
    """A transfer ends at scratchpad element ``value`` (exclusive) of ``limit``; ``detail`` is the ``MemoryId``."""
    DRAM_RANGE = 5
    """A transfer covers bytes ``detail`` to ``value`` (exclusive), and the DRAM has bytes up to ``limit``."""
    ILLEGAL_UOP = 6
    """A micro-op in the range of the instruction has an unused bit set."""
    UOP_RANGE = 7
    """``uop_end`` is ``value`` and the micro-op buffer has ``limit``."""
    INDEX_RANGE = 8
    """Operand ``detail`` (a ``UopField``) reaches element ``value`` and its scratchpad has ``limit``."""


class UopField(IntEnum):
    """An index of a micro-op."""

    DST = 0
    SRC = 1
    WGT = 2


BYTE_COUNTERS = (
    "inp_load_nbytes",
    "wgt_load_nbytes",
    "acc_load_nbytes",
    "uop_load_nbytes",
    "out_store_nbytes",
    "gemm_counter",
    "alu_counter",
)
"""Upstream's counters, as ``runtime.observe.stats.Statistics`` names them."""

KIND_NAMES = tuple(field.name for field in fields(InstructionCounts))
"""Counters of executed instructions by kind."""

COUNTER_NAMES = BYTE_COUNTERS + KIND_NAMES
"""All counters: the first fields of the record, in this order."""


def token_field(queue: TokenQueue) -> str:
    """Return the name of the field that counts the tokens in ``queue``."""
    return f"tokens_{queue.value}"


def head_field(module: Module) -> str:
    """Return the name of the field with the next instruction of ``module`` (``count`` if there is none)."""
    return f"head_{module.name}"


FIELD_NAMES = (
    *COUNTER_NAMES,
    *(token_field(queue) for queue in TokenQueue),
    *(head_field(module) for module in Module),
    "count",
    "executed",
    "stop_at",
    "budget",
    "inside",
    "inside_0",
    "inside_1",
    "inside_2",
    "skip_execution",
    "dram",
    "dram_end",
    "words",
    "next",
    "order",
    "failure",
    "index",
    "value",
    "limit",
    "detail",
)
"""Counters; tokens and heads of the module queues; instructions of the launch, how many ran and how many may; the
tensor operations that may be done, the instruction in which they were spent (its index and 1, or 0) and how far its
three loops were (``runtime.sim.slices``); whether to move and compute nothing; host pointer to DRAM address 0 and the
end of DRAM; host pointers to the copied words, to the links of the module queues and to the order of execution (32 bits
each); the failure."""

RECORD_OFFSETS: Mapping[str, int] = {name: 8 * place for place, name in enumerate(FIELD_NAMES)}
"""Bytes from the start of the arena to each field."""

RECORD_BYTES = 8 * len(FIELD_NAMES)
