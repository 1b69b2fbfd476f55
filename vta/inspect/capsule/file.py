"""The file of a capsule: a ZIP archive with ``capsule.json`` and a program file for each launch.

``capsule.json``: ``format`` (1), ``name``, ``machine`` (device, hardware, latency, stall_seed), ``versions`` and
``outcomes`` (kind, message, cycles, digest). ``launch-N.vtab`` is launch N as ``isa.program_file`` writes it, with the
memory from before the launch. Tests: tests/vta/inspect/capsule/test_capsule.py.
"""

import io
import json
import os
import zipfile
from collections.abc import Mapping
from dataclasses import asdict
from types import NoneType
from typing import Any

from isa.errors import VTAError
from isa.limits import DEFAULT_LIMITS, JSON_COST, Budget, LimitError, Limits, read_file
from isa.printable import in_one_line, short
from isa.program import Program, ProgramError
from isa.program_file import program_from_bytes, program_to_bytes
from isa.whole_file import write_whole
from vta.inspect.capsule.model import Capsule, CapsuleError, DeviceSpec, Outcome

__all__ = ["MAGIC", "capsule_to_bytes", "load_capsule", "save_capsule"]

MAGIC = b"PK\x03\x04"
"""What the file begins with."""

_FORMAT = 1
_HEAD = "capsule.json"
_COMPRESSIONS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_MOST_RATIO = 1032
"""Bytes that one compressed byte stands for at most, as the compression is made."""

_PIECE = 1 << 20
_SHOWN = 8
_DATE = (1980, 1, 1, 0, 0, 0)  # equal capsules are equal files

_Kinds = Mapping[str, type | tuple[type, ...]]
_PARTS: _Kinds = {"format": int, "machine": dict, "name": str, "outcomes": list, "versions": dict}
_MACHINE: _Kinds = {"device": str, "hardware": dict, "latency": (int, NoneType), "stall_seed": (int, NoneType)}
_OUTCOME: _Kinds = {"cycles": (int, NoneType), "digest": str, "kind": str, "message": str}


class _DamageError(VTAError):
    """What is wrong with the contents of a file."""


def save_capsule(capsule: Capsule, path: str | os.PathLike[str]) -> None:
    """Write ``capsule`` to ``path``: the old file, if any, stays whole until the new one is."""
    write_whole(path, capsule_to_bytes(capsule))


def capsule_to_bytes(capsule: Capsule) -> bytes:
    """Return the contents of the file; equal capsules have equal ones."""
    head = {
        "format": _FORMAT,
        "name": capsule.name,
        "machine": asdict(capsule.spec),
        "versions": dict(capsule.versions),
        "outcomes": [asdict(outcome) for outcome in capsule.outcomes],
    }
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(_entry(_HEAD), json.dumps(head, indent=1, sort_keys=True))
        for number, program in enumerate(capsule.programs):
            archive.writestr(_entry(_launch(number)), program_to_bytes(program))
    return packed.getvalue()


def load_capsule(path: str | os.PathLike[str], *, limits: Limits = DEFAULT_LIMITS) -> Capsule:
    """Return the capsule in ``path``; ``CapsuleError`` begins with the path, and ``OSError`` is the system's."""
    where = os.fspath(path)
    try:
        data = read_file(path, limits)
    except LimitError as error:
        raise CapsuleError(str(error)) from None
    budget = limits.budget(len(data))
    try:
        return _capsule(_entries(data, budget), where, budget)
    except LimitError as error:
        raise CapsuleError(f"{where}: {error}") from None
    except (_DamageError, ProgramError) as damage:
        raise CapsuleError(f"{where}: this is no capsule, or a damaged one: {damage}") from None


def _entries(data: bytes, budget: Budget) -> dict[str, bytes]:
    """Return what the archive holds, by name; every byte of it has been checked."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            entries = archive.infolist()
            odd = [entry.filename for entry in entries if entry.compress_type not in _COMPRESSIONS]
            if odd:
                raise _DamageError(f"{in_one_line(odd[0])} is compressed in a way that capsules are not")
            large = [entry.filename for entry in entries if entry.file_size > _MOST_RATIO * len(data)]
            if large:
                raise _DamageError(
                    f"{in_one_line(large[0])} is said to be larger than anything that is compressed can be"
                )
            budget.spend(sum(entry.file_size for entry in entries), "what is compressed in it")
            return {entry.filename: _unpacked(archive, entry) for entry in entries}
    except (_DamageError, LimitError):
        raise
    except Exception as error:  # a damaged archive raises whatever zipfile, zlib or struct stumble upon
        raise _DamageError(in_one_line(str(error))) from None


def _unpacked(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
    """Return an entry, which is no longer than it says; asked for all at once, zipfile would decompress more."""
    pieces = []
    with archive.open(entry) as file:
        while piece := file.read(_PIECE):
            pieces.append(piece)
    return b"".join(pieces)


def _capsule(entries: Mapping[str, bytes], where: str, budget: Budget) -> Capsule:
    head = _head(entries, budget)
    if head.get("format") != _FORMAT:
        raise CapsuleError(
            f"{where}: the capsule has format {short(head.get('format'))}, and this version reads format {_FORMAT}; "
            "replay it with the version that wrote it, or pack it again"
        )
    checked = _fields(head, _PARTS, _HEAD)
    _entries_of(checked["versions"], str, "the versions")
    fields = _fields(checked["machine"], _MACHINE, "its machine")
    _entries_of(fields["hardware"], int, "the hardware")
    spec = DeviceSpec(**fields)
    outcomes = tuple(Outcome(**_fields(entry, _OUTCOME, "an outcome")) for entry in checked["outcomes"])
    programs = tuple(_program(entries, _launch(number), budget) for number in range(len(outcomes)))
    if not programs:
        raise CapsuleError(f"{where}: the capsule has no launch")
    if {_HEAD, *map(_launch, range(len(programs)))} != entries.keys():
        raise _DamageError(f"it has outcomes of {len(programs)} launches, and holds {_names_text(entries)}")
    return Capsule(spec, programs, outcomes, checked["versions"], checked["name"])


def _names_text(entries: Mapping[str, bytes]) -> str:
    """Return the names of what an archive holds, the first of many."""
    names = sorted(entries)
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(map(in_one_line, names[:_SHOWN])) + more


def _head(entries: Mapping[str, bytes], budget: Budget) -> Mapping[str, object]:
    text = _entry_of(entries, _HEAD)
    budget.spend(JSON_COST * len(text), _HEAD)
    try:
        head = json.loads(text)
    except (ValueError, RecursionError):
        raise _DamageError(f"{_HEAD} is not JSON") from None
    if not isinstance(head, dict):
        raise _DamageError(f"{_HEAD} is not a JSON object")
    return head


def _fields(found: object, kinds: _Kinds, what: str) -> dict[str, Any]:
    """Return the fields of a JSON object that must have these, of these kinds, and no others."""
    if not isinstance(found, dict) or found.keys() != kinds.keys():
        raise _DamageError(f"{what} needs exactly {', '.join(kinds)}")
    for name, kind in kinds.items():
        if not isinstance(found[name], kind) or isinstance(found[name], bool):  # a truth counts as a number in Python
            raise _DamageError(f"{name!r} of {what} cannot be {short(found[name])}")
    return found


def _entries_of(found: Mapping[str, object], kind: type, what: str) -> None:
    """Raise ``_DamageError`` unless all that ``found`` holds is of ``kind``."""
    for name, value in found.items():
        if not isinstance(value, kind) or isinstance(value, bool):
            raise _DamageError(f"{name!r} of {what} cannot be {short(value)}")


def _program(entries: Mapping[str, bytes], name: str, budget: Budget) -> Program:
    return program_from_bytes(_entry_of(entries, name), where=name, budget=budget)


def _entry_of(entries: Mapping[str, bytes], name: str) -> bytes:
    if name not in entries:
        raise _DamageError(f"it holds no {name}")
    return entries[name]


def _launch(number: int) -> str:
    return f"launch-{number}.vtab"


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, _DATE)
    entry.compress_type = zipfile.ZIP_DEFLATED
    return entry
