"""LLVM code of what the clock's edge does: registers, synchronous reads, memory writes.

Registers go from ``%cur`` to ``%nxt``, so their order does not matter; memory rows are read before any is written.
Tests: ``tests/hw/sim/translate``, ``tests/hw/sim/test_random_designs.py``.
"""

from collections.abc import Iterator
from contextlib import nullcontext

from hw.sim.netlist import cells as n
from hw.sim.netlist.plan import WORD
from hw.sim.translate.choices import row_pointer
from hw.sim.translate.layout import Slot
from hw.sim.translate.text import Form, container, mask, slot_bytes
from hw.sim.translate.words import Words

__all__ = ["emit_read", "emit_register", "emit_write"]

ZERO = Form.ZERO


def emit_register(words: Words, index: int, cell: n.FlipFlop) -> None:
    """Write the next value of a flip-flop."""
    if cell.data:
        words.store("%nxt", words.layout.registers[index], cell.data)


def emit_read(words: Words, index: int, cell: n.SyncReadPort) -> None:
    """Take the row, as it will be where a transparent port writes it at this edge, or keep the old one.

    A wide row is branched around when it is not read: ``%nxt`` has the old one already.
    """
    fn, slot = words.fn, words.layout.registers[index]
    if not cell.width:
        return
    if not cell.transparent_for and cell.width > WORD:
        with nullcontext() if cell.en == 1 else fn.when(words.flag(cell.en)):
            row = row_pointer(words, words.layout.memories[cell.memory], cell.addr)
            _copy(words, fn.at("%nxt", slot.offset), row, cell.width)
        return
    row = row_pointer(words, words.layout.memories[cell.memory], cell.addr)
    old = fn.at("%cur", slot.offset)
    source = fn.op(f"select i1 {words.flag(cell.en)}, ptr {row}, ptr {old}")
    target = fn.at("%nxt", slot.offset)
    if not cell.transparent_for:
        _copy(words, target, source, cell.width)
        return
    hits = [_hit(words, cell, port) for port in cell.transparent_for]
    bits = WORD if cell.width > WORD else 8 * slot_bytes(cell.width)
    for low in range(0, cell.width, WORD):
        high = min(low + WORD, cell.width)
        name = fn.op(f"load i{bits}, ptr {fn.at(source, low // 8)}")
        for port, hit in hits:
            enabled = words.get(port.en[low:high], ZERO, bits)
            enabled = fn.op(f"select i1 {hit}, i{bits} {enabled}, i{bits} 0")
            name = _merge(words, bits, enabled, words.get(port.data[low:high], ZERO, bits), name)
        fn.do(f"store i{bits} {name}, ptr {fn.at(target, low // 8)}")


def _copy(words: Words, target: str, source: str, width: int) -> None:
    words.fn.do(f"call void @llvm.memcpy.p0.p0.i64(ptr {target}, ptr {source}, i64 {slot_bytes(width)}, i1 false)")


def _hit(words: Words, cell: n.SyncReadPort, number: int) -> tuple[n.WritePort, str]:
    """Return a write port and the i1 "the read port reads, and at this port's address"."""
    port = words.netlist.cells[number]
    assert isinstance(port, n.WritePort)
    width = len(cell.addr)
    assert len(port.addr) == width, "ports of one memory have as many bits of address"
    size = container(min(width, WORD))
    total = words.fn.op(f"xor i1 {words.flag(cell.en)}, 1")
    for low in range(0, width, WORD):
        sides = [words.get(addr[low : low + WORD], ZERO, size) for addr in (cell.addr, port.addr)]
        total = words.fn.op(f"or i1 {total}, {words.fn.op(f'icmp ne i{size} {sides[0]}, {sides[1]}')}")
    return port, words.fn.op(f"xor i1 {total}, 1")


def _merge(words: Words, bits: int, enabled: str, new: str, old: str) -> str:
    """Return ``old`` with the enabled bits of ``new``."""
    kept = words.fn.op(f"and i{bits} {old}, {words.fn.op(f'xor i{bits} {enabled}, -1')}")
    return words.fn.op(f"or i{bits} {words.fn.op(f'and i{bits} {new}, {enabled}')}, {kept}")


def emit_write(words: Words, cell: n.WritePort) -> None:
    """Write the enabled bits of a row, in a block that is skipped when there are none."""
    place = words.layout.memories[cell.memory]
    enables = tuple(net for net in dict.fromkeys(cell.en) if net != 0)
    if not enables or not place.depth:
        return
    fn = words.fn
    active = "0"
    for net in enables:
        active = words.flag(net) if active == "0" else fn.op(f"or i1 {active}, {words.flag(net)}")
    if mask(len(cell.addr)) >= place.depth:
        bits = max(len(cell.addr), WORD)
        addr = words.get(cell.addr, ZERO, WORD) if bits == WORD else words.wide(cell.addr, ZERO, bits)
        active = fn.op(f"and i1 {active}, {fn.op(f'icmp ult i{bits} {addr}, {place.depth}')}")
    with fn.when(active):
        row = row_pointer(words, place, cell.addr)
        for low in range(0, place.width, WORD):
            _write_word(words, cell, row, low, sole=len(enables) == 1)


def _write_word(words: Words, cell: n.WritePort, row: str, low: int, *, sole: bool) -> None:
    """Write up to 64 bits of a row; ``sole`` says that the port has one enable, which is known to be set."""
    high = min(low + WORD, len(cell.data))
    granules = list(_granules(cell.en, low, high))
    if len(granules) > 1 and not all(_is_aligned(start, end - start) for start, end in granules):
        _write_bits(words, cell, row, low, high)
        return
    for start, end in granules:
        enable, slot = cell.en[start], Slot(start // 8, end - start)
        if enable == 1 or (sole and enable):
            words.store(row, slot, cell.data[start:end])
        elif enable:
            with words.fn.when(words.flag(enable)):
                words.store(row, slot, cell.data[start:end])


def _is_aligned(start: int, width: int) -> bool:
    """Tell whether bits fill an integer at its natural alignment."""
    return width in (8, 16, 32, 64) and start % width == 0


def _write_bits(words: Words, cell: n.WritePort, row: str, low: int, high: int) -> None:
    """Write the enabled ones of up to 64 bits into the word that holds them."""
    fn = words.fn
    bits = WORD if len(cell.data) > WORD else 8 * slot_bytes(len(cell.data))
    where = fn.at(row, low // 8)
    old = fn.op(f"load i{bits}, ptr {where}")
    enabled = words.get(cell.en[low:high], ZERO, bits)
    name = _merge(words, bits, enabled, words.get(cell.data[low:high], ZERO, bits), old)
    fn.do(f"store i{bits} {name}, ptr {where}")


def _granules(enables: n.Value, low: int, high: int) -> Iterator[tuple[int, int]]:
    """Yield the runs of bits with one enable."""
    start = low
    for position in range(low + 1, high + 1):
        if position == high or enables[position] != enables[start]:
            yield start, position
            start = position
