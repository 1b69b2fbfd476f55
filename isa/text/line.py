"""One line of assembly: an instruction or a micro-op, in words that are parsed once and remembered.

Used by ``isa.text.assembler``. Tests: ``tests/isa/text/test_assembly.py``.
"""

import difflib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from isa.config import VTAConfig
from isa.encoding import encode_uop, instruction_from_values
from isa.instructions import Instruction, MemoryId, MicroOp
from isa.layout import Field, Layout, instruction_layouts, uop_layout
from isa.origin import Origin
from isa.text.data import LineError, parse_number
from isa.text.syntax import MNEMONICS, UOP_OPERANDS, Mnemonic, TextOperand

__all__ = ["LineParser", "suggestion"]

_LABEL_EXPRESSION = re.compile(r"([A-Za-z_][\w.]*)(?:([+-])(.+))?", re.ASCII)

_REMEMBERED = 4096
"""Words of a mnemonic that are remembered; more would cost the garbage collector more than they save."""

Pairs = tuple[tuple[str, int], ...]


def suggestion(word: str, known: Iterable[str]) -> str:
    """Return ``did you mean ...?`` (whatever the case of the letters) or the list of what is known."""
    names = {name.lower(): name for name in known}
    close = difflib.get_close_matches(word.lower(), names, n=1)
    return f"did you mean {names[close[0]]!r}?" if close else f"expected one of {', '.join(names.values())}"


@dataclass(frozen=True, slots=True)
class _Slot:
    """An operand with the names and ranges of its fields in one layout."""

    operand: TextOperand
    fields: tuple[Field, ...]
    ranges: tuple[tuple[str, int, int], ...]

    @classmethod
    def of(cls, operand: TextOperand, layout: Layout) -> "_Slot":
        """Return the slot of ``operand`` in words of ``layout``."""
        fields = tuple(layout.field(name) for name in operand.fields)
        return cls(operand, fields, tuple((field.name, field.low, field.high) for field in fields))

    def parse(self, text: str) -> Pairs:
        """Return the fields that ``text`` gives: one number each, in the range that its field holds."""
        parts = text.split(self.operand.separator) if len(self.fields) > 1 else [text]
        if len(parts) != len(self.fields):
            raise LineError(f"expected {_form(self.operand)}, not {self.operand.name}={text}")
        return self.pairs([parse_number(part) for part in parts])

    def pairs(self, numbers: Sequence[int]) -> Pairs:
        """Return field names with values, refusing a value that its field does not hold."""
        found = list(self.operand.implies)
        for (name, low, high), number in zip(self.ranges, numbers, strict=True):
            if not low <= number <= high:
                refusal = next(field for field in self.fields if field.name == name).refusal(number)
                raise LineError(f"{refusal}; {self.operand.name}= takes {low} to {high}")
            found.append((name, number))
        return tuple(found)


class LineParser:
    """Parses lines for one configuration; ``labels`` are byte addresses, ``None`` where a name has two meanings.

    All methods raise ``LineError`` (without a place).
    """

    def __init__(self, config: VTAConfig, labels: Mapping[str, int | None]) -> None:
        self._config = config
        self._labels = labels
        self._words: dict[str, dict[str, Pairs]] = {name: {} for name in MNEMONICS}
        self._required = {name: [o for o in m.operands if o.required] for name, m in MNEMONICS.items()}
        layouts = instruction_layouts(config)
        self._slots = {
            name: {operand.name: _Slot.of(operand, layouts[m.layout]) for operand in m.operands}
            for name, m in MNEMONICS.items()
        }
        self._uop_slots = {operand.name: _Slot.of(operand, uop_layout(config)) for operand in UOP_OPERANDS}
        self._defaults = {name: {**m.defaults, **m.fixed} for name, m in MNEMONICS.items()}
        self._origins: dict[str, Origin] = {}

    def instruction(self, words: Sequence[str]) -> Instruction:
        """Return the instruction in the words of a line; ranges are checked, legality is not."""
        name = words[0]
        if name not in MNEMONICS:
            raise LineError(f"unknown instruction {name!r}; {suggestion(name, MNEMONICS)}")
        mnemonic, known = MNEMONICS[name], self._words[name]
        pairs: list[tuple[str, int]] = []
        for word in words[1:]:
            found = known.get(word)
            if found is None:
                found = self._parse_word(mnemonic, word)
                if len(known) < _REMEMBERED:
                    known[word] = found
            pairs += found
        given = dict(pairs)
        if len(given) < len(pairs):
            raise LineError(f"{_repeated(pairs)!r} is given twice")
        for operand in self._required[name]:
            if operand.fields[0] not in given:
                raise LineError(f"{name} needs {_form(operand)} ({operand.doc})")
        values = {**self._defaults[name], **given}
        if mnemonic.memory is not None and "x_stride" not in given:
            values["x_stride"] = values["x_size"]
        return instruction_from_values(mnemonic.layout, values)

    def _parse_word(self, mnemonic: Mnemonic, word: str) -> Pairs:
        """Return the fields that ``NAME=V``, ``NAME=V,V`` or a flag sets."""
        name, equals, text = word.partition("=")
        slot = self._slots[mnemonic.name].get(name)
        if slot is None or not equals:
            return _without_value(mnemonic, word)
        if name == "dram":
            assert mnemonic.memory is not None
            return slot.pairs([self._dram(text, mnemonic.memory)])
        return slot.parse(text)

    def _dram(self, text: str, memory: MemoryId) -> int:
        """Return the element that ``LABEL``, ``LABEL+N`` or a number stands for."""
        if text[:1].isdigit():
            return parse_number(text)
        match = _LABEL_EXPRESSION.fullmatch(text)
        if match is None:
            return parse_number(text)
        name, sign, offset = match.groups()
        if name not in self._labels:
            none = "no .data, .output or .uop of the program gives one"
            raise LineError(f"unknown label {name!r}; {suggestion(name, self._labels) if self._labels else none}")
        address = self._labels[name]
        if address is None:
            raise LineError(f"the label {name!r} has two meanings, write a number")
        elem_bytes = self._config.elem_bytes(memory)
        if address % elem_bytes:
            raise LineError(
                f"{name} at {address:#x} does not start at a multiple of {elem_bytes} bytes, "
                f"the size of an element of {memory.name}"
            )
        distance = parse_number(offset) if sign else 0
        return address // elem_bytes + (-distance if sign == "-" else distance)

    def uop(self, words: Sequence[str]) -> int:
        """Return the micro-op word in ``dst=D src=S wgt=W`` (each may be missing) or ``word=0x...``."""
        if len(words) == 1 and words[0].startswith("word="):
            value = parse_number(words[0].removeprefix("word="))
            if not 0 <= value < 1 << 32:
                raise LineError(f"a micro-op has 32 bits, not {value}")
            return value
        pairs: list[tuple[str, int]] = []
        for word in words:
            name, equals, text = word.partition("=")
            slot = self._uop_slots.get(name)
            if slot is None or not equals:
                raise LineError(f"expected dst=, src=, wgt= or word= of a micro-op, not {word!r}; is .text missing?")
            pairs += slot.parse(text)
        given = dict(pairs)
        if len(given) < len(pairs):
            raise LineError(f"{_repeated(pairs)!r} is given twice")
        return encode_uop(MicroOp(**given), self._config)

    def origin(self, text: str) -> Origin:
        """Return the origin written as ``"stage" "source" "call" "node"`` (all but the first may be missing)."""
        if text not in self._origins:
            self._origins[text] = _origin(text)
        return self._origins[text]


def _without_value(mnemonic: Mnemonic, word: str) -> Pairs:
    """Return the field of a flag; anything else is refused."""
    if word in mnemonic.flags:
        return ((word, 1),)
    name, equals, _ = word.partition("=")
    for operand in mnemonic.operands:
        if operand.name == name:
            raise LineError(f"expected {_form(operand)}, not {word!r}")
    known = (*(f"{operand.name}=" for operand in mnemonic.operands), *mnemonic.flags)
    raise LineError(f"{mnemonic.name} has no operand {name + equals!r}; {suggestion(name + equals, known)}")


def _form(operand: TextOperand) -> str:
    """Return how the operand is written."""
    return f"{operand.name}={operand.separator.join('N' for _ in operand.fields)}"


def _repeated(pairs: Sequence[tuple[str, int]]) -> str:
    seen = set()
    for name, _ in pairs:
        if name in seen:
            return name
        seen.add(name)
    raise AssertionError("a name occurs twice")


def _origin(text: str) -> Origin:
    parts: list[str] = []
    decoder, rest = json.JSONDecoder(), text.strip()
    try:
        while rest and len(parts) < 4:
            part, end = decoder.raw_decode(rest)
            parts.append(part)
            rest = rest[end:].strip()
    except json.JSONDecodeError:
        parts = []
    if rest or not parts or not all(isinstance(part, str) for part in parts):
        raise LineError('expected @ "stage" "source" (and perhaps "call" "node") after the instruction')
    return Origin(*parts)
