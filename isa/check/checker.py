"""What can be said about a program without running it: illegal words, bounds, tokens, deadlock, races, unwritten reads.

Micro-ops are followed through their loads, so that the indices of every loop are known exactly, as long as the
micro-ops come from the program's own memory. Tests: ``tests/isa/check/test_checker.py``,
``tests/isa/check/test_races.py``, ``tests/isa/check/test_checker_golden.py``.
"""

from collections.abc import Iterator

from isa.bounds import outside_text
from isa.bulk import encode_all
from isa.check.findings import Finding, FindingKind, Severity
from isa.check.walk import Walk, follow_uops
from isa.encoding import EncodingError, encode
from isa.footprint import Footprints
from isa.known_uops import KnownUops
from isa.program import Program
from isa.progress import counted

__all__ = ["Finding", "FindingKind", "Severity", "check", "is_valid"]


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
    walk = Walk(program, dram)
    for index in counted(range(len(program.instructions)), "checking"):
        walk.visit(index)
    return whole + walk.result()


def is_valid(program: Program, *, memory_bytes: int = 1 << 32) -> bool:
    """Return whether every engine gives what the reference gives when their scratchpads start with the same contents.

    That is so if no finding is an error, unwritten reads aside.
    """
    findings = check(program, memory_bytes=memory_bytes)
    return all(f.severity != Severity.ERROR or f.kind == FindingKind.UNWRITTEN for f in findings)


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
            text = outside_text(f"{name}: bytes {address:#x} to {end - 1:#x} are", address, end, dram)
            if text is not None:
                yield text


def _bounds_alone(program: Program, illegal: dict[int, str], dram: range) -> list[Finding]:
    """Return the illegal words, and what is out of bounds in the others: without the words nothing else is certain."""
    uops, footprints = KnownUops(program), Footprints(program.config, dram)
    findings = []
    for index, instruction in enumerate(program.instructions):
        origin = program.origins[index]
        if index in illegal:
            findings.append(Finding(Severity.ERROR, index, illegal[index], FindingKind.WORD, origin=origin))
            continue
        footprint = footprints.of(instruction, uops.read)
        for kind, message in footprint.problems:
            findings.append(Finding(Severity.ERROR, index, message, kind, origin=origin))
        if not footprint.problems:
            follow_uops(instruction, program, uops)
    return findings
