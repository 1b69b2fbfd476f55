"""Values of the netlist as LLVM integers: fetched bit run by bit run, converted, cached, passed between functions.

A value of up to 64 bits is held in an integer of 1, 8, 16, 32 or 64 bits; a ``Form`` says what is above it. Keeping to
such types, and tracking forms, gives LLVM code that it vectorises well and compiles fast. Wider values are pieces.
Tests: ``tests/hw/sim/translate``, ``tests/hw/sim/test_random_designs.py``.
"""

from bisect import bisect_right
from dataclasses import dataclass, field

from hw.sim.netlist import cells as n
from hw.sim.netlist.plan import WORD, Plan
from hw.sim.translate.layout import Slot, StateLayout
from hw.sim.translate.text import Form, Function, container, mask, slot_bytes

__all__ = ["HeldValue", "Words"]

ZERO, SIGN, ANY = Form.ZERO, Form.SIGN, Form.ANY

_LANE = 8
"""Bits of the narrowest element of vectors."""

_FLAGS = 32
"""Single bits that share a word when they pass between functions."""


@dataclass(frozen=True, slots=True)
class HeldValue:
    """A value of ``width`` bits in the LLVM value ``name`` of type ``i<bits>``."""

    name: str
    bits: int
    width: int
    form: Form


@dataclass(slots=True)
class _Piece:
    """A piece of a cell's output, the function that made it, and (once another one needs it) where it passes."""

    held: HeldValue
    home: Function
    slot: Slot | None = None
    bit: int = 0
    readers: set[int] = field(default_factory=set)


class Words:
    """Fetches and stores values in the function that is being written (``fn``)."""

    def __init__(self, netlist: n.Netlist, plan: Plan, layout: StateLayout, fn: Function) -> None:
        self.netlist = netlist
        self.plan = plan
        self.layout = layout
        self.fn = fn
        self.assignments: dict[int, dict[int, list[n.Assignment]]] = {}
        self._pieces: dict[tuple[int, int], _Piece] = {}
        self._flag_words: dict[int, tuple[Slot, int]] = {}
        # An input of no bits begins where the next one does, and nothing is ever read from it.
        top = sorted((start, name) for name, (start, width) in netlist.top.inputs.items() if width)
        self._input_starts = [start for start, _ in top]
        self._input_slots = [layout.inputs[name] for _, name in top]

    # ---- results of cells

    def define(self, cell: int, start: int, held: HeldValue) -> None:
        """Note that ``held`` is the piece of a cell's output that starts at bit ``start``."""
        self._pieces[cell, start] = _Piece(held, self.fn)

    # ---- fetching

    def get(self, nets: n.Value, form: Form = ZERO, bits: int | None = None) -> str:
        """Return the LLVM value of up to 64 nets, in type ``i<bits>`` (at least their container) and ``form``."""
        size = bits or container(len(nets))
        key = (nets, form, size)
        return self.fn.cached(key) or self.fn.keep(key, self._fetch(nets, form, size))

    def flag(self, net: int) -> str:
        """Return the i1 of a net."""
        return self.get((net,), ZERO, 1)

    def wide(self, nets: n.Value, form: Form, bits: int) -> str:
        """Return the value of any number of nets as one integer of ``bits`` bits, extended as ``form`` says."""
        result = None
        for low in range(0, len(nets), WORD):
            word = nets[low : low + WORD]
            last = low + WORD >= len(nets)
            kind = "sext" if last and form is SIGN else "zext"
            part = self.get(word, form if last else ZERO, WORD)
            if bits > WORD:
                part = self.fn.op(f"{kind} i64 {part} to i{bits}")
            if low:
                part = self.fn.op(f"shl i{bits} {part}, {low}")
            result = part if result is None else self.fn.op(f"or i{bits} {result}, {part}")
        return result or "0"

    def _fetch(self, nets: n.Value, form: Form, bits: int) -> str:
        count = len(nets)
        if not count:
            return "0"
        top = nets[-1]
        base = count
        while base and nets[base - 1] == top:
            base -= 1
        if top == 0:
            return self.get(nets[:base], ZERO, bits) if base else "0"
        if top != 1 and base < count - 1:  # the same net over and over: sign extension
            if form is ZERO and count < bits:
                return self.fn.op(f"and i{bits} {self.get(nets[: base + 1], SIGN, bits)}, {mask(count)}")
            return self.get(nets[: base + 1], SIGN, bits)
        parts = list(n.segments(nets))
        if len(parts) == 1 and nets[0] > 1:
            return self.convert(self._run(nets[0] >> 16, nets[0] & 0xFFFF, count), form, bits)
        return self._concatenation(nets, parts, form, bits)

    def _concatenation(self, nets: n.Value, parts: list[tuple[int, int]], form: Form, bits: int) -> str:
        number, names = 0, []
        for start, end in parts:
            if nets[start] <= 1:
                number |= sum(net << place for place, net in enumerate(nets[start:end], start))
                continue
            name = self.get(nets[start:end], form if end == len(nets) else ZERO, bits)
            names.append(self.fn.op(f"shl i{bits} {name}, {start}") if start else name)
        if form is SIGN and nets[-1] == 1:
            number -= 1 << len(nets)
        if number or not names:
            names.append(str(number))
        result = names[0]
        for name in names[1:]:
            result = self.fn.op(f"or i{bits} {result}, {name}")
        return result

    def _run(self, cell: int, start: int, width: int) -> HeldValue:
        """Return ``width`` bits of a cell's output from bit ``start``."""
        if cell == 0:
            index = bisect_right(self._input_starts, start) - 1
            slot, low = self._input_slots[index], start - self._input_starts[index]
            if low + width <= slot.width:
                return self.load("%io", slot, low, width)
            return self._two_runs(cell, start, slot.width - low, width)
        if cell in self.layout.registers:
            return self.load("%cur", self.layout.registers[cell], start, width)
        starts = self.plan.cuts[cell]
        first = starts[bisect_right(starts, start) - 1]
        held = self._local(cell, first)
        low = start - first
        if low + width <= held.width:
            return self.slice(held, low, width)
        return self._two_runs(cell, start, held.width - low, width)

    def _two_runs(self, cell: int, start: int, split: int, width: int) -> HeldValue:
        """Return bits of a cell that lie in two places: the first ``split`` bits, and the others."""
        bits = container(width)
        low = self.convert(self._run(cell, start, split), ZERO, bits)
        rest = self._run(cell, start + split, width - split)
        form = rest.form
        high = self.fn.op(f"shl i{bits} {self.convert(rest, form, bits)}, {split}")
        return HeldValue(self.fn.op(f"or i{bits} {low}, {high}"), bits, width, form)

    def _local(self, cell: int, start: int) -> HeldValue:
        """Return a piece in the function that is being written; pass it there if another function made it."""
        piece = self._pieces[cell, start]
        if piece.home is self.fn:
            return piece.held
        if piece.slot is None:
            piece.slot, piece.bit = self._passage(piece)
        piece.readers.add(self.fn.number)
        return self.load("%io", piece.slot, piece.bit, piece.held.width)

    def _passage(self, piece: _Piece) -> tuple[Slot, int]:
        """Return where a piece passes to other functions; single bits of one function share words."""
        if piece.held.width > 1:
            return self.layout.io.take(piece.held.width), 0
        word, used = self._flag_words.get(piece.home.number, (None, _FLAGS))
        if word is None or used == _FLAGS:
            word, used = self.layout.io.take(_FLAGS), 0
        self._flag_words[piece.home.number] = (word, used + 1)
        return word, used

    def export(self) -> None:
        """Have each function store the pieces that later ones read, and wake those if a piece has changed."""
        changes: dict[tuple[int, frozenset[int]], tuple[Function, str]] = {}
        flags: dict[tuple[int, int], list[_Piece]] = {}
        for piece in self._pieces.values():
            if piece.slot is None:
                continue
            if piece.held.width == 1:
                flags.setdefault((piece.home.number, piece.slot.offset), []).append(piece)
                continue
            home = piece.home
            key = (home.number, frozenset(piece.readers))
            change = _export(home, piece.held, piece.slot)
            if key in changes:
                change = home.end_op(f"or i64 {change}, {changes[key][1]}")
            changes[key] = (home, change)
        for (_, readers), (home, change) in changes.items():
            home.wake(home.end_op(f"icmp ne i64 {change}, 0"), readers)
        for pieces in flags.values():
            _export_flags(pieces)

    # ---- conversions

    def slice(self, held: HeldValue, low: int, width: int) -> HeldValue:
        """Return ``width`` bits of a value from bit ``low``."""
        if low == 0 and width == held.width:
            return held
        name, form = held.name, ANY
        if low:
            name = self.fn.op(f"lshr i{held.bits} {name}, {low}")
            if low + width == held.bits or (low + width == held.width and held.form is ZERO):
                form = ZERO
        return HeldValue(name, held.bits, width, form)

    def convert(self, held: HeldValue, form: Form, bits: int) -> str:
        """Return a value in type ``i<bits>`` and ``form``; ``bits`` is at least its container."""
        name, have = held.name, held.form
        if held.bits > bits:
            name = self.fn.op(f"trunc i{held.bits} {name} to i{bits}")
        elif held.bits < bits:
            if held.width == held.bits and form is SIGN:
                return self.fn.op(f"sext i{held.bits} {name} to i{bits}")
            if have is SIGN and form is not ZERO:
                return self.fn.op(f"sext i{held.bits} {name} to i{bits}")
            name = self.fn.op(f"zext i{held.bits} {name} to i{bits}")
            have = ZERO if have is ZERO or held.width == held.bits else ANY
        if held.width == bits or form is ANY or form is have:
            return name
        if form is ZERO:
            return self.fn.op(f"and i{bits} {name}, {mask(held.width)}")
        shift = bits - held.width
        return self.fn.op(f"ashr i{bits} {self.fn.op(f'shl i{bits} {name}, {shift}')}, {shift}")

    # ---- memory

    def load(self, base: str, slot: Slot, low: int, width: int) -> HeldValue:
        """Return ``width`` bits of a slot in the region at ``base``, from bit ``low``."""
        if low % 8 == 0 and width in (8, 16, 32, 64):
            return HeldValue(self._load(base, slot.offset + low // 8, width), width, width, ZERO)
        if slot.width <= WORD:
            size = 8 * slot_bytes(slot.width)
            return self.slice(HeldValue(self._load(base, slot.offset, size), size, slot.width, ZERO), low, width)
        first, shift = divmod(low, WORD)
        end = min(WORD, slot.width - first * WORD)
        if shift + width <= WORD:
            word = self._load(base, slot.offset + 8 * first, WORD)
            return self.slice(HeldValue(word, WORD, end, ZERO), shift, width)
        if low % 8 + width <= WORD:
            word = self._load(base, slot.offset + low // 8, WORD)
            return self.slice(HeldValue(word, WORD, WORD, ZERO), low % 8, width)
        words = [self._load(base, slot.offset + 8 * index, WORD) for index in (first + 1, first)]
        joined = self.fn.op(f"call i64 @llvm.fshr.i64(i64 {words[0]}, i64 {words[1]}, i64 {shift})")
        return HeldValue(joined, WORD, width, ANY)

    def _load(self, base: str, offset: int, bits: int) -> str:
        key = ("load", base, offset, bits)
        return self.fn.cached(key) or self.fn.keep(
            key, self.fn.op(f"load i{bits}, ptr {self.fn.at(base, offset)}, align {_alignment(offset, bits)}")
        )

    def store(self, base: str, slot: Slot, nets: n.Value) -> None:
        """Store a value of any width into a slot, zero above its width."""
        if slot.width <= WORD:
            size = 8 * slot_bytes(slot.width)
            self._store(base, slot.offset, size, self.get(nets, ZERO, size), alone=slot.width < _LANE)
            return
        for low in range(0, slot.width, WORD):
            word = nets[low : low + WORD]
            parts = list(n.segments(word))
            if len(word) == WORD and all(_is_lane(start, end - start) for start, end in parts):
                for start, end in parts:
                    self._store(base, slot.offset + (low + start) // 8, end - start, self.get(word[start:end]))
            else:
                self._store(base, slot.offset + low // 8, WORD, self.get(word, ZERO, WORD))

    def _store(self, base: str, offset: int, bits: int, name: str, *, alone: bool = False) -> None:
        """Store an integer. ``alone`` keeps LLVM from joining flags and the like to vectors, which costs more."""
        kind, order = ("atomic ", " unordered") if alone else ("", "")
        place = self.fn.at(base, offset)
        self.fn.do(f"store {kind}i{bits} {name}, ptr {place}{order}, align {_alignment(offset, bits)}")


def _is_lane(start: int, width: int) -> bool:
    """Tell whether bits fill an integer of less than a word at its natural alignment."""
    return width in (8, 16, 32) and start % width == 0


def _alignment(offset: int, bits: int) -> int:
    """Return the alignment that an access of ``bits`` bits at a byte offset of a slot has for certain."""
    return min(offset & -offset or 8, bits // 8)


def _export(home: Function, held: HeldValue, slot: Slot) -> str:
    """Store a piece at the end of the function that made it; return an i64 that is not zero if it has changed."""
    bits, size, name = held.bits, 8 * slot_bytes(held.width), held.name
    if held.form is not ZERO and held.width < bits:
        name = home.end_op(f"and i{bits} {name}, {mask(held.width)}")
    if size != bits:
        name = home.end_op(f"{'zext' if size > bits else 'trunc'} i{bits} {name} to i{size}")
    place = home.end_op(f"getelementptr i8, ptr %io, i64 {slot.offset}")
    old = home.end_op(f"load i{size}, ptr {place}")
    home.end_do(f"store i{size} {name}, ptr {place}")
    change = home.end_op(f"xor i{size} {old}, {name}")
    return change if size == 64 else home.end_op(f"zext i{size} {change} to i64")


def _export_flags(pieces: list[_Piece]) -> None:
    """Store the flags that share a word at their function's end; wake the readers of those that changed."""
    home, slot = pieces[0].home, pieces[0].slot
    assert slot is not None
    word = "0"
    readers: dict[frozenset[int], int] = {}
    for piece in pieces:
        name, bits = piece.held.name, piece.held.bits
        if bits > 1 and piece.held.form is not ZERO:
            name = home.end_op(f"and i{bits} {name}, 1")
        if bits != _FLAGS:
            name = home.end_op(f"{'zext' if bits < _FLAGS else 'trunc'} i{bits} {name} to i{_FLAGS}")
        if piece.bit:
            name = home.end_op(f"shl i{_FLAGS} {name}, {piece.bit}")
        word = home.end_op(f"or i{_FLAGS} {word}, {name}")
        key = frozenset(piece.readers)
        readers[key] = readers.get(key, 0) | 1 << piece.bit
    place = home.end_op(f"getelementptr i8, ptr %io, i64 {slot.offset}")
    change = home.end_op(f"xor i{_FLAGS} {word}, {home.end_op(f'load i{_FLAGS}, ptr {place}')}")
    home.end_do(f"store i{_FLAGS} {word}, ptr {place}")
    for partitions, ones in readers.items():
        some = home.end_op(f"and i{_FLAGS} {change}, {ones}")
        home.wake(home.end_op(f"icmp ne i{_FLAGS} {some}, 0"), partitions)
