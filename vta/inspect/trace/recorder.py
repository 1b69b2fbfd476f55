"""Recording what a session's device does, launch by launch, in a file.

Tests: tests/vta/inspect/trace/test_recorder.py.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from importlib.metadata import version
from io import FileIO

from isa.errors import VTAError
from isa.whole_file import open_growing
from runtime.devices.device import Device
from runtime.observe.timeline import Timeline, TimelineHook
from runtime.session import Session
from vta.inspect.trace.model import TraceHeader, UopReader
from vta.inspect.trace.writer import TraceWriter

__all__ = ["RecordingError", "recording"]


class RecordingError(VTAError, RuntimeError):
    """The recording could not go on, while what it records did."""


@contextmanager
def recording(session: Session, path: str | os.PathLike[str], *, program: str = "") -> Iterator[None]:
    """Write a trace of every launch inside to ``path``; ``program`` is a name for the header.

    A launch that fails is in it too, up to its failure. The file is readable up to the last launch at any time. Where
    it cannot be written any more (a full disk), the launches go on without it, and ``RecordingError`` says so at the
    end; ``OSError`` where it cannot even be begun.
    """
    with open_growing(path) as file:
        recorder = _Recorder(session, file, os.fspath(path), program)
        recorder.outer = session.device.set_timeline(recorder.add)
        try:
            yield
        finally:
            session.device.set_timeline(recorder.outer)
            recorder.close()
    if recorder.failure is not None:
        raise recorder.failure


class _Recorder:
    """Adds one launch after the other, until one cannot be written."""

    def __init__(self, session: Session, file: FileIO, where: str, program: str) -> None:
        self.failure: RecordingError | None = None
        self.outer: TimelineHook | None = None
        self._session = session
        self._where = where
        self._uops = UopReader()
        self._writer = TraceWriter(file, _header(session, program))

    def add(self, timeline: Timeline) -> None:
        """Write a launch, if the one before it could be written, and tell whoever listened before."""
        if self.outer is not None:
            self.outer(timeline)
        if self.failure is None:
            with self._noted():
                self._writer.add(timeline, self._uops.read(timeline, self._session.memory.address_space()))

    def close(self) -> None:
        """Mark the end of the file, if it is whole."""
        with self._noted():
            self._writer.close()

    @contextmanager
    def _noted(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            kept = self._writer.launches
            self.failure = RecordingError(
                f"{self._where}: the recording stopped: {error.strerror}; the trace has {kept} whole "
                f"launch{'es' * (kept != 1)}, and what was recorded went on without it"
            )


def _header(session: Session, program: str) -> TraceHeader:
    return TraceHeader(
        device=session.device.name,
        config=session.config,
        hardware=_hardware(session.device),
        program=program,
        versions={"vta-toolchain": version("vta-toolchain")},
    )


def _hardware(device: Device) -> Mapping[str, object]:
    """Return what there is beyond the configuration: the parameters of the hardware and of the memory behind it."""
    setup = device.capabilities.setup
    return {} if setup is None else {**asdict(setup.hardware), "memory_latency": setup.latency}
