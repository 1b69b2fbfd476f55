"""Running a program on the reference interpreter with every check, those that depend on data included.

The same findings as the checker's, with the micro-ops that were really loaded, and notes on numbers that wrap in the
accumulator or are cut when they are stored. Tests: ``tests/isa/check/test_sanitizer.py``.
"""

from dataclasses import dataclass

from isa.bulk import encode_all
from isa.check.checker import check
from isa.check.findings import Finding, FindingKind, Severity
from isa.check.value_watch import ValueWatch
from isa.check.walk import Walk
from isa.encoding import EncodingError
from isa.instructions import Load, MemoryId
from isa.program import Program
from isa.progress import counted
from isa.reference import InterpreterError

__all__ = ["Sanitized", "sanitize"]


@dataclass(frozen=True, slots=True)
class Sanitized:
    """What was found, and the machine where it stopped: at the end, or before the first instruction that cannot run."""

    findings: tuple[Finding, ...]
    machine: ValueWatch
    walk: Walk | None

    @property
    def errors(self) -> int:
        """How many findings are errors."""
        return sum(finding.severity is Severity.ERROR for finding in self.findings)


def sanitize(program: Program, *, first_address: int = 0, before: Sanitized | None = None) -> Sanitized:
    """Run ``program`` in DRAM of its own, from ``first_address`` on.

    With ``before``, it continues where that run ended: the scratchpads hold what it left.
    """
    machine = ValueWatch(program.config, program.dram(at_least=first_address), first_address=first_address)
    try:
        encode_all(program.instructions, program.config)
    except EncodingError:
        return Sanitized(tuple(check(program, first_address=first_address)), machine, None)
    if before is not None:
        machine.uop[:], machine.inp[:] = before.machine.uop, before.machine.inp
        machine.wgt[:], machine.acc[:] = before.machine.wgt, before.machine.acc
    dram = range(first_address, len(machine.memory))
    walk = Walk(program, dram, before=None if before is None else before.walk)
    shortage = walk.flow.shortage
    end = len(program.instructions) if shortage is None else shortage.index
    runs = True
    for index in counted(range(len(program.instructions)), "sanitizing"):
        legal = walk.visit(index)
        runs = runs and legal and index < end and _step(index, walk, machine)
    return Sanitized(tuple(walk.result()), machine, walk)


def _step(index: int, walk: Walk, machine: ValueWatch) -> bool:
    """Execute an instruction that the walk has visited; return whether it could be."""
    instruction = walk.program.instructions[index]
    try:
        machine.step(instruction)
    except InterpreterError as error:
        walk.add(index, Severity.ERROR, FindingKind.BOUNDS, str(error).partition(": ")[2])
        return False
    if isinstance(instruction, Load) and instruction.memory == MemoryId.UOP and instruction.x_size:
        end = instruction.sram_base + instruction.x_size
        walk.uops.learn(instruction.sram_base, machine.uop[instruction.sram_base : end])
    for event in machine.events[:1]:
        walk.add(index, Severity.NOTE, FindingKind.VALUE, f"{walk.names.short(index)} {event}")
    machine.events.clear()
    return True
