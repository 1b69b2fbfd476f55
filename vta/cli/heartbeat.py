"""A sign of life from launches that take long, on stderr.

Tests: tests/vta/cli/test_heartbeat.py.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.status import Status

from runtime.observe.heartbeat import Heartbeat
from runtime.session import Session

__all__ = ["LaunchProgress", "heartbeat"]

_PATIENCE = 2.0
"""Seconds that a launch may take in silence."""

_LINE_EVERY = 10.0
"""Seconds between two lines where they stay: in a file, in a log."""


class LaunchProgress:
    """Says how far a launch has come: in a line that changes on a terminal, in a new line every ten seconds elsewhere.

    ``clock`` gives seconds.
    """

    def __init__(self, console: Console, clock: Callable[[], float] = time.monotonic) -> None:
        self._console = console
        self._clock = clock
        self._launch = 0
        self._began: float | None = None
        self._said = 0.0
        self._status: Status | None = None

    def __call__(self, beat: Heartbeat | None) -> None:
        """Take a heartbeat; None ends the launch, and the changing line with it."""
        if beat is None:
            self.close()
            self._launch += 1
            return
        now = self._clock()
        if self._began is None:
            self._began = self._said = now
        if now - self._began >= _PATIENCE:
            self._say(beat, now, now - self._began)

    def close(self) -> None:
        """Take the changing line off the terminal."""
        if self._status is not None:
            self._status.stop()
        self._status = self._began = None

    def _say(self, beat: Heartbeat, now: float, elapsed: float) -> None:
        cycles = "" if beat.cycles is None else f"{beat.cycles:,} cycles, "
        text = f"launch {self._launch}: {cycles}{beat.started:,} of {beat.count:,} instructions, {elapsed:.0f} s"
        if not self._console.is_terminal:
            if now - self._said >= _LINE_EVERY:
                self._console.print(text)
                self._said = now
        elif self._status is None:
            self._status = Status(text, console=self._console)
            self._status.start()
        else:
            self._status.update(text)


@contextmanager
def heartbeat(session: Session) -> Iterator[None]:
    """Show how far the launches inside have come, if they take long."""
    device = session.device
    progress = LaunchProgress(Console(stderr=True, highlight=False, soft_wrap=True))
    device.set_heartbeat(progress)
    try:
        yield
    finally:
        device.set_heartbeat(None)
        progress.close()
