"""Recording what a device did, in a file, and showing it. Tests: tests/vta/inspect/trace."""

from vta.inspect.trace.model import Recorded, TraceHeader
from vta.inspect.trace.reader import TraceError, TraceReader, read_trace
from vta.inspect.trace.recorder import RecordingError, recording
from vta.inspect.trace.writer import TraceWriter

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
