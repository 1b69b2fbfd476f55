"""From assembly that a person can write to a ``Program``.

The grammar is described in `docs/isa.md`, its tables are in ``isa.text.syntax``. Every ``AssemblyError`` begins with
``file.vta:12:``. Tests: ``tests/isa/text/test_assembly.py``, ``tests/isa/text/test_assembly_errors.py``.
"""

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from isa.bulk import encode_all
from isa.config import ConfigError, VTAConfig
from isa.encoding import EncodingError, encode
from isa.errors import VTAError
from isa.files.array_file import ArrayFileError
from isa.instructions import Instruction
from isa.limits import DEFAULT_LIMITS, Budget, LimitError, Limits, read_file
from isa.origin import Origin
from isa.printable import in_one_line
from isa.program import MemoryImage, MemorySegment, OutputRegion, Program, ProgramError
from isa.program_file import MAGIC, spend_on_running
from isa.text.data import LineError, contents, region_bytes
from isa.text.data_files import with_files
from isa.text.line import LineParser
from isa.text.sections import Cursor, Region, Sections, split_sections, without_comment
from isa.text.syntax import RESERVED_LABEL, is_label

__all__ = ["AssemblyError", "assemble", "assemble_bytes", "assemble_file", "parse_instruction"]

_PAGE = 4096

_COPIES = 3
"""Copies of a region with contents: while they are made, in the program, and in DRAM."""


class AssemblyError(VTAError, ValueError):
    """A line that is not assembly; the message has its place, what was expected and a hint."""


def assemble_file(
    path: str | os.PathLike[str], *, config: VTAConfig | None = None, limits: Limits = DEFAULT_LIMITS
) -> Program:
    """Assemble the file ``path``; ``config`` and ``limits`` as in ``assemble``."""
    where = os.fspath(path)
    try:
        data = read_file(where, limits)
    except OSError as error:
        raise AssemblyError(f"{where}: cannot be read: {error.strerror}") from None
    except LimitError as error:
        raise AssemblyError(str(error)) from None
    return assemble_bytes(data, name=where, config=config, limits=limits, folder=Path(path).parent)


def assemble_bytes(
    data: bytes,
    *,
    name: str,
    config: VTAConfig | None = None,
    limits: Limits = DEFAULT_LIMITS,
    folder: Path | None = None,
) -> Program:
    """Assemble the contents of a file called ``name``: UTF-8, with any line ends; the rest as in ``assemble``."""
    if data.startswith(MAGIC):
        raise AssemblyError(f"{name}: expected text, found a program that is assembled already")
    try:
        text = data.decode("utf-8-sig")  # some editors begin a file with a mark that means UTF-8
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise AssemblyError(
            f"{name}:{line}: expected text in UTF-8, found the byte 0x{data[error.start]:02x}; "
            "a program is text, or a file that `vta asm` wrote"
        ) from None
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    return assemble(lines, name=name, config=config, limits=limits, folder=folder)


def assemble(
    text: str,
    *,
    name: str = "assembly",
    config: VTAConfig | None = None,
    limits: Limits = DEFAULT_LIMITS,
    folder: Path | None = None,
) -> Program:
    """Return the program in ``text``; errors begin with ``name``.

    Contents that ``.data`` takes from files are looked for in ``folder`` and below it.

    ``config`` is the configuration to assemble for (the default one if it is missing); where the text has a
    ``.config`` of its own, the two must agree in everything that decides programs. A program that takes more memory
    than ``limits`` has for a text of this length is refused, also for what it takes when it is run.
    """
    cursor = Cursor()
    try:
        sections = split_sections(text, cursor)
        sections.data = with_files(sections.data, folder, limits, cursor)
        return _program(sections, config, cursor, limits.budget(len(text)))
    except (LineError, ProgramError, LimitError, ArrayFileError) as problem:
        place = f"{name}:{cursor.line}" if cursor.line else name
        raise AssemblyError(f"{place}: {problem}") from None


def parse_instruction(text: str, config: VTAConfig) -> Instruction:
    """Return the one instruction that ``text`` describes; ``AssemblyError`` if it is not exactly one."""
    program = assemble(text, name="instruction", config=config)
    if len(program.instructions) != 1:
        raise AssemblyError(f"expected one instruction, not {len(program.instructions)}")
    return program.instructions[0]


def _program(sections: Sections, config: VTAConfig | None, cursor: Cursor, budget: Budget) -> Program:
    config = _configuration(sections, config, cursor)
    uop_labels, uop_lines = _uop_labels(sections, cursor)
    data, outputs, uop_base = _placed(sections, len(uop_lines), cursor)
    labels = _labels(data, outputs)
    if sections.has_uops:
        _add_uop_labels(labels, uop_labels, uop_base, cursor)
    parser = LineParser(config, labels)
    uops = []
    for cursor.line, line in uop_lines:
        uops.append(parser.uop(line.split()))
    for region in data:
        cursor.line = region.line
        if region.content is None:  # files have limits of their own
            budget.spend(_COPIES * region.nbytes, in_one_line(region.header.name) or "the region")
    segments = tuple(_segment(region, cursor) for region in data)
    regions = tuple(_output(region, cursor) for region in outputs)
    instructions, origins = _instructions(parser, sections, cursor)
    _check_legality(config, instructions, sections, cursor)
    cursor.line = 0  # errors from here on belong to no line
    program = Program(
        config=config,
        instructions=tuple(instructions),
        uops=tuple(uops),
        uop_base=uop_base,
        memory=MemoryImage(segments=segments, outputs=regions),
        origins=tuple(origins),
    )
    spend_on_running(program, budget)
    return program


def _configuration(sections: Sections, wanted: VTAConfig | None, cursor: Cursor) -> VTAConfig:
    """Return the configuration of the text, or the one that is wanted."""
    if not sections.config_line:
        return VTAConfig() if wanted is None else wanted
    cursor.line = sections.config_line
    try:
        own = VTAConfig.from_dict({**VTAConfig().to_dict(), **sections.config}, where=".config")
    except ConfigError as error:
        raise LineError(str(error)) from None
    if wanted is None:
        return own
    if own.digest != wanted.digest:
        raise LineError(f"the text is for {own.bitstream}, not for {wanted.bitstream}")
    return wanted


def _uop_labels(sections: Sections, cursor: Cursor) -> tuple[dict[str, int], list[tuple[int, str]]]:
    """Return labels of micro-ops (as positions in the image), and the lines without them."""
    labels: dict[str, int] = {}
    lines: list[tuple[int, str]] = []
    for cursor.line, text in sections.uops:
        name, colon, rest = text.partition(":")
        name = name.strip()
        if colon:
            if not is_label(name):
                raise LineError(f"expected a label before the colon, not {name!r}")
            if name == RESERVED_LABEL:
                raise LineError(f"{name!r} is the label of the first micro-op already")
            if name in labels:
                raise LineError(f"the label {name!r} is given twice")
            labels[name] = len(lines)
        if rest.strip() or not colon:
            lines.append((cursor.line, rest if colon else text))
    return labels, lines


def _placed(sections: Sections, uop_count: int, cursor: Cursor) -> tuple[list[Region], list[Region], int]:
    """Return the regions with type, shape and address, and the address of the micro-ops.

    What has no address gets pages after everything that has one, in order of appearance, micro-ops last.
    """
    data = [_typed(region, {}, cursor) for region in sections.data]
    named: dict[str, Region] = {}
    for region in data:
        cursor.line = region.line
        if region.header.name in named:
            raise LineError(f"the name {region.header.name!r} is given to two regions")
        if region.header.name:
            named[region.header.name] = region
    outputs = [_typed(region, named, cursor) for region in sections.outputs]
    ends = [_PAGE]
    for region in (*data, *outputs):
        if region.header.address is not None:
            ends.append(region.header.address + region.nbytes)
    if sections.uop_base is not None:
        ends.append(sections.uop_base + 4 * uop_count)
    free = _next_page(max(ends))
    placed: list[Region] = []
    for region in (*data, *outputs):
        if region.header.address is None:
            own = next((r for r in placed if r.header.name and r.header.name == region.header.name), None)
            address = free if own is None else own.header.address
            region = replace(region, header=replace(region.header, address=address))
            free = free if own is not None else _next_page(free + region.nbytes)
        placed.append(region)
    uop_base = free if sections.has_uops else 0
    if sections.uop_base is not None:
        uop_base = sections.uop_base
    return placed[: len(data)], placed[len(data) :], uop_base


def _next_page(address: int) -> int:
    return -(-address // _PAGE) * _PAGE


def _typed(region: Region, named: dict[str, Region], cursor: Cursor) -> Region:
    """Return the region with type and shape, those of the data of the same name where it gives none."""
    cursor.line = region.line
    header = region.header
    own = named.get(header.name)
    if own is not None:
        header = replace(
            header,
            dtype=header.dtype if header.dtype is not None else own.header.dtype,
            shape=header.shape if header.shape is not None else own.header.shape,
        )
    if header.dtype is None or header.shape is None:
        raise LineError(f"{header.name or 'the region'} needs type= and shape=, as in type=int8 shape=4,16")
    return replace(region, header=header, nbytes=region_bytes(header.dtype, header.shape))


def _labels(data: Sequence[Region], outputs: Sequence[Region]) -> dict[str, int | None]:
    """Return the address of each name, ``None`` where data and output of one name lie apart."""
    labels: dict[str, int | None] = {}
    for region in (*data, *outputs):
        name, address = region.header.name, region.header.address
        if is_label(name):
            labels[name] = address if labels.get(name, address) == address else None
    return labels


def _add_uop_labels(labels: dict[str, int | None], uops: dict[str, int], base: int, cursor: Cursor) -> None:
    for name, position in {RESERVED_LABEL: 0, **uops}.items():
        if name in uops and name in labels:
            cursor.line = 0
            raise LineError(f"the label {name!r} is given to a micro-op and to a region")
        labels[name] = None if name in labels else base + 4 * position


def _segment(region: Region, cursor: Cursor) -> MemorySegment:
    cursor.line = region.line
    header = region.header
    assert header.address is not None
    assert header.dtype is not None
    assert header.shape is not None
    data = region.content
    if data is None:
        data = contents(region.words, header.dtype, header.shape)
    return MemorySegment(address=header.address, data=data, name=header.name, dtype=header.dtype, shape=header.shape)


def _output(region: Region, cursor: Cursor) -> OutputRegion:
    cursor.line = region.line
    header = region.header
    assert header.address is not None
    assert header.dtype is not None
    assert header.shape is not None
    return OutputRegion(name=header.name, address=header.address, dtype=header.dtype, shape=header.shape)


def _instructions(
    parser: LineParser, sections: Sections, cursor: Cursor
) -> tuple[list[Instruction], list[Origin | None]]:
    """Parse every instruction line: ``code``, ``code @ "stage" "source"``, each with a comment or without."""
    instructions: list[Instruction] = []
    origins: list[Origin | None] = []
    for cursor.line, line in sections.instructions:
        code, at, tail = line.partition("@")
        origin = None
        if ";" in code or "#" in code:
            code, at = without_comment(code), ""
        if at:
            origin = parser.origin(without_comment(tail))
        words = code.split()
        if not words:
            raise LineError("expected an instruction before @")
        instructions.append(parser.instruction(words))
        origins.append(origin)
    return instructions, origins


def _check_legality(config: VTAConfig, instructions: Sequence[Instruction], sections: Sections, cursor: Cursor) -> None:
    """Refuse the first instruction that no engine may be given."""
    try:
        encode_all(instructions, config)
    except EncodingError:
        for instruction, (cursor.line, _) in zip(instructions, sections.instructions, strict=True):
            try:
                encode(instruction, config)
            except EncodingError as error:
                raise LineError(str(error)) from None
        raise
