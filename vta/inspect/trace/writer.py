"""Writing a trace, a launch at a time: what was written stays readable if the process dies.

Tests: tests/vta/inspect/trace/test_trace_file.py.
"""

import contextlib
from collections.abc import Mapping
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from isa.origin import Origin
from runtime.observe.timeline import Timeline
from vta.inspect.trace.columns import pack
from vta.inspect.trace.format import END, HEAD, LAUNCH, MAGIC, VERSION, write_all, write_record
from vta.inspect.trace.model import TraceHeader

__all__ = ["TraceWriter"]

Column = npt.NDArray[Any]


class TraceWriter:
    """Writes to an open binary file; ``close`` marks the end, and leaves the file open.

    ``launches`` were written, whole. Where that is interrupted, or fails (``OSError``), the end is not marked: the file
    counts as cut off. What was written of a record when the disk was full is taken back, if ``file`` can do that.
    """

    def __init__(self, file: IO[bytes], header: TraceHeader) -> None:
        self._file = file
        self.launches = 0
        self._whole = True
        self._end: int | None = None  # of what is whole, in a file that can be cut
        write_all(file, MAGIC)
        head = {
            "version": VERSION,
            "device": header.device,
            "config": header.config.to_dict(),
            "hardware": dict(header.hardware),
            "program": header.program,
            "versions": dict(header.versions),
        }
        self._append(HEAD, pack(head, {}))

    def add(self, timeline: Timeline, uops: Mapping[int, npt.NDArray[np.uint32]]) -> None:
        """Append a launch and the micro-op words that its loads brought, by instruction."""
        table = list(dict.fromkeys(origin for origin in timeline.origins if origin is not None))
        places = {origin: at for at, origin in enumerate(table)}
        head: dict[str, object] = {
            "number": self.launches,
            "duration": timeline.duration,
            "error": timeline.error,
            "origins": [origin.texts() for origin in table],
            "clients": timeline.bursts.clients,
            "writers": sorted(timeline.bursts.writers),
            "account": None if timeline.account is None else {m: dict(c) for m, c in timeline.account.modules.items()},
            "modules": list(timeline.states),
            "causes": _causes(timeline),
            "uop_loads": {str(index): len(words) for index, words in uops.items()},
        }
        self._append(LAUNCH, pack(head, _columns(timeline, places, uops)))
        self.launches += 1

    def close(self) -> None:
        """Mark the end, if all before it is whole."""
        if not self._whole:
            return
        self._append(END, pack({"launches": self.launches}, {}))

    def _append(self, kind: bytes, payload: bytes) -> None:
        self._whole = False
        try:
            write_record(self._file, kind, payload)
        except OSError:
            if self._end is not None:
                with contextlib.suppress(OSError):
                    self._file.truncate(self._end)
            raise
        self._whole = True
        if self._file.seekable():
            self._end = self._file.tell()


def _causes(timeline: Timeline) -> list[str]:
    return list(dict.fromkeys(cause for states in timeline.states.values() for cause in states.causes))


def _columns(
    timeline: Timeline, origins: Mapping[Origin, int], uops: Mapping[int, npt.NDArray[np.uint32]]
) -> dict[str, Column]:
    bursts, causes = timeline.bursts, {cause: at for at, cause in enumerate(_causes(timeline))}
    columns: dict[str, Column] = {
        "words": timeline.array.reshape(-1),
        "origin": np.array([-1 if o is None else origins[o] for o in timeline.origins], np.int64),
        "begun": timeline.begun,
        "ended": timeline.ended,
        "burst.begin": bursts.begin,
        "burst.end": bursts.end,
        "burst.address": bursts.address,
        "burst.nbytes": bursts.nbytes,
        "burst.client": bursts.client,
        "uops": np.concatenate([np.zeros(0, np.uint32), *uops.values()]),
    }
    if timeline.issued is not None:
        columns["issued"] = timeline.issued
    if timeline.settled is not None:
        columns["settled"] = timeline.settled
    for module, states in timeline.states.items():
        columns[f"{module}.begins"] = states.begins
        columns[f"{module}.causes"] = np.array([causes[cause] for cause in states.causes], np.uint8)
    return columns
