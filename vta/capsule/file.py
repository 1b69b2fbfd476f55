"""The file of a capsule: a ZIP archive with ``capsule.json`` and a program file a launch.

``capsule.json``: ``format`` (1), ``name``, ``machine`` (device, hardware, latency, stall_seed), ``versions`` and
``outcomes`` (kind, message, cycles, digest). ``launch-N.vtab`` is launch N as ``isa.program_file`` writes it, with the
memory from before the launch. Tests: tests/vta/capsule/test_capsule.py.
"""

import io
import json
import os
import zipfile
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from isa.program import Program, ProgramError
from isa.program_file import program_from_bytes, program_to_bytes
from isa.whole_file import write_whole
from vta.capsule.model import Capsule, Machine, Outcome

__all__ = ["MAGIC", "CapsuleError", "load_capsule", "save_capsule"]

MAGIC = b"PK\x03\x04"
"""What the file begins with."""

_FORMAT = 1
_HEAD = "capsule.json"
_DATE = (1980, 1, 1, 0, 0, 0)  # equal capsules are equal files


class CapsuleError(ValueError):
    """A file that is no capsule, or one that is damaged."""


def save_capsule(capsule: Capsule, path: str | os.PathLike[str]) -> None:
    """Write ``capsule`` to ``path``: the old file, if any, stays whole until the new one is."""
    head = {
        "format": _FORMAT,
        "name": capsule.name,
        "machine": asdict(capsule.machine),
        "versions": dict(capsule.versions),
        "outcomes": [asdict(outcome) for outcome in capsule.outcomes],
    }
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(_entry(_HEAD), json.dumps(head, indent=1, sort_keys=True))
        for number, program in enumerate(capsule.programs):
            archive.writestr(_entry(_launch(number)), program_to_bytes(program))
    write_whole(path, packed.getvalue())


def load_capsule(path: str | os.PathLike[str]) -> Capsule:
    """Return the capsule in ``path``; ``CapsuleError`` begins with the path."""
    where = os.fspath(path)
    try:
        with zipfile.ZipFile(path) as archive:
            head = json.loads(archive.read(_HEAD))
            if head["format"] != _FORMAT:
                raise CapsuleError(f"{where}: format {head['format']}; this program reads format {_FORMAT}")
            return _capsule(head, archive, where)
    except (zipfile.BadZipFile, KeyError, TypeError, json.JSONDecodeError, ProgramError, EOFError) as error:
        raise CapsuleError(f"{where}: this is no capsule, or a damaged one: {error}") from None


def _capsule(head: Mapping[str, Any], archive: zipfile.ZipFile, where: str) -> Capsule:
    outcomes = tuple(Outcome(**outcome) for outcome in head["outcomes"])
    programs: list[Program] = []
    for number in range(len(outcomes)):
        name = _launch(number)
        programs.append(program_from_bytes(archive.read(name), where=name))
    if not programs:
        raise CapsuleError(f"{where}: the capsule has no launch")
    return Capsule(Machine(**head["machine"]), tuple(programs), outcomes, head["versions"], head["name"])


def _launch(number: int) -> str:
    return f"launch-{number}.vtab"


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, _DATE)
    entry.compress_type = zipfile.ZIP_DEFLATED
    return entry
