"""Reading a trace: the header at once, launches one by one, whole even where the file was cut off.

Tests: tests/vta/inspect/trace/test_trace_file.py.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import NoneType
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from isa.config import ConfigError, VTAConfig
from isa.errors import VTAError
from isa.origin import Origin
from runtime.observe.accounting import CycleAccount
from runtime.observe.timeline import Bursts, States, Timeline
from vta.inspect.trace.columns import unpack
from vta.inspect.trace.format import END, HEAD, LAUNCH, MAGIC, VERSION, read_record
from vta.inspect.trace.model import Recorded, TraceHeader

__all__ = ["TraceError", "TraceReader", "read_trace"]

Columns = Mapping[str, npt.NDArray[Any]]

_Kinds = Mapping[str, type | tuple[type, ...]]
_HEADER: _Kinds = {"device": str, "config": dict, "hardware": dict, "program": str, "versions": dict}
_LAUNCH: _Kinds = {
    "number": int, "duration": int, "error": (str, NoneType), "account": (dict, NoneType), "uop_loads": dict,
    "origins": list, "clients": list, "writers": list, "modules": list, "causes": list,
}  # fmt: skip
_OF_BURSTS = ("burst.begin", "burst.end", "burst.address", "burst.nbytes", "burst.client")


class TraceError(VTAError, ValueError):
    """A file that is no trace, or one that is damaged."""


class TraceReader:
    """A trace in an open binary file: ``header``, and the launches by iterating, once.

    ``launches`` says how many were read, and ``whole``, after the last one, whether the file ends as a finished
    recording does.
    """

    def __init__(self, file: IO[bytes], *, where: str = "trace") -> None:
        self._file = file
        self._where = where
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
            head, columns = self._unpacked(payload)
            self.launches += 1
            try:
                launch = _launch(head, columns, self.header)
            except ValueError as error:
                raise TraceError(f"{self._where}: a launch is damaged: {error}") from None
            except (KeyError, TypeError, IndexError) as error:
                raise TraceError(f"{self._where}: a launch is damaged: {error!r}") from None
            yield launch

    def _next(self) -> tuple[bytes, bytes] | None:
        at = self._file.tell() if self._file.seekable() else None
        try:
            return read_record(self._file)
        except ValueError as error:
            place = self._where if at is None else f"{self._where}: byte {at}"
            raise TraceError(f"{place}: {error}; the file is damaged") from None

    def _unpacked(self, payload: bytes) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        try:
            return unpack(payload)
        except ValueError as error:
            raise TraceError(f"{self._where}: a record is damaged: {error}") from None

    def _header(self, payload: bytes) -> TraceHeader:
        head, _ = self._unpacked(payload)
        if head.get("version") != VERSION:
            raise TraceError(
                f"{self._where}: version {head.get('version')} of the format; this program reads version {VERSION}, "
                "so record again or use the version that wrote it"
            )
        try:
            _require_kinds(head, _HEADER)
            config = VTAConfig.from_dict(head["config"], where=self._where)
            return TraceHeader(head["device"], config, head["hardware"], head["program"], head["versions"])
        except (ValueError, TypeError, ConfigError) as error:
            raise TraceError(f"{self._where}: the header is damaged: {error}") from None


@contextmanager
def read_trace(path: str | os.PathLike[str]) -> Iterator[TraceReader]:
    """Open the trace in ``path``."""
    with open(path, "rb") as file:
        yield TraceReader(file, where=os.fspath(path))


def _launch(head: Mapping[str, Any], columns: Columns, header: TraceHeader) -> Recorded:
    _require_kinds(head, _LAUNCH)
    _require_lengths(head, columns)
    table = [Origin.of_texts(texts) for texts in head["origins"]]
    account = head["account"]
    timeline = Timeline(
        device=header.device,
        config=header.config,
        array=columns["words"].reshape(-1, 2),
        origins=tuple(None if at < 0 else table[at] for at in columns["origin"].tolist()),
        duration=head["duration"],
        begun=columns["begun"],
        ended=columns["ended"],
        issued=columns.get("issued"),
        settled=columns.get("settled"),
        states={module: _states(module, head["causes"], columns) for module in head["modules"]},
        bursts=Bursts(
            begin=columns["burst.begin"],
            end=columns["burst.end"],
            address=columns["burst.address"],
            nbytes=columns["burst.nbytes"],
            client=columns["burst.client"],
            clients=tuple(head["clients"]),
            writers=frozenset(head["writers"]),
        ),
        account=None if account is None else CycleAccount(account),
        error=head["error"],
    )
    sizes = {int(index): count for index, count in head["uop_loads"].items()}
    parts = np.split(columns["uops"], np.cumsum(list(sizes.values()))[:-1]) if sizes else []
    return Recorded(head["number"], timeline, dict(zip(sizes, parts, strict=True)))


def _require_kinds(head: Mapping[str, Any], kinds: _Kinds) -> None:
    for name, kind in kinds.items():
        if not isinstance(head.get(name), kind):
            raise ValueError(f"{name!r} cannot be {head.get(name)!r}")


def _require_lengths(head: Mapping[str, Any], columns: Columns) -> None:
    """Raise ``ValueError`` unless columns that belong together are of one length."""
    states = [[f"{module}.begins", f"{module}.causes"] for module in head["modules"]]
    optional = [name for name in ("issued", "settled") if name in columns]
    groups = [["origin", "begun", "ended", *optional], [*_OF_BURSTS], *states]
    for group in groups:
        lengths = {len(columns[name]) for name in group}
        if len(lengths) > 1:
            raise ValueError(f"{', '.join(group)} are of different lengths")
    if len(columns["words"]) != 2 * len(columns["begun"]):
        raise ValueError(f"{len(columns['words'])} halves of words for {len(columns['begun'])} instructions")


def _states(module: str, causes: list[str], columns: Columns) -> States:
    names = tuple(causes[at] for at in columns[f"{module}.causes"].tolist())
    return States(columns[f"{module}.begins"], names)
