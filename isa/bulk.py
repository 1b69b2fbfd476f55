"""Words in bulk: numpy columns of field values, at about a microsecond per word.

The same layouts and rules as ``isa.encoding``, applied to whole columns; an illegal word is reported by the scalar
code, so that there is one set of messages. Tests: ``tests/isa/test_bulk.py``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from isa.config import VTAConfig
from isa.encoding import (
    INSTRUCTION_BYTES,
    OPCODE_MASK,
    DecodingError,
    EncodingError,
    decode,
    encode,
    encode_values,
    instruction_from_values,
    layout_name,
    value_getters,
    value_names,
)
from isa.instructions import Instruction, MemoryId, Module, Opcode
from isa.layout import Layout, instruction_layouts, uop_layout
from isa.legality import Condition, Rule, legality_rules

__all__ = [
    "FieldTable",
    "array_to_words",
    "broken",
    "decode_all",
    "decode_fields",
    "decode_legal",
    "decode_uop_fields",
    "encode_all",
    "encode_fields",
    "modules_of",
    "words_to_array",
]

WordArray = npt.NDArray[np.uint64]
Column = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class FieldTable:
    """All instructions of one layout: their places in the stream (``index``) and the values of each used field."""

    name: str
    index: Column
    columns: Mapping[str, Column]


def words_to_array(words: Sequence[int]) -> WordArray:
    """Return ``words`` (128 bits each) as uint64 of shape (n, 2): [bits 63:0, bits 127:64], as they lie in DRAM."""
    raw = b"".join([word.to_bytes(INSTRUCTION_BYTES, "little") for word in words])
    return np.frombuffer(raw, dtype="<u8").reshape(-1, 2).astype(np.uint64)


def array_to_words(array: WordArray) -> list[int]:
    """Return the 128-bit words of an array of shape (n, 2)."""
    return [low | high << 64 for low, high in array.tolist()]


def decode_fields(array: WordArray, config: VTAConfig) -> dict[str, FieldTable]:
    """Return a table for each layout that occurs in ``array`` of shape (n, 2).

    ``DecodingError`` names the place of the first illegal word and says why it is illegal.
    """
    opcodes = array[:, 0] & np.uint64(OPCODE_MASK)
    bad = opcodes > np.uint64(max(Opcode))
    tables = {}
    for name, layout in instruction_layouts(config).items():
        index = np.flatnonzero(opcodes == np.uint64(Opcode[name]))
        if index.size == 0:
            continue
        columns = _unpack(layout, array[index])
        for field in layout.fields:
            if field.unused:
                bad[index] |= columns.pop(field.name) != 0
        for rule in legality_rules(config)[name]:
            bad[index] |= broken(rule, columns)
        tables[name] = FieldTable(name, index, columns)
    if bad.any():
        place = int(np.argmax(bad))
        _refuse(array, place, config)
    return tables


def decode_legal(array: WordArray, config: VTAConfig) -> tuple[int, dict[str, FieldTable]]:
    """Return how many words of ``array`` come before the first illegal one, and the tables of these."""
    try:
        return len(array), decode_fields(array, config)
    except DecodingError:
        low, high = 0, len(array) - 1
    while low < high:  # the longest beginning that decodes
        middle = (low + high + 1) // 2
        try:
            decode_fields(array[:middle], config)
            low = middle
        except DecodingError:
            high = middle - 1
    return low, decode_fields(array[:low], config)


def modules_of(tables: Mapping[str, FieldTable], count: int) -> Column:
    """Return the ``Module`` that executes each of ``count`` decoded instructions."""
    modules = np.full(count, Module.COMPUTE, np.int64)
    for name, table in tables.items():
        if name == "STORE":
            modules[table.index] = Module.STORE
        elif name == "LOAD":
            memory = table.columns["memory"]
            modules[table.index[(memory == MemoryId.INP) | (memory == MemoryId.WGT)]] = Module.LOAD
    return modules


def _refuse(array: WordArray, place: int, config: VTAConfig) -> None:
    """Raise what the scalar decoder says about the word at ``place``."""
    [word] = array_to_words(array[place : place + 1])
    try:
        decode(word, config)
    except DecodingError as error:
        raise DecodingError(f"instruction {place}: {error}") from None
    raise AssertionError("bulk and scalar decoder judge every word alike")


def _unpack(layout: Layout, array: WordArray) -> dict[str, Column]:
    """Return a column for every field of words of one layout, unused fields included (as bit patterns)."""
    columns = {}
    for field, offset in zip(layout.fields, layout.offsets, strict=True):
        if field.width == 0:
            columns[field.name] = np.zeros(len(array), np.int64)
            continue
        half, shift = divmod(offset, 64)
        mask = np.uint64((1 << field.width) - 1)
        bits = ((array[:, half] >> np.uint64(shift)) & mask).astype(np.int64)
        if field.signed:
            bits -= (bits >> (field.width - 1)) << field.width
        columns[field.name] = bits
    return columns


def _condition(condition: Condition, columns: Mapping[str, Column]) -> Mask:
    column = columns[condition.field]
    hit = np.zeros(column.shape, np.bool_)
    for value in condition.values:
        hit |= column == value
    return ~hit if condition.negated else hit


def broken(rule: Rule, columns: Mapping[str, Column]) -> Mask:
    """Return where words with these columns break ``rule``."""
    first, *rest = (_condition(condition, columns) for condition in rule.conditions)
    for mask in rest:
        first = first & mask
    return first


def encode_fields(tables: Mapping[str, FieldTable], config: VTAConfig) -> WordArray:
    """Return the words, shape (n, 2), of tables whose indices together are 0 to n-1.

    ``EncodingError`` names the first instruction that is wrong, and its field or the rule that it breaks.
    """
    count = sum(table.index.size for table in tables.values())
    array = np.zeros((count, 2), np.uint64)
    bad = np.zeros(count, np.bool_)
    for name, table in tables.items():
        words, wrong = _pack(instruction_layouts(config)[name], table)
        for rule in legality_rules(config)[name]:
            wrong |= broken(rule, table.columns)
        array[table.index] = words
        bad[table.index] = wrong
    if bad.any():
        _refuse_values(tables, int(np.argmax(bad)), config)
    return array


def _pack(layout: Layout, table: FieldTable) -> tuple[WordArray, Mask]:
    """Return the words of one layout, and where a value does not fit its field."""
    count = table.index.size
    words = np.zeros((count, 2), np.uint64)
    wrong = np.zeros(count, np.bool_)
    words[:, 0] = Opcode[layout.name]
    for field, offset in zip(layout.fields, layout.offsets, strict=True):
        if field.unused or field.name == "opcode":
            continue
        column = table.columns[field.name]
        wrong |= (column < field.low) | (column > field.high)
        if field.width:
            half, shift = divmod(offset, 64)
            bits = column.astype(np.uint64) & np.uint64((1 << field.width) - 1)
            words[:, half] |= bits << np.uint64(shift)
    return words, wrong


def _refuse_values(tables: Mapping[str, FieldTable], place: int, config: VTAConfig) -> None:
    """Raise what the scalar encoder says about the instruction at ``place``."""
    for name, table in tables.items():
        for at in np.flatnonzero(table.index == place):
            values = {key: int(column[at]) for key, column in table.columns.items()}
            try:
                encode_values(name, values, config)
            except EncodingError as error:
                raise EncodingError(f"instruction {place}: {error}") from None
    raise AssertionError("bulk and scalar encoder judge every instruction alike")


def encode_all(instructions: Sequence[Instruction], config: VTAConfig) -> WordArray:
    """Return the words of ``instructions``, shape (n, 2); errors as in ``encode_fields``."""
    places: dict[str, list[int]] = {}
    rows: dict[str, list[tuple[int, ...]]] = {}
    getters = value_getters(config)
    for place, instruction in enumerate(instructions):
        name = layout_name(instruction)
        if name == "GEMM" and not config.depthwise_taps and instruction.depthwise:  # type: ignore[union-attr]  # a Gemm
            return _encode_one_by_one(instructions, config)
        if name == "ALU" and not config.fused_alu and instruction.fused:  # type: ignore[union-attr]  # an Alu
            return _encode_one_by_one(instructions, config)
        places.setdefault(name, []).append(place)
        rows.setdefault(name, []).append(getters[name](instruction))
    tables = {}
    for name, index in places.items():
        values = np.array(rows[name])
        if values.dtype.kind not in "bi":  # something other than whole numbers of up to 63 bits
            return _encode_one_by_one(instructions, config)
        columns = dict(zip(value_names(name, config), values.T.astype(np.int64), strict=True))
        tables[name] = FieldTable(name, np.array(index, np.int64), columns)
    return encode_fields(tables, config)


def _encode_one_by_one(instructions: Sequence[Instruction], config: VTAConfig) -> WordArray:
    words = []
    for place, instruction in enumerate(instructions):
        try:
            words.append(encode(instruction, config))
        except EncodingError as error:
            raise EncodingError(f"instruction {place}: {error}") from None
    return words_to_array(words)


def decode_all(array: WordArray, config: VTAConfig) -> list[Instruction]:
    """Return the instructions in ``array``, shape (n, 2); errors as in ``decode_fields``."""
    found: list[tuple[int, Instruction]] = []
    for name, table in decode_fields(array, config).items():
        names = tuple(table.columns)
        rows = zip(*(column.tolist() for column in table.columns.values()), strict=True)
        found.extend(
            (place, instruction_from_values(name, dict(zip(names, row, strict=True))))
            for place, row in zip(table.index.tolist(), rows, strict=True)
        )
    found.sort(key=lambda entry: entry[0])
    return [instruction for _, instruction in found]


def decode_uop_fields(words: npt.NDArray[np.uint32], config: VTAConfig) -> dict[str, Column]:
    """Return the columns ``dst``, ``src`` and ``wgt`` of micro-op words; unused bits are not looked at."""
    layout = uop_layout(config)
    values = words.astype(np.int64)
    return {
        field.name: (values >> offset) & ((1 << field.width) - 1)
        for field, offset in zip(layout.fields, layout.offsets, strict=True)
        if not field.unused
    }
