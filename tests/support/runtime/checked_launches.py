"""Everything that a session launches, given to the checker and to the sanitizer."""

from collections.abc import Iterator
from contextlib import contextmanager

from isa.check.checker import Severity, check
from isa.check.sanitizer import Sanitized, sanitize
from runtime.memory.device_memory import FIRST_ADDRESS
from runtime.queue.launch import Launch
from runtime.session import Session

__all__ = ["checked_launches", "launch_errors"]


def launch_errors(session: Session) -> list[str]:
    """Return what the checker says is wrong with the launches of a session that records them."""
    launches = session.queue.launcher.launches
    assert launches, "the session records what it launches"
    return [
        f"launch {number}: {finding}"
        for number, launch in enumerate(launches)
        for finding in check(launch.program(session.memory), first_address=FIRST_ADDRESS)
        if finding.severity is Severity.ERROR
    ]


@contextmanager
def checked_launches(session: Session) -> Iterator[list[str]]:
    """Yield a list that gets what checker and sanitizer say is wrong with each launch inside, before it runs."""
    errors: list[str] = []
    launcher, last = session.queue.launcher, list[Sanitized]()

    def look(launch: Launch) -> None:
        program = launch.program(session.memory)
        before = last[-1] if last and session.goes_on else None
        last[:] = [sanitize(program, first_address=FIRST_ADDRESS, before=before)]
        findings = [*last[-1].findings]
        if before is None:  # the checker knows of no launch before
            findings += check(program, first_address=FIRST_ADDRESS)
        errors.extend(str(finding) for finding in findings if finding.severity is Severity.ERROR)

    launcher.listeners.append(look)
    try:
        yield errors
    finally:
        launcher.listeners.remove(look)
