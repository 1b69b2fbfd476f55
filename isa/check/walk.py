"""A walk through a legal program in program order that notes what is out of bounds, out of order or never written.

The checker walks without running; the sanitizer runs beside it and tells the walk which micro-ops were really loaded.
Tests: ``tests/isa/check/test_checker.py``,
``tests/isa/check/test_races.py``, ``tests/isa/check/test_sanitizer.py``.
"""

from typing import Self, assert_never

from isa.check.access_order import NOBODY, AccessOrder
from isa.check.findings import Finding, FindingKind, Names, Severity
from isa.check.token_diagnosis import TokenDiagnosis
from isa.check.token_flow import TokenFlow, token_flow
from isa.footprint import Footprints, dram_hull
from isa.instructions import Alu, Finish, Gemm, Instruction, Load, MemoryId, Module, Store
from isa.known_uops import KnownUops
from isa.program import Program
from isa.tokens import token_order

__all__ = ["Walk", "follow_uops"]


class Walk:
    """Visits the instructions one after the other and collects ``findings``.

    ``dram`` are the addresses of memory. With ``before``, the program continues where another one ended: what that one
    left on chip is still there.
    """

    def __init__(self, program: Program, dram: range, *, before: Self | None = None) -> None:
        self.program = program
        self.flow: TokenFlow = token_flow(program.instructions)
        self.uops = KnownUops(program)
        self.accesses = AccessOrder(program)
        if before is not None:
            self.uops.inherit(before.uops)
            self.accesses.inherit(before.accesses)
        self.names = Names(program.instructions, program.origins)
        self.findings: list[Finding] = []
        self._diagnosis = TokenDiagnosis(program.instructions, self.names, self.flow, self.accesses.needs)
        self._footprints = Footprints(program.config, dram)
        self._excused: dict[tuple[Module, Module], int] = {}

    def visit(self, index: int) -> bool:
        """Look at the next instruction, number ``index``; return whether it can be executed."""
        instruction = self.program.instructions[index]
        footprint = self._footprints.of(instruction, self.uops.read)
        for kind, message in footprint.problems:
            self.add(index, Severity.ERROR, kind, message)
        if not footprint.complete and not footprint.problems:
            text = "its micro-ops are not in the program's memory, so what it touches is not checked"
            self.add(index, Severity.NOTE, FindingKind.BOUNDS, text)
        if footprint.problems or not footprint.complete:
            self.accesses.skip(instruction, index)
            return not footprint.problems
        for kind, message in self.accesses.visit(index, instruction, footprint):
            self.add(index, Severity.ERROR, kind, f"{self.names.short(index)} {message}")
        if index < len(self.flow.clocks):
            self._races(index, instruction.module)
        follow_uops(instruction, self.program, self.uops)
        return True

    def add(self, index: int, severity: Severity, kind: FindingKind, message: str) -> None:
        """Note something about instruction ``index``."""
        self.findings.append(Finding(severity, index, message, kind, origin=self.program.origins[index]))

    def result(self) -> list[Finding]:
        """Return everything that was found, in order of the instructions, and what tokens and FINISH look like."""
        placed = [*self.findings, *self._misplaced()]
        if self.flow.shortage is not None:
            placed.append(self._diagnosis.shortage(self.flow.shortage))
        placed.sort(key=lambda finding: -1 if finding.index is None else finding.index)
        return [*placed, *self._on_the_whole()]

    def _races(self, index: int, module: Module) -> None:
        """Note what instruction ``index`` does not wait for, each rival instruction once."""
        clock, needs = self.flow.clocks[index], self.accesses.needs[index]
        for other in Module:
            needed = needs[other]
            if needed > clock[other] and needed > self._excused.get((module, other), NOBODY):
                self._excused[module, other] = needed
                self.findings.append(self._diagnosis.race(index, self.accesses.conflict(other)))

    def _misplaced(self) -> list[Finding]:
        instructions, text = self.program.instructions, "FINISH must be the last instruction"
        places = [index for index, entry in enumerate(instructions[:-1]) if isinstance(entry, Finish)]
        origins = self.program.origins
        return [Finding(Severity.ERROR, place, text, FindingKind.TOKENS, origin=origins[place]) for place in places]

    def _on_the_whole(self) -> list[Finding]:
        instructions, whole = self.program.instructions, []
        finishes = any(isinstance(entry, Finish) for entry in instructions)
        if not finishes:
            text = "the program has no FINISH, so it never ends: put one after the last instruction"
            whole.append(Finding(Severity.ERROR, None, text, FindingKind.TOKENS))
        if self.flow.shortage is not None:
            deadlock = token_order(instructions).deadlock
            if deadlock is not None:
                heads = tuple(head.index for head in deadlock.heads)
                whole.append(Finding(Severity.ERROR, None, str(deadlock), FindingKind.TOKENS, heads))
            return whole
        left = [f"{count} in {queue.value}" for queue, count in self.flow.leftover.items() if count]
        if left:
            text = f"tokens are left over at {'FINISH' if finishes else 'the end'}: {', '.join(left)}"
            whole.append(Finding(Severity.NOTE, None, text, FindingKind.TOKENS))
        return whole


def follow_uops(instruction: Instruction, program: Program, uops: KnownUops) -> None:
    """Tell ``uops`` what an instruction that is in bounds does to micro-ops, on chip or in DRAM."""
    match instruction:
        case Load(memory=MemoryId.UOP) if instruction.x_size:
            uops.load(instruction)
        case Store() if instruction.x_size and instruction.y_size:
            uops.store(*dram_hull(instruction, program.config.out_elem_bytes))
        case Load() | Store() | Gemm() | Alu() | Finish():
            pass
        case _:
            assert_never(instruction)
