"""What a reduction keeps: a launch that fails as it did, or one whose result is not the reference interpreter's.

Tests: tests/vta/inspect/capsule/test_reduce.py.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from isa.check.checker import FindingKind, Severity, check
from isa.encoding import EncodingError
from isa.program import Program
from runtime.memory.device_memory import FIRST_ADDRESS
from vta.inspect.capsule.model import Capsule, DeviceSpec, Outcome
from vta.inspect.capsule.replay import run_launches

__all__ = ["Fails", "expected_outcomes", "fails_alike", "gives_wrong_result", "wrong_launch"]

Fails = Callable[[Program], bool]
"""Whether a program still shows the failure that is being reduced."""

_REFERENCE = DeviceSpec("reference")


def fails_alike(capsule: Capsule, earlier: Sequence[Program]) -> Fails:
    """Return the test of whether a program, after ``earlier`` ones, fails as the capsule's last launch did."""
    wanted = capsule.outcomes[-1].signature

    def fails(program: Program) -> bool:
        try:
            outcomes = run_launches(capsule.spec, (*earlier, program))
        except EncodingError:  # a smaller number can make an instruction illegal
            return False
        return len(outcomes) == len(earlier) + 1 and outcomes[-1].failed and outcomes[-1].signature == wanted

    return fails


def wrong_launch(spec: DeviceSpec, programs: Sequence[Program]) -> int | None:
    """Return the first launch after which memory is not what the reference interpreter has; None if there is none."""
    pairs = zip(run_launches(_REFERENCE, programs), run_launches(spec, programs), strict=False)
    return next((number for number, (right, found) in enumerate(pairs) if _wrong(right, found)), None)


def gives_wrong_result(spec: DeviceSpec, earlier: Sequence[Program], like: Program) -> Fails:
    """Return the test of whether a program, after ``earlier`` ones, finishes on ``spec`` with a wrong result.

    It must satisfy the checker as well as ``like`` does: an engine may do as it likes with a program that has a race.
    """
    accepted = _errors(like)

    def fails(program: Program) -> bool:
        try:
            if not _errors(program) <= accepted:
                return False
            return wrong_launch(spec, (*earlier, program)) == len(earlier)
        except EncodingError:  # a smaller number can make an instruction illegal
            return False

    return fails


def expected_outcomes(spec: DeviceSpec, programs: Sequence[Program]) -> tuple[Outcome, ...]:
    """Return how launches end on ``spec``, with the memory that the reference interpreter leaves."""
    pairs = zip(run_launches(_REFERENCE, programs), run_launches(spec, programs), strict=True)
    return tuple(replace(found, digest=right.digest) for right, found in pairs)


def _wrong(right: Outcome, found: Outcome) -> bool:
    return not right.failed and not found.failed and right.digest != found.digest


def _errors(program: Program) -> set[FindingKind]:
    findings = check(program, first_address=FIRST_ADDRESS)
    return {finding.kind for finding in findings if finding.severity is Severity.ERROR}
