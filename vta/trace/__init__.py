"""Recording what a device did, in a file, and showing it. Tests: tests/vta/trace."""

from vta.trace.model import Recorded, TraceHeader
from vta.trace.reader import TraceError, TraceReader, read_trace
from vta.trace.recorder import RecordingError, recording
from vta.trace.writer import TraceWriter

__all__ = [
    "Recorded",
    "RecordingError",
    "TraceError",
    "TraceHeader",
    "TraceReader",
    "TraceWriter",
    "read_trace",
    "recording",
]
