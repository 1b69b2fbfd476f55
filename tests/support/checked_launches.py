"""Everything that a session launched, given to the checker."""

from isa.checker import Severity, check
from runtime.memory import FIRST_ADDRESS
from runtime.session import Session

__all__ = ["launch_errors"]


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
