"""What a device did: bytes moved, instructions and tensor operations, cycles where there are any.

The seven counters of upstream's simulator keep their names (``docs/runtime.md``); bytes are those that moved between
DRAM and a scratchpad, so padding does not count, and an ACC_8BIT element counts a quarter of an ACC element.

Tests: ``tests/runtime/observe/test_statistics.py``.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from typing import TypeVar, assert_never

from isa.instructions import Alu, Finish, Gemm, Instruction, Load, Store
from runtime.observe.accounting import CycleAccount

__all__ = ["InstructionCounts", "LaunchStats", "Statistics", "count_instructions"]


@dataclass(frozen=True, slots=True, kw_only=True)
class InstructionCounts:
    """Executed instructions by kind; a no-op (x_size 0) counts under its module alone, a reset as
    ``gemm_reset`` alone.
    """

    load_uop: int = 0
    load_inp: int = 0
    load_wgt: int = 0
    load_acc: int = 0
    load_acc_8bit: int = 0
    store: int = 0
    gemm: int = 0
    gemm_reset: int = 0
    alu: int = 0
    finish: int = 0
    nop_load: int = 0
    nop_compute: int = 0
    nop_store: int = 0

    @property
    def total(self) -> int:
        """All instructions."""
        return sum(self.as_dict().values())

    def as_dict(self) -> dict[str, int]:
        """Return the counts by field name."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    def __add__(self, other: "InstructionCounts") -> "InstructionCounts":
        return InstructionCounts(**{name: count + getattr(other, name) for name, count in self.as_dict().items()})


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistics:
    """Counters since they were last cleared.

    ``gemm_counter`` and ``alu_counter`` are tensor operations (loop trips times micro-ops); resets
    do not count. ``launches`` counts finished launches; ``cycles`` and ``account`` (which says what
    each module spent them on) are None on a device without a clock.
    """

    inp_load_nbytes: int = 0
    wgt_load_nbytes: int = 0
    acc_load_nbytes: int = 0
    uop_load_nbytes: int = 0
    out_store_nbytes: int = 0
    gemm_counter: int = 0
    alu_counter: int = 0
    instructions: InstructionCounts = field(default_factory=InstructionCounts)
    launches: int = 0
    cycles: int | None = None
    account: CycleAccount | None = None

    def as_dict(self) -> dict[str, int]:
        """Return upstream's seven counters by name, in upstream's order; ``cycle_count`` too where
        there is a clock.
        """
        counters = {
            "inp_load_nbytes": self.inp_load_nbytes,
            "wgt_load_nbytes": self.wgt_load_nbytes,
            "acc_load_nbytes": self.acc_load_nbytes,
            "uop_load_nbytes": self.uop_load_nbytes,
            "out_store_nbytes": self.out_store_nbytes,
            "gemm_counter": self.gemm_counter,
            "alu_counter": self.alu_counter,
        }
        if self.cycles is not None:
            counters["cycle_count"] = self.cycles
        return counters

    def __add__(self, other: "Statistics") -> "Statistics":
        return Statistics(
            inp_load_nbytes=self.inp_load_nbytes + other.inp_load_nbytes,
            wgt_load_nbytes=self.wgt_load_nbytes + other.wgt_load_nbytes,
            acc_load_nbytes=self.acc_load_nbytes + other.acc_load_nbytes,
            uop_load_nbytes=self.uop_load_nbytes + other.uop_load_nbytes,
            out_store_nbytes=self.out_store_nbytes + other.out_store_nbytes,
            gemm_counter=self.gemm_counter + other.gemm_counter,
            alu_counter=self.alu_counter + other.alu_counter,
            instructions=self.instructions + other.instructions,
            launches=self.launches + other.launches,
            cycles=_sum_of_known(self.cycles, other.cycles),
            account=_sum_of_known(self.account, other.account),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchStats:
    """What one launch did: its own ``statistics`` (``launches`` is 1), not the device's running
    total.
    """

    statistics: Statistics

    @property
    def instruction_count(self) -> int:
        """Instructions that were executed."""
        return self.statistics.instructions.total

    @property
    def cycles(self) -> int | None:
        """Cycles from start to done, or None on a device without a clock."""
        return self.statistics.cycles

    @property
    def account(self) -> CycleAccount | None:
        """What each module spent its cycles on, or None on a device without a clock."""
        return self.statistics.account


_Summed = TypeVar("_Summed", int, CycleAccount)


def _sum_of_known(left: _Summed | None, right: _Summed | None) -> _Summed | None:
    if left is None:
        return right
    return left if right is None else left + right


def count_instructions(instructions: Iterable[Instruction]) -> InstructionCounts:
    """Return how many instructions of each kind there are."""
    return InstructionCounts(**Counter(_kind(instruction) for instruction in instructions))


def _kind(instruction: Instruction) -> str:
    match instruction:
        case Load() | Store() if instruction.is_nop:
            return f"nop_{instruction.module.name.lower()}"
        case Load():
            return f"load_{instruction.memory.name.lower()}"
        case Store():
            return "store"
        case Gemm():
            return "gemm_reset" if instruction.reset else "gemm"
        case Alu():
            return "alu"
        case Finish():
            return "finish"
        case _:
            assert_never(instruction)
