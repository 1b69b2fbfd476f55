"""The file format of programs: versioned, checked, the same bytes for the same program.

A file is: magic ``VTAPROG`` and a newline (8 bytes), format version and header length (two little-endian uint32), the
header (JSON, sorted keys), the payload, and the SHA-256 of everything before it. The payload is: instruction words (16
bytes each), micro-op words (4 bytes each), an int32 for each instruction (its place in the header's table of origins,
or -1), and the bytes of every memory segment. Tests: ``tests/isa/test_program_file.py``,
``tests/isa/test_program_file_cost.py``.
"""

import hashlib
import json
import os
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from isa.bulk import decode_all
from isa.config import ConfigError, VTAConfig
from isa.encoding import INSTRUCTION_BYTES, DecodingError, EncodingError
from isa.extents import moved_elements, row_starts
from isa.instructions import Store
from isa.limits import DEFAULT_LIMITS, INSTRUCTION_COST, JSON_COST, Budget, LimitError, Limits, read_file
from isa.origin import Origin
from isa.printable import in_one_line, short
from isa.program import MemoryImage, MemorySegment, OutputRegion, Program, ProgramError
from isa.whole_file import write_whole

__all__ = [
    "MAGIC",
    "VERSION",
    "load_program",
    "program_from_bytes",
    "program_to_bytes",
    "save_program",
    "spend_on_running",
    "written_bytes",
]

MAGIC = b"VTAPROG\n"
VERSION = 1
_PREFIX = struct.Struct("<8sII")
_DIGEST_BYTES = 32

_PAGE = 4096

_COPIES_OF_OUTPUTS = 2
"""Copies of an output: what lies in DRAM, and what is read from there."""

_UOP_COST = 48
"""Bytes of memory for a micro-op, as a number and among others."""

_COPIES = 3
"""Copies of the memory image: the file's, the program's, and what lies in DRAM."""


def program_to_bytes(program: Program) -> bytes:
    """Return the contents of the file; ``ProgramError`` if an instruction is illegal."""
    try:
        words = program.words
    except EncodingError as error:
        raise ProgramError(f"a program file holds legal instructions only: {error}") from None
    table, indices = _origin_table(program.origins)
    header = {
        "config": program.config.to_dict(),
        "digest": program.config.digest,
        "instructions": len(program.instructions),
        "origins": [origin.texts() for origin in table],
        "outputs": [
            {"address": o.address, "dtype": o.dtype, "name": o.name, "shape": o.shape} for o in program.memory.outputs
        ],
        "segments": [
            {"address": s.address, "bytes": s.nbytes, "dtype": s.dtype, "name": s.name, "shape": s.shape}
            for s in program.memory.segments
        ],
        "uop_base": program.uop_base,
        "uops": len(program.uops),
    }
    text = json.dumps(header, sort_keys=True, separators=(",", ":")).encode()
    parts = [
        _PREFIX.pack(MAGIC, VERSION, len(text)),
        text,
        words.astype("<u8").tobytes(),
        np.array(program.uops, "<u4").tobytes(),
        np.array(indices, "<i4").tobytes(),
        *(segment.data for segment in program.memory.segments),
    ]
    body = b"".join(parts)
    return body + hashlib.sha256(body).digest()


def program_from_bytes(data: bytes, *, where: str = "program", budget: Budget | None = None) -> Program:
    """Return the program in ``data``; a ``ProgramError`` begins with ``where``.

    What the program takes of memory, also when it is run, is spent from ``budget``, by default that of a file of this
    size.
    """
    budget = budget or DEFAULT_LIMITS.budget(len(data))
    try:
        header, payload = _checked(data, budget)
        return _program(header, _Reader(payload), budget)
    except (ProgramError, ConfigError, DecodingError, LimitError) as error:
        raise ProgramError(f"{where}: {error}") from None


def save_program(program: Program, path: str | os.PathLike[str]) -> None:
    """Write ``program`` to ``path``: the old file, if any, stays whole until the new one is.

    A link stays a link, and anything but a regular file (a pipe, a device) is written to, not replaced.
    """
    data = program_to_bytes(program)
    where = os.fspath(path)
    try:
        write_whole(where, data)
    except OSError as error:
        raise ProgramError(f"{where}: cannot be written: {error.strerror}") from None


def load_program(path: str | os.PathLike[str], *, limits: Limits = DEFAULT_LIMITS) -> Program:
    """Read the program in the file ``path``; every problem is one ``ProgramError`` that names the file."""
    where = os.fspath(path)
    try:
        data = read_file(where, limits)
    except OSError as error:
        raise ProgramError(f"{where}: cannot be read: {error.strerror}") from None
    except LimitError as error:
        raise ProgramError(str(error)) from None
    return program_from_bytes(data, where=where, budget=limits.budget(len(data)))


def spend_on_running(program: Program, budget: Budget) -> None:
    """Spend what running ``program`` takes of memory; ``LimitError`` says for what there is not enough.

    Stores are looked at one by one only if the addresses that they may write to are more than is left.
    """
    for output in program.memory.outputs:
        budget.spend(_COPIES_OF_OUTPUTS * output.nbytes, f"output {in_one_line(output.name) or hex(output.address)}")
    if program.end > budget.left and any(True for _ in _stores(program)):
        budget.spend(written_bytes(program), "what the stores write, in pages of 4 KiB,")


def written_bytes(program: Program) -> int:
    """Return the bytes of all pages, each once, that the stores of a program can write to.

    A store of more elements than lie on the chip is refused before it writes anything, and so is a row behind the last
    address that the program names.
    """
    pages = -(-program.end // _PAGE)
    edges = np.zeros(pages + 1, np.int64)
    for store in _stores(program):
        unit = program.config.elem_bytes(store.memory)
        begins = np.array(row_starts(store), np.int64) * unit
        np.add.at(edges, np.minimum(begins // _PAGE, pages), 1)
        np.add.at(edges, np.minimum((begins + store.x_size * unit - 1) // _PAGE + 1, pages), -1)
    return int(np.count_nonzero(np.cumsum(edges)[:-1])) * _PAGE


def _stores(program: Program) -> Iterator[Store]:
    """Yield the stores that can write anything."""
    depth = program.config.out_depth
    for instruction in program.instructions:
        if isinstance(instruction, Store) and 0 < moved_elements(instruction) <= depth:
            yield instruction


def _origin_table(origins: Sequence[Origin | None]) -> tuple[list[Origin], list[int]]:
    """Return the distinct origins in order of appearance, and for each instruction its place among them, or -1."""
    table: dict[Origin, int] = {}
    indices = [-1 if origin is None else table.setdefault(origin, len(table)) for origin in origins]
    return list(table), indices


def _checked(data: bytes, budget: Budget) -> tuple[Mapping[str, object], bytes]:
    """Return header and payload of a file whose frame is intact."""
    if len(data) < len(MAGIC) or not data.startswith(MAGIC):
        raise ProgramError(f"not a VTA program file (it does not begin with {MAGIC.decode().strip()})")
    if len(data) < _PREFIX.size + _DIGEST_BYTES:
        raise ProgramError(f"the file is cut off after {len(data)} bytes")
    _, version, length = _PREFIX.unpack_from(data)
    if version != VERSION:
        raise ProgramError(f"the file has format version {version}, and this reader knows version {VERSION}")
    if hashlib.sha256(data[:-_DIGEST_BYTES]).digest() != data[-_DIGEST_BYTES:]:
        raise ProgramError("the file is cut off or damaged (its checksum does not match)")
    text = data[_PREFIX.size : _PREFIX.size + length]
    budget.spend(JSON_COST * len(text), "the header")
    try:
        header = json.loads(text)
    except (ValueError, RecursionError):
        raise ProgramError("the header is not JSON") from None
    if not isinstance(header, dict):
        raise ProgramError("the header is not a JSON object")
    return header, data[_PREFIX.size + length : -_DIGEST_BYTES]


@dataclass(slots=True)
class _Reader:
    """Takes the payload apart from front to back."""

    payload: bytes
    place: int = 0

    def take(self, nbytes: int, what: str) -> bytes:
        """Return the next ``nbytes``."""
        part = self.payload[self.place : self.place + nbytes]
        if len(part) < nbytes:
            raise ProgramError(f"the file ends inside its {what}")
        self.place += nbytes
        return part


def _program(header: Mapping[str, object], reader: _Reader, budget: Budget) -> Program:
    keys = _mapping(header, "config")
    config = VTAConfig.from_dict(keys, where="configuration")
    if header.get("digest") != config.digest:
        raise ProgramError(
            f"the configuration has digest {config.digest}, and the header says {short(header.get('digest'))}"
        )
    count, uop_count = _count(header, "instructions"), _count(header, "uops")
    words = np.frombuffer(reader.take(INSTRUCTION_BYTES * count, "instructions"), "<u8").reshape(-1, 2)
    uops = np.frombuffer(reader.take(4 * uop_count, "micro-ops"), "<u4")
    indices = np.frombuffer(reader.take(4 * count, "origins"), "<i4")
    budget.spend(INSTRUCTION_COST * count + _UOP_COST * uop_count, f"{count} instructions and {uop_count} micro-ops")
    segments = tuple(_segment(entry, reader) for entry in _list(header, "segments"))
    budget.spend(_COPIES * sum(segment.nbytes for segment in segments), "the memory image")
    if reader.place != len(reader.payload):
        raise ProgramError(f"the file has {len(reader.payload) - reader.place} bytes that belong to nothing")
    outputs = tuple(_output(entry) for entry in _list(header, "outputs"))
    program = Program(
        config=config,
        instructions=tuple(decode_all(words.astype(np.uint64), config)),
        uops=tuple(uops.tolist()),
        uop_base=_count(header, "uop_base"),
        memory=MemoryImage(segments=segments, outputs=outputs),
        origins=tuple(_origins(_list(header, "origins"), indices.tolist())),
    )
    spend_on_running(program, budget)
    return program


def _segment(entry: object, reader: _Reader) -> MemorySegment:
    if not isinstance(entry, dict):
        raise ProgramError("the header has a segment that is not an object")
    return MemorySegment(
        address=_count(entry, "address"),
        data=reader.take(_count(entry, "bytes"), "memory image"),
        name=_text(entry, "name"),
        dtype=_text(entry, "dtype"),
        shape=_shape(entry),
    )


def _output(entry: object) -> OutputRegion:
    if not isinstance(entry, dict):
        raise ProgramError("the header has an output that is not an object")
    return OutputRegion(
        name=_text(entry, "name"),
        address=_count(entry, "address"),
        dtype=_text(entry, "dtype"),
        shape=_shape(entry),
    )


def _origins(table: Sequence[object], indices: Sequence[int]) -> list[Origin | None]:
    """Return the origin of each instruction."""
    origins: list[Origin | None] = []
    for entry in table:
        try:
            origins.append(Origin.of_texts(entry if isinstance(entry, list) else ()))
        except ValueError:
            raise ProgramError("the header has an origin that is not two to four texts") from None
    if not all(-1 <= index < len(origins) for index in indices):
        raise ProgramError("an instruction has an origin that the header does not list")
    origins.append(None)  # what -1 stands for
    return [origins[index] for index in indices]


def _count(header: Mapping[str, object], key: str) -> int:
    value = header.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ProgramError(f"the header needs a number for {key!r}, not {short(value)}")
    return value


def _text(header: Mapping[str, object], key: str) -> str:
    value = header.get(key)
    if not isinstance(value, str):
        raise ProgramError(f"the header needs a text for {key!r}, not {short(value)}")
    return value


def _list(header: Mapping[str, object], key: str) -> list[object]:
    value = header.get(key)
    if not isinstance(value, list):
        raise ProgramError(f"the header needs a list for {key!r}, not {short(value)}")
    return value


def _mapping(header: Mapping[str, object], key: str) -> dict[str, object]:
    value = header.get(key)
    if not isinstance(value, dict):
        raise ProgramError(f"the header needs an object for {key!r}, not {short(value)}")
    return value


def _shape(header: Mapping[str, object]) -> tuple[int, ...]:
    extents = _list(header, "shape")
    return tuple(_count({"shape": extent}, "shape") for extent in extents)
