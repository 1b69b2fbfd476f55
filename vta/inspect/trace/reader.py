"""Reading a trace: the header at once, launches one by one, whole even where the file was cut off.

Tests: tests/vta/inspect/trace/test_trace_file.py.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

import numpy.typing as npt

from isa.config import VTAConfig
from isa.errors import VTAError
from isa.limits import DEFAULT_LIMITS, Budget, LimitError, Limits
from isa.printable import short
from vta.inspect.trace.columns import unpack
from vta.inspect.trace.format import END, HEAD, LAUNCH, MAGIC, VERSION, read_record
from vta.inspect.trace.launch_record import Kinds, launch_from, require_hardware, require_kinds
from vta.inspect.trace.model import Recorded, TraceHeader

__all__ = ["TraceError", "TraceReader", "read_trace"]

_HEADER: Kinds = {"device": str, "config": dict, "hardware": dict, "program": str, "versions": dict}


class TraceError(VTAError, ValueError):
    """A file that is not a trace, or one that is damaged."""


class TraceReader:
    """A trace in an open binary file: ``header``, and the launches by iterating, once.

    Each launch may take the memory that ``limits`` has for a record of its size.
    ``launches`` says how many were read, and ``whole``, after the last one, whether the file ends as a finished
    recording does.
    """

    def __init__(self, file: IO[bytes], *, where: str = "trace", limits: Limits = DEFAULT_LIMITS) -> None:
        self._file = file
        self._where = where
        self._limits = limits
        self.whole = False
        self.launches = 0
        if file.read(len(MAGIC)) != MAGIC:
            raise TraceError(f"{where}: this is no trace; expected a file that `vta run --record` wrote")
        record = self._next()
        if record is None or record[0] != HEAD:
            raise TraceError(f"{where}: the trace has no header; it was cut off at the beginning")
        self.header = self._header(record[1])

    def __iter__(self) -> Iterator[Recorded]:
        while (record := self._next()) is not None:
            kind, payload = record
            if kind == END:
                self.whole = True
                return
            if kind != LAUNCH:
                raise TraceError(f"{self._where}: a second header")
            budget = self._limits.budget(len(payload), "record")
            head, columns = self._unpacked(payload, budget)
            try:
                launch = launch_from(head, columns, self.header, number=self.launches, budget=budget)
            except LimitError as error:
                raise TraceError(f"{self._where}: {error}") from None
            except ValueError as error:
                raise TraceError(f"{self._where}: a launch is damaged: {error}") from None
            self.launches += 1
            yield launch

    def _next(self) -> tuple[bytes, bytes] | None:
        at = self._file.tell() if self._file.seekable() else None
        try:
            return read_record(self._file)
        except ValueError as error:
            place = self._where if at is None else f"{self._where}: byte {at}"
            raise TraceError(f"{place}: {error}; the file is damaged") from None

    def _unpacked(self, payload: bytes, budget: Budget) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        try:
            return unpack(payload, budget)
        except LimitError as error:
            raise TraceError(f"{self._where}: {error}") from None
        except ValueError as error:
            raise TraceError(f"{self._where}: a record is damaged: {error}") from None

    def _header(self, payload: bytes) -> TraceHeader:
        head, _ = self._unpacked(payload, self._limits.budget(len(payload), "record"))
        if head.get("version") != VERSION:
            raise TraceError(
                f"{self._where}: version {short(head.get('version'))} of the format; this program reads version "
                f"{VERSION}, so record again or use the version that wrote it"
            )
        try:
            require_kinds(head, _HEADER)
            require_hardware(head["hardware"])
            require_kinds(head["versions"], dict.fromkeys(head["versions"], str))
            config = VTAConfig.from_dict(head["config"], where=self._where)
            return TraceHeader(head["device"], config, head["hardware"], head["program"], head["versions"])
        except ValueError as error:
            raise TraceError(f"{self._where}: the header is damaged: {error}") from None


@contextmanager
def read_trace(path: str | os.PathLike[str], *, limits: Limits = DEFAULT_LIMITS) -> Iterator[TraceReader]:
    """Open the trace in ``path``."""
    with open(path, "rb") as file:
        yield TraceReader(file, where=os.fspath(path), limits=limits)
