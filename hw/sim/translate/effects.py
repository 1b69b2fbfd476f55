"""LLVM code that records prints and broken properties, and the text that Python makes of a record.

A record in the ``aux`` region is: number of the effect, then its values, each in whole 64-bit words. Records of one
cycle follow one another; the run stops after a cycle that recorded any, so that Python can show them. Tests:
``tests/hw/sim/translate/test_effects.py``.
"""

from dataclasses import dataclass

from hw.sim.netlist import cells as n
from hw.sim.netlist.plan import WORD
from hw.sim.translate.layout import Slot
from hw.sim.translate.words import Words

__all__ = ["EVENT_BYTES", "STOP", "Argument", "Effect", "effect_of", "emit_effect", "message_text", "record_bytes"]

STOP, EVENT_BYTES = 8, 16
"""Offsets in ``aux``: not zero stops the run after this cycle; bytes of records so far."""

_KINDS = {"assert": "Assertion violated", "assume": "Assumption violated", "cover": "Coverage hit"}


@dataclass(frozen=True, slots=True)
class Argument:
    """A recorded value: its width, sign and Python format."""

    width: int
    signed: bool
    spec: str


@dataclass(frozen=True, slots=True)
class Effect:
    """What a record means: ``kind`` is print, assert, assume or cover."""

    kind: str
    where: str
    message: tuple[str | Argument, ...] | None


def effect_of(cell: n.Print | n.Property) -> Effect:
    """Return the effect of a cell."""
    kind = "print" if isinstance(cell, n.Print) else cell.kind
    if cell.message is None:
        return Effect(kind, cell.where, None)
    pieces = (p if isinstance(p, str) else Argument(len(p.value), p.signed, p.spec) for p in cell.message)
    return Effect(kind, cell.where, tuple(pieces))


def record_bytes(effect: Effect) -> int:
    """Return the bytes of a record."""
    return 8 + sum(8 * -(-item.width // WORD) for item in effect.message or () if isinstance(item, Argument))


def emit_effect(words: Words, cell: n.Print | n.Property, number: int, records: int) -> None:
    """Write the code that records effect ``number`` if it happens; records start at ``aux`` + ``records``."""
    fn = words.fn
    active = words.flag(cell.en)
    if isinstance(cell, n.Property):
        if cell.kind == "cover" and cell.message is None:
            return
        test = words.flag(cell.test)
        happens = test if cell.kind == "cover" else fn.op(f"xor i1 {test}, 1")
        active = fn.op(f"and i1 {active}, {happens}")
    fn.wake(active, {fn.number})
    with fn.seldom(active):
        used = fn.op(f"load i64, ptr {fn.at('%aux', EVENT_BYTES)}")
        record = fn.op(f"getelementptr i8, ptr {fn.at('%aux', records)}, i64 {used}")
        fn.do(f"store i64 {number}, ptr {record}")
        place = 8
        for piece in cell.message or ():
            if isinstance(piece, n.FormatPiece):
                for low in range(0, len(piece.value), WORD):
                    words.store(record, Slot(place, WORD), (*piece.value[low : low + WORD], *(0,) * WORD)[:WORD])
                    place += 8
        fn.do(f"store i64 {fn.op(f'add i64 {used}, {place}')}, ptr {fn.at('%aux', EVENT_BYTES)}")
        fn.do(f"store i64 1, ptr {fn.at('%aux', STOP)}")


def message_text(effect: Effect, values: bytes) -> str:
    """Return the text of a record from the bytes after its number."""
    text, place = "", 0
    for piece in effect.message or ():
        if isinstance(piece, str):
            text += piece
            continue
        size = 8 * -(-piece.width // WORD)
        number = int.from_bytes(values[place : place + size], "little")
        place += size
        if piece.signed and piece.width and number >> (piece.width - 1):
            number -= 1 << piece.width
        text += _formatted(number, piece.spec)
    if effect.kind == "print":
        return text
    head = f"{effect.where}: {_KINDS[effect.kind]}"
    return f"{head}: {text}" if effect.message is not None else head


def _formatted(number: int, spec: str) -> str:
    """Return a number as Amaranth shows it; a format ending in s shows the bytes as text."""
    if not spec.endswith("s"):
        return format(number, spec)
    data = number.to_bytes((number.bit_length() + 7) // 8, "little").replace(b"\0", b"")
    return format(data.decode("utf-8", "replace"), spec[:-1])
