"""What the tools say about a planted fault: found at a right instruction, at a wrong one, missed, or no fault."""

from dataclasses import dataclass
from enum import Enum

from isa.check.checker import Severity, check
from isa.program import Program
from runtime.devices.device import DeviceError
from runtime.memory.device_memory import FIRST_ADDRESS
from tests.support.compiler.schedules import greedy_orders
from tests.support.faults.seeded_faults import Fault
from vta.inspect.diff.program_diff import diff_programs
from vta.inspect.diff.state import DRAM, first_mismatch
from vta.inspect.diff.stepping import engine

__all__ = ["Outcome", "Verdict", "judge"]


class Outcome(Enum):
    """What came of a fault."""

    CHECKED = "found by the checker"
    DIFFED = "found by the differ"
    MISPLACED = "found at a wrong instruction"
    MISSED = "missed"
    HARMLESS = "no fault: every order of execution gives what the program gave"


@dataclass(frozen=True, slots=True)
class Verdict:
    """An outcome, and the sentence of the tool."""

    outcome: Outcome
    text: str


def judge(fault: Fault, original: Program, *, by_checker: bool = True) -> Verdict:
    """Run the checker, if it is to be asked; if it finds nothing wrong, the differ against the original program."""
    errors = by_checker and [
        f for f in check(fault.program, first_address=FIRST_ADDRESS) if f.severity is Severity.ERROR
    ]
    if errors:
        first = errors[0]
        named = {first.index, *first.others}
        return Verdict(Outcome.CHECKED if named & fault.sites else Outcome.MISPLACED, str(first))
    difference = diff_programs(original, fault.program, device="sim").difference
    if difference is not None:
        right = difference.index in fault.sites
        return Verdict(Outcome.DIFFED if right else Outcome.MISPLACED, str(difference))
    return Verdict(Outcome.MISSED, "") if _can_differ(fault.program, original) else Verdict(Outcome.HARMLESS, "")


def _can_differ(program: Program, original: Program) -> bool:
    """Return whether an extreme order of execution deadlocks or leaves other contents of DRAM than the original."""
    expected = engine(original, "sim")
    for index in range(len(original.instructions)):
        expected.step(index)
    for order in greedy_orders(program.instructions):
        if order is None:
            return True
        machine = engine(program, "sim")
        try:
            for index in order:
                machine.step(index)
        except DeviceError:
            return True
        if first_mismatch(DRAM, expected.contents(DRAM), machine.contents(DRAM), original) is not None:
            return True
    return False
