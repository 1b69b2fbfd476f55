"""``vta run --sanitize``: what the sanitizer finds in a program, or in each launch of a script.

Tests: tests/vta/cli/test_sanitize.py.
"""

from collections.abc import Sequence

from isa.check.findings import Finding
from isa.check.sanitizer import Sanitized, sanitize
from isa.program import Program
from runtime.memory.device_memory import FIRST_ADDRESS
from runtime.queue.launch import Launch
from runtime.session import Session
from vta.cli.commands.check import print_findings
from vta.cli.reporting import counted
from vta.cli.style import say

__all__ = ["LaunchSanitizer", "sanitized"]

_SHOWN = 20
"""How many findings are printed for a program or a launch."""


def sanitized(programs: Sequence[Program], name: str) -> list[tuple[Finding, ...]]:
    """Run programs with every check; print and return what was found in each."""
    found = []
    for number, program in enumerate(programs):
        result = sanitize(program, first_address=FIRST_ADDRESS)
        print_findings(result.findings, name if len(programs) == 1 else f"{name}, launch {number}", _SHOWN)
        found.append(result.findings)
    return found


class LaunchSanitizer:
    """Runs every launch of a script with every check, on a copy of its buffers, before the device does."""

    def __init__(self) -> None:
        self.errors = 0
        self.findings: list[tuple[int, Finding]] = []
        """Of all launches, each with its launch's number."""
        self._number = 0
        self._last: Sanitized | None = None

    def watch(self, launch: Launch, session: Session) -> None:
        """Print what is found in a launch, and count the errors."""
        before = self._last if session.goes_on else None
        self._last = sanitize(launch.program(session.memory), first_address=FIRST_ADDRESS, before=before)
        print_findings(self._last.findings, f"launch {self._number}", _SHOWN)
        self.errors += self._last.errors
        self.findings += [(self._number, finding) for finding in self._last.findings]
        self._number += 1

    def summary(self, name: str) -> None:
        """Say how much was looked at."""
        say(f"{name}: {counted(self._number, 'launch')} sanitized, {counted(self.errors, 'error')}")
