"""What can be said about a program without running it: illegal words, bounds, tokens, deadlock, races, unwritten reads.

Micro-ops are followed through their loads, so that the indices of every loop are known exactly, as long as the
micro-ops come from the program's own memory. Imports ``isa.footprint``, ``isa.access_order``, ``isa.token_diagnosis``.
Tests: ``tests/isa/test_checker.py``, ``tests/isa/test_races.py``, ``tests/isa/test_checker_golden.py``.
"""

from collections.abc import Iterator, Sequence

from isa.access_order import NOBODY, AccessOrder
from isa.bulk import encode_all
from isa.encoding import EncodingError, encode
from isa.findings import Finding, Kind, Names, Severity
from isa.footprint import Footprints, dram_rows, outside_text
from isa.instructions import Finish, Instruction, Load, MemoryId, Module, Store
from isa.known_uops import KnownUops
from isa.program import Program
from isa.token_diagnosis import TokenDiagnosis
from isa.token_flow import TokenFlow, token_flow
from isa.tokens import token_order

__all__ = ["Finding", "Kind", "Severity", "check", "is_valid"]


def check(program: Program, *, memory_bytes: int = 1 << 32, first_address: int = 0) -> list[Finding]:
    """Return everything that is wrong with ``program``, in order of the instructions, then notes on the whole.

    The DRAM that it will run in has bytes ``first_address`` to ``memory_bytes - 1``. Of accesses that are out of order,
    one is reported for each instruction that the later one does not wait for.
    """
    illegal = dict(_illegal(program))
    dram = range(first_address, memory_bytes)
    whole = [Finding(Severity.ERROR, None, message) for message in _regions(program, dram)]
    if illegal:
        return whole + _bounds_alone(program, illegal, dram)
    walk = _Walk(program, dram)
    walk.run()
    tokens, notes = _tokens(program.instructions, walk)
    placed = [*walk.findings, *tokens]
    placed.sort(key=lambda finding: -1 if finding.index is None else finding.index)
    return [*whole, *placed, *notes]


def is_valid(program: Program, *, memory_bytes: int = 1 << 32) -> bool:
    """Return whether every engine gives what the reference gives, if their scratchpads hold the same at first.

    That is so if no finding is an error, unwritten reads aside.
    """
    findings = check(program, memory_bytes=memory_bytes)
    return all(f.severity != Severity.ERROR or f.kind == Kind.UNWRITTEN for f in findings)


def _illegal(program: Program) -> Iterator[tuple[int, str]]:
    """Return the place of every instruction that has no legal word, and why."""
    try:
        encode_all(program.instructions, program.config)
    except EncodingError:
        for index, instruction in enumerate(program.instructions):
            try:
                encode(instruction, program.config)
            except EncodingError as error:
                yield index, str(error)


def _regions(program: Program, dram: range) -> Iterator[str]:
    """Say which parts of the program's memory image lie where there is no memory."""
    regions = [(f"memory segment {s.name}".rstrip(), s.address, s.nbytes) for s in program.memory.segments]
    regions += [(f"output {o.name}".rstrip(), o.address, o.nbytes) for o in program.memory.outputs]
    regions.append(("micro-op image", program.uop_base, program.uop_bytes))
    for name, address, nbytes in regions:
        if nbytes:
            end = address + nbytes
            yield from outside_text(f"{name}: bytes {address:#x} to {end - 1:#x} are", address, end, dram)


def _bounds_alone(program: Program, illegal: dict[int, str], dram: range) -> list[Finding]:
    """Return the illegal words, and what is out of bounds in the others: without the words nothing else is certain."""
    uops, footprints = KnownUops(program), Footprints(program.config, dram)
    findings = []
    for index, instruction in enumerate(program.instructions):
        origin = program.origins[index]
        if index in illegal:
            findings.append(Finding(Severity.ERROR, index, illegal[index], Kind.WORD, origin=origin))
            continue
        footprint = footprints.of(instruction, uops.read)
        for kind, message in footprint.problems:
            findings.append(Finding(Severity.ERROR, index, message, kind, origin=origin))
        if not footprint.problems:
            _follow_uops(instruction, program, uops)
    return findings


def _follow_uops(instruction: Instruction, program: Program, uops: KnownUops) -> None:
    """Tell ``uops`` what an instruction that is in bounds does to micro-ops, on chip or in DRAM."""
    match instruction:
        case Load(memory=MemoryId.UOP) if instruction.x_size:
            uops.load(instruction)
        case Store() if instruction.x_size and instruction.y_size:
            rows = dram_rows(instruction, program.config.out_elem_bytes)
            uops.store(rows[0][0], max(row[1] for row in rows))


class _Walk:
    """Goes through a legal program in program order and collects findings on bounds, races and unwritten reads."""

    def __init__(self, program: Program, dram: range) -> None:
        self.program = program
        self.flow: TokenFlow = token_flow(program.instructions)
        self.accesses = AccessOrder(program)
        self.names = Names(program.instructions, program.origins)
        self.diagnosis = TokenDiagnosis(program.instructions, self.names, self.flow, self.accesses.needs)
        self.findings: list[Finding] = []
        self._uops = KnownUops(program)
        self._footprints = Footprints(program.config, dram)
        self._excused: dict[tuple[Module, Module], int] = {}

    def run(self) -> None:
        """Look at every instruction."""
        for index, instruction in enumerate(self.program.instructions):
            footprint = self._footprints.of(instruction, self._uops.read)
            for kind, message in footprint.problems:
                self._add(index, Severity.ERROR, kind, message)
            if not footprint.complete and not footprint.problems:
                text = "its micro-ops are not in the program's memory, so what it touches is not checked"
                self._add(index, Severity.NOTE, Kind.BOUNDS, text)
            if footprint.problems or not footprint.complete:
                self.accesses.skip(instruction, index)
                continue
            for kind, message in self.accesses.visit(index, instruction, footprint):
                self._add(index, Severity.ERROR, kind, f"{self.names.short(index)} {message}")
            if index < len(self.flow.clocks):
                self._races(index, instruction.module)
            _follow_uops(instruction, self.program, self._uops)

    def _races(self, index: int, module: Module) -> None:
        """Report what instruction ``index`` does not wait for, each rival instruction once."""
        clock, needs = self.flow.clocks[index], self.accesses.needs[index]
        for other in Module:
            needed = needs[other]
            if needed > clock[other] and needed > self._excused.get((module, other), NOBODY):
                self._excused[module, other] = needed
                self.findings.append(self.diagnosis.race(index, self.accesses.conflict(other)))

    def _add(self, index: int, severity: Severity, kind: Kind, message: str) -> None:
        self.findings.append(Finding(severity, index, message, kind, origin=self.program.origins[index]))


def _tokens(instructions: Sequence[Instruction], walk: _Walk) -> tuple[list[Finding], list[Finding]]:
    """Say what is wrong with FINISH and with the tokens: at instructions, and on the whole."""
    placed, whole = [], []
    finishes = [index for index, entry in enumerate(instructions) if isinstance(entry, Finish)]
    if not finishes:
        text = "the program has no FINISH, so it never ends"
        whole.append(Finding(Severity.ERROR, None, text, Kind.TOKENS))
    for index in finishes:
        if index != len(instructions) - 1:
            text = "FINISH must be the last instruction"
            placed.append(Finding(Severity.ERROR, index, text, Kind.TOKENS, origin=walk.program.origins[index]))
    if walk.flow.shortage is not None:
        placed.append(walk.diagnosis.shortage(walk.flow.shortage))
        deadlock = token_order(instructions).deadlock
        if deadlock is not None:
            heads = tuple(head.index for head in deadlock.heads)
            whole.append(Finding(Severity.ERROR, None, str(deadlock), Kind.TOKENS, heads))
        return placed, whole
    left = [f"{count} in {queue.value}" for queue, count in walk.flow.leftover.items() if count]
    if left:
        text = f"tokens are left over at FINISH: {', '.join(left)}"
        whole.append(Finding(Severity.NOTE, None, text, Kind.TOKENS))
    return placed, whole
