"""A launch in a trace, checked whole before anything looks at it: a stranger may have written the file.

Behind this, every column has its type and length, every index leads somewhere, and every time lies in the launch.
Tests: tests/vta/inspect/trace/test_damaged_traces.py.
"""

import re
from collections.abc import Iterable, Mapping
from types import NoneType
from typing import Any

import numpy as np
import numpy.typing as npt

from isa.limits import INSTRUCTION_COST, Budget
from isa.origin import Origin
from isa.printable import short
from runtime.observe.accounting import CycleAccount
from runtime.observe.timeline import NEVER, Bursts, States, Timeline
from vta.inspect.trace.model import Recorded, TraceHeader

__all__ = ["launch_from", "require_hardware", "require_kinds"]

Columns = Mapping[str, npt.NDArray[Any]]
Column = npt.NDArray[np.int64]
Kinds = Mapping[str, type | tuple[type, ...]]

_LAUNCH: Kinds = {
    "number": int, "duration": int, "error": (str, NoneType), "account": (dict, NoneType), "uop_loads": dict,
    "origins": list, "clients": list, "writers": list, "modules": list, "causes": list,
}  # fmt: skip
_OF_INSTRUCTIONS = ("origin", "begun", "ended")
_OF_BURSTS = ("burst.begin", "burst.end", "burst.address", "burst.nbytes", "burst.client")
_OPTIONAL = ("issued", "settled")

_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
"""Of a module, a cause or a client."""

_LONGEST = 1 << 62
"""Times and numbers of bytes are less, so that sums of two fit into 64 bits."""


def launch_from(
    head: Mapping[str, Any], columns: Columns, header: TraceHeader, *, number: int, budget: Budget
) -> Recorded:
    """Return launch ``number`` of a trace with this header; ``ValueError`` says what is wrong with it."""
    require_kinds(head, _LAUNCH)
    if head["number"] != number:
        raise ValueError(f"its number is {short(head['number'])}, and it is launch {number} of the file")
    duration = _whole(head["duration"], "the duration")
    begun = _column(columns, "begun", "int64")
    budget.spend(INSTRUCTION_COST * len(begun), f"launch {number} with {len(begun)} instructions")
    _require_lengths(columns, [*_OF_INSTRUCTIONS, *(name for name in _OPTIONAL if name in columns)])
    words = _column(columns, "words", "uint64")
    if len(words) != 2 * len(begun):
        raise ValueError(f"{len(words)} halves of words for {len(begun)} instructions")
    account = _account(head["account"])
    if account is not None and not duration:
        raise ValueError("it has an account of cycles, and lasted none")
    timeline = Timeline(
        device=header.device,
        config=header.config,
        array=words.reshape(-1, 2),
        origins=_origins(head["origins"], _column(columns, "origin", "int64")),
        duration=duration,
        begun=_times(columns, "begun", duration),
        ended=_times(columns, "ended", duration),
        issued=_times(columns, "issued", duration) if "issued" in columns else None,
        settled=_times(columns, "settled", duration) if "settled" in columns else None,
        states=_states(head, columns, duration),
        bursts=_bursts(head, columns),
        account=account,
        error=head["error"],
    )
    done = timeline.ended != NEVER
    if (done & ((begun == NEVER) | (timeline.ended < begun))).any():
        raise ValueError("an instruction completed before it began")
    return Recorded(number, timeline, _uop_loads(head["uop_loads"], _column(columns, "uops", "uint32"), len(begun)))


def require_kinds(head: Mapping[str, Any], kinds: Kinds) -> None:
    """Raise ``ValueError`` unless ``head`` has something of the right kind under each name."""
    for name, kind in kinds.items():
        if name not in head:
            raise ValueError(f"{name!r} is missing")
        if not isinstance(head[name], kind) or isinstance(head[name], bool):  # which counts as an int
            raise ValueError(f"{name!r} cannot be {short(head[name])}")


def require_hardware(hardware: Mapping[str, object]) -> None:
    """Raise ``ValueError`` unless the parameters of hardware, if there are any, are numbers that it can have."""
    for name, value in hardware.items():
        _whole(value, f"{short(name)} of the hardware")
    width = hardware.get("data_width", 8)
    if not isinstance(width, int) or not 8 <= width <= 1 << 16 or width % 8:
        raise ValueError(f"'data_width' of the hardware cannot be {short(width)}")
    if hardware.get("memory_latency", 1) == 0:
        raise ValueError("'memory_latency' of the hardware cannot be 0")


def _whole(value: object, what: str) -> int:
    """Return a number that is whole, not below zero, and not absurd."""
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < _LONGEST:
        raise ValueError(f"{what} cannot be {short(value)}")
    return value


def _names(values: Iterable[object], what: str) -> tuple[str, ...]:
    """Return names, each once."""
    found: dict[str, None] = {}
    for value in values:
        if not isinstance(value, str) or not _NAME.fullmatch(value) or value in found:
            raise ValueError(f"{what} cannot be called {short(value)}")
        found[value] = None
    return tuple(found)


def _column(columns: Columns, name: str, dtype: str) -> npt.NDArray[Any]:
    column = columns.get(name)
    if column is None:
        raise ValueError(f"it has no column {short(name)}")
    if column.dtype != dtype:
        raise ValueError(f"column {short(name)} is of {dtype}, not of {column.dtype}")
    return column


def _require_lengths(columns: Columns, names: Iterable[str]) -> None:
    """Raise ``ValueError`` unless columns of int64 that belong together are of one length."""
    listed = list(names)
    if len({len(_column(columns, name, "int64")) for name in listed}) > 1:
        raise ValueError(f"{', '.join(listed)} are of different lengths")


def _require_between(column: Column, low: int, high: int, what: str) -> None:
    wrong = (column < low) | (column > high)
    if wrong.any():
        raise ValueError(f"{what} is {low} to {high}, not {int(column[np.argmax(wrong)])}")


def _times(columns: Columns, name: str, duration: int) -> Column:
    times: Column = _column(columns, name, "int64")
    _require_between(times, NEVER, duration, f"{name!r}")
    return times


def _origins(entries: list[object], places: Column) -> tuple[Origin | None, ...]:
    table = [Origin.of_texts(texts if isinstance(texts, list) else ()) for texts in entries]
    _require_between(places, -1, len(table) - 1, "an origin")
    return tuple(None if at < 0 else table[at] for at in places.tolist())


def _states(head: Mapping[str, Any], columns: Columns, duration: int) -> dict[str, States]:
    causes = _names(head["causes"], "a cause")
    states = {}
    for module in _names(head["modules"], "a module"):
        begins = _column(columns, f"{module}.begins", "int64")
        at = _column(columns, f"{module}.causes", "uint8")
        if len(begins) != len(at):
            raise ValueError(f"{module}.begins, {module}.causes are of different lengths")
        _require_between(begins, 0, duration, f"'{module}.begins'")
        if (np.diff(begins) <= 0).any():
            raise ValueError(f"the states of {module} do not begin one after the other")
        _require_between(at, 0, len(causes) - 1, "a cause")
        states[module] = States(begins, tuple(causes[place] for place in at.tolist()))
    return states


def _bursts(head: Mapping[str, Any], columns: Columns) -> Bursts:
    _require_lengths(columns, _OF_BURSTS)
    clients = _names(head["clients"], "a client of the memory")
    begin, end, address, nbytes, client = (columns[name] for name in _OF_BURSTS)
    for name, low in (("begin", 0), ("end", NEVER), ("address", 0), ("nbytes", 0)):
        _require_between(columns[f"burst.{name}"], low, _LONGEST, f"'burst.{name}'")
    _require_between(client, 0, len(clients) - 1, "a client of the memory")
    if ((end != NEVER) & (end < begin)).any():
        raise ValueError("a burst ends before it begins")
    writers = frozenset(_names(head["writers"], "a client of the memory"))
    return Bursts(begin, end, address, nbytes, client, clients, writers)


def _account(entry: Mapping[str, object] | None) -> CycleAccount | None:
    if entry is None:
        return None
    modules: dict[str, dict[str, int]] = {}
    for module, causes in zip(_names(entry, "a module"), entry.values(), strict=True):
        if not isinstance(causes, dict):
            raise ValueError(f"the account of {module} cannot be {short(causes)}")
        cycles = [_whole(value, f"a number of cycles of {module}") for value in causes.values()]
        modules[module] = dict(zip(_names(causes, "a cause"), cycles, strict=True))
    if len({sum(causes.values()) for causes in modules.values()}) > 1:
        raise ValueError("its account has more cycles for one module than for another")
    return CycleAccount(modules)


def _uop_loads(
    entry: Mapping[str, object], words: npt.NDArray[np.uint32], count: int
) -> dict[int, npt.NDArray[np.uint32]]:
    """Return the micro-ops that each load brought, by the load's index."""
    sizes: dict[int, int] = {}
    for index, size in entry.items():
        place = int(index) if index.isascii() and index.isdecimal() and len(index) < 20 else -1  # JSON has texts here
        if not 0 <= place < count or place in sizes:
            raise ValueError(f"{short(index)} is no instruction that loads micro-ops")
        sizes[place] = _whole(size, "a number of micro-ops")
    if sum(sizes.values()) != len(words):
        raise ValueError(f"{len(words)} micro-ops for loads of {sum(sizes.values())}")
    parts = np.split(words, np.cumsum(list(sizes.values()))[:-1]) if sizes else []
    return dict(zip(sizes, parts, strict=True))
