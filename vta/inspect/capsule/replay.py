"""Running a capsule's launches on a fresh machine, and saying where the outcome differs.

Tests: tests/vta/inspect/capsule/test_capsule.py.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext

import numpy as np
import numpy.typing as npt

from isa.program import Program
from runtime.devices.device import DeviceError
from runtime.session import Session
from vta.inspect.capsule.model import FINISHED, Capsule, DeviceSpec, Outcome, memory_digest

__all__ = ["differences", "outcome_of", "replay", "run_launches"]


Inside = Callable[[Session], AbstractContextManager[object]]
"""Makes of a session what its launches run in: a recording, say."""


def run_launches(spec: DeviceSpec, programs: Sequence[Program], *, inside: Inside = nullcontext) -> list[Outcome]:
    """Run ``programs`` one after the other on a fresh machine, up to the first that fails; return how each ended."""
    session = spec.session(programs[-1].config)
    outcomes = []
    with inside(session):
        for program in programs:
            outcomes.append(_run(session, program))
            if outcomes[-1].failed:
                break
    return outcomes


def replay(capsule: Capsule, *, inside: Inside = nullcontext) -> list[str]:
    """Run a capsule again; return a sentence for each difference from its outcomes, none if it is the same."""
    return list(differences(capsule.outcomes, run_launches(capsule.spec, capsule.programs, inside=inside)))


def differences(expected: Sequence[Outcome], found: Sequence[Outcome]) -> Iterator[str]:
    """Yield a sentence for each difference."""
    for number, (before, now) in enumerate(zip(expected, found, strict=False)):
        place = f"launch {number}"
        if (before.kind, before.message) != (now.kind, now.message):
            yield f"{place}: expected {_ending(before)}, and now {_ending(now)}"
        if before.cycles != now.cycles:
            yield f"{place}: expected {before.cycles} cycles, and now {now.cycles}"
        if before.digest != now.digest:
            yield f"{place}: memory differs afterwards: expected digest {before.digest[:16]}, and now {now.digest[:16]}"
    if len(found) < len(expected):
        yield f"launch {len(found)} was not reached"


def outcome_of(digest: str, error: Exception | None, cycles: int | None) -> Outcome:
    """Return how a launch ended that left memory with ``digest``."""
    if error is None:
        return Outcome(FINISHED, "", cycles, digest)
    return Outcome(type(error).__name__, str(error), cycles, digest)


def _run(session: Session, program: Program) -> Outcome:
    before = session.device.stats.cycles
    error, digest = None, ""

    def at_end(memory: npt.NDArray[np.uint8]) -> None:
        nonlocal digest
        digest = memory_digest(program.memory, memory)

    try:
        session.run_program(program, at_end=at_end)
    except DeviceError as failure:
        error = failure
    after = session.device.stats.cycles
    return outcome_of(digest, error, None if before is None or after is None else after - before)


def _ending(outcome: Outcome) -> str:
    return f"{outcome.kind} ({outcome.message})" if outcome.failed else outcome.kind
