"""How far launches have come, from the device's heartbeat to the line on the terminal (``vta.cli.progress``).

Tests: tests/vta/cli/test_heartbeat.py.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from isa.progress import tell, told
from runtime.observe.heartbeat import Heartbeat
from runtime.session import Session

__all__ = ["LaunchProgress", "heartbeat"]


class LaunchProgress:
    """Says how far each launch of a device has come; launches are numbered from 0."""

    def __init__(self) -> None:
        self._launch = 0

    def __call__(self, beat: Heartbeat | None) -> None:
        """Take a heartbeat; None ends the launch."""
        what = f"launch {self._launch}"
        if beat is None:
            told(what)
            self._launch += 1
            return
        note = "" if beat.cycles is None else f"{beat.cycles:,} cycles"
        tell(what, beat.started, beat.count, "instructions", note=note)


@contextmanager
def heartbeat(session: Session) -> Iterator[None]:
    """Say how far the launches inside have come, if they take long."""
    session.device.set_heartbeat(LaunchProgress())
    try:
        yield
    finally:
        session.device.set_heartbeat(None)
