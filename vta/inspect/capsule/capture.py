"""Taking a capsule of a running session: each launch with the memory that it found, and how it ended.

Tests: tests/vta/inspect/capsule/test_capsule.py.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version

import numpy as np
import numpy.typing as npt

from isa.program import MemoryImage, Program
from runtime.devices.device import DeviceError
from runtime.queue.launch import Launch
from runtime.session import Session
from vta.inspect.capsule.model import Capsule, DeviceSpec, Outcome, memory_digest
from vta.inspect.capsule.replay import outcome_of

__all__ = ["Capture"]


@dataclass(slots=True)
class _Taken:
    """A launch with the memory that it found, and how it ended, if that is known."""

    work: Launch | Program
    image: MemoryImage
    cycles_before: int | None
    outcome: Outcome | None = None

    def program(self) -> Program:
        return self.work.program_with(self.image) if isinstance(self.work, Launch) else self.work


class Capture:
    """Collects launches of a session: all of them with ``keep_all``, or else the last one, if it failed."""

    def __init__(self, session: Session, *, name: str = "", keep_all: bool = True) -> None:
        self._session = session
        self._name = name
        self._keep_all = keep_all
        self._taken: list[_Taken] = []

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Take every launch that goes through the session's launcher."""
        launcher = self._session.queue.launcher
        launcher.listeners.append(self._begin_launch)
        launcher.finishers.append(self._end_launch)
        try:
            yield
        finally:
            launcher.listeners.remove(self._begin_launch)
            launcher.finishers.remove(self._end_launch)

    def run_program(self, program: Program) -> dict[str, npt.NDArray[np.generic]]:
        """Run a program that brings its memory, and take it."""
        self._begin(program, program.memory)
        digest = ""

        def at_end(memory: npt.NDArray[np.uint8]) -> None:
            nonlocal digest
            digest = memory_digest(program.memory, memory)

        try:
            outputs = self._session.run_program(program, at_end=at_end)
        except DeviceError as error:
            self._note(digest, error)
            raise
        self._note(digest, None)
        return outputs

    def capsule(self) -> Capsule | None:
        """Return what was taken; None if nothing was launched."""
        done = [taken for taken in self._taken if taken.outcome is not None]
        if not done:
            return None
        return Capsule(
            spec=DeviceSpec.of(self._session.device),
            programs=tuple(taken.program() for taken in done),
            outcomes=tuple(taken.outcome for taken in done if taken.outcome is not None),
            versions={"vta-toolchain": version("vta-toolchain")},
            name=self._name,
        )

    def _begin_launch(self, launch: Launch) -> None:
        self._begin(launch, launch.image(self._session.memory))

    def _end_launch(self, error: Exception | None) -> None:
        if error is None and not self._keep_all:
            self._taken.clear()
            return
        if error is not None and not isinstance(error, DeviceError):
            return  # nothing that a device did, nor could do again
        self._note(memory_digest(self._taken[-1].image, self._session.memory.address_space()), error)

    def _begin(self, work: Launch | Program, image: MemoryImage) -> None:
        if not self._keep_all:
            self._taken.clear()
        self._taken.append(_Taken(work, image, self._session.device.stats.cycles))

    def _note(self, digest: str, error: Exception | None) -> None:
        taken, after = self._taken[-1], self._session.device.stats.cycles
        cycles = None if after is None or taken.cycles_before is None else after - taken.cycles_before
        taken.outcome = outcome_of(digest, error, cycles)
