"""The lines of an assembly file sorted by what they describe: configuration, DRAM, micro-ops, instructions.

Used by ``isa.text.assembler``. Tests: ``tests/isa/text/test_assembly.py``.
"""

import re
from dataclasses import dataclass, field

from isa.text.data import LineError, RegionHeader, parse_header, parse_number
from isa.text.line import suggestion
from isa.text.syntax import MNEMONICS

__all__ = ["Cursor", "Region", "Sections", "split_sections", "without_comment"]

_DIRECTIVES = (".config", ".data", ".output", ".uop", ".text")
_CODE = re.compile(r'(?:[^";#]|"(?:[^"\\]|\\.)*")*')
_TEXT_KEYS = ("TARGET", "HW_VER")

NumberedLine = tuple[int, str]


@dataclass(slots=True)
class Cursor:
    """The line that is being looked at, for messages; 0 where there is none."""

    line: int = 0


@dataclass(frozen=True, slots=True)
class Region:
    """A ``.data`` or ``.output`` directive; ``words`` are the contents, ``nbytes`` the size once it is known.

    ``content`` are the bytes of a region whose contents lie in a file.
    """

    line: int
    header: RegionHeader
    words: list[str]
    nbytes: int = 0
    content: bytes | None = None


@dataclass(slots=True)
class Sections:
    """What a file says, unchecked. ``uop_base`` is ``None`` without an address, ``has_uops`` False without ``.uop``."""

    config: dict[str, object] = field(default_factory=dict)
    config_line: int = 0
    data: list[Region] = field(default_factory=list)
    outputs: list[Region] = field(default_factory=list)
    has_uops: bool = False
    uop_base: int | None = None
    uops: list[NumberedLine] = field(default_factory=list)
    instructions: list[NumberedLine] = field(default_factory=list)


def split_sections(text: str, cursor: Cursor) -> Sections:
    """Sort the lines of ``text``; ``LineError`` at ``cursor`` for a directive that is not understood.

    Instructions keep everything that follows them (origin, comment); other lines lose their comment.
    """
    sections = Sections()
    current = ".text"
    for cursor.line, line in enumerate(text.split("\n"), 1):
        stripped = line.strip()
        if not stripped or stripped[0] in ";#":
            continue
        if stripped[0] == ".":
            current = _directive(sections, without_comment(stripped), cursor.line)
        elif current == ".text":
            sections.instructions.append((cursor.line, stripped))
        elif current == ".uop":
            sections.uops.append((cursor.line, without_comment(stripped)))
        else:
            words = without_comment(stripped).replace(",", " ").split()
            if words and words[0] in MNEMONICS:
                raise LineError(f"{words[0]} is an instruction, write .text before the first one")
            sections.data[-1].words.extend(words)
    return sections


def without_comment(text: str) -> str:
    """Return ``text`` up to the first ``;`` or ``#`` that is not in quotes."""
    if ";" not in text and "#" not in text:
        return text
    match = _CODE.match(text)
    assert match is not None
    return match.group().rstrip()


def _directive(sections: Sections, text: str, line: int) -> str:
    """Take in a directive; return the section that the following lines belong to."""
    name, *tail = text.split(None, 1)
    rest = " ".join(tail)
    match name:
        case ".config":
            _config(sections, rest.split(), line)
            return ".text"
        case ".data":
            header = parse_header(rest, name)
            words = " ".join(header.rest).replace(",", " ").split()
            sections.data.append(Region(line, header, words))
            return ".data"
        case ".output":
            header = parse_header(rest, name)
            if header.rest:
                raise LineError(f"expected nothing after the keys of .output, not {header.rest[0]!r}")
            sections.outputs.append(Region(line, header, []))
            return ".text"
        case ".uop":
            _uop_base(sections, rest.split())
            return ".uop"
        case ".text":
            if rest.strip():
                raise LineError(f"expected nothing after .text, not {rest.strip()!r}")
            return ".text"
        case _:
            raise LineError(f"unknown directive {name!r}; {suggestion(name, _DIRECTIVES)}")


def _config(sections: Sections, words: list[str], line: int) -> None:
    sections.config_line = sections.config_line or line
    for word in words:
        key, equals, value = word.partition("=")
        if not equals:
            raise LineError(f"expected KEY=VALUE, as in .config LOG_BLOCK=5, not {word!r}")
        if key in sections.config:
            raise LineError(f"{key} is given twice")
        sections.config[key] = value if key in _TEXT_KEYS else parse_number(value)


def _uop_base(sections: Sections, words: list[str]) -> None:
    sections.has_uops = True
    if not words:
        return
    key, _, value = words[0].partition("=")
    if key != "address" or len(words) > 1:
        raise LineError(f"expected .uop or .uop address=A, not {' '.join(words)!r}")
    if sections.uop_base is not None:
        raise LineError("the address of the micro-ops is given twice")
    sections.uop_base = parse_number(value)
