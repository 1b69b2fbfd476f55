"""Values of the netlist as LLVM integers: fetched bit run by bit run, converted, cached, passed between functions.

A value of up to 64 bits is held in an integer of 1, 8, 16, 32 or 64 bits; a ``Form`` says what is above it. Keeping to
such types, and tracking forms, gives LLVM code that it vectorises well and compiles fast. Wider values are pieces.
Tests: ``tests/hw/sim/test_words.py``.
"""

from bisect import bisect_right
from dataclasses import dataclass, field

from hw.sim import netlist as n
from hw.sim.layout import Layout, Slot
from hw.sim.plan import WORD, Plan
from hw.sim.text import Form, Function, container, mask, slot_bytes

__all__ = ["Held", "Words"]

ZERO, SIGN, ANY = Form.ZERO, Form.SIGN, Form.ANY


@dataclass(frozen=True, slots=True)
class Held:
    """A value of ``width`` bits in the LLVM value ``name`` of type ``i<bits>``."""

    name: str
    bits: int
    width: int
    form: Form


@dataclass(slots=True)
class _Piece:
    """A piece of a cell's output: the function that made it, and its slot in ``io`` once another one needed it."""

    held: Held
    home: Function
    slot: Slot | None = None
    readers: set[int] = field(default_factory=set)


class Words:
    """Fetches and stores values in the function that is being written (``fn``)."""

    def __init__(self, netlist: n.Netlist, plan: Plan, layout: Layout, fn: Function) -> None:
        self.netlist = netlist
        self.plan = plan
        self.layout = layout
        self.fn = fn
        self.assignments: dict[int, dict[int, list[n.Assignment]]] = {}
        self._pieces: dict[tuple[int, int], _Piece] = {}
        top = sorted((start, name) for name, (start, _) in netlist.top.inputs.items())
        self._input_starts = [start for start, _ in top]
        self._input_slots = [layout.inputs[name] for _, name in top]

    # ---- results of cells

    def define(self, cell: int, start: int, held: Held) -> None:
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
        parts = list(n.runs(nets))
        if len(parts) == 1 and parts[0].cell is not None:
            held = self._run(parts[0].cell, parts[0].start, count)
            return self.convert(held, form, bits)
        return self._concatenation(parts, form, bits)

    def _concatenation(self, parts: list[n.Run], form: Form, bits: int) -> str:
        number, names = 0, []
        last = parts[-1]
        for run in parts:
            if run.cell is None:
                number |= run.start << run.position
                continue
            wanted = form if run is last else ZERO
            name = self.convert(self._run(run.cell, run.start, run.width), wanted, bits)
            names.append(self.fn.op(f"shl i{bits} {name}, {run.position}") if run.position else name)
        width = last.position + last.width
        if form is SIGN and last.cell is None:  # a constant zero on top was taken off before: this is a one
            number -= 1 << width
        if number or not names:
            names.append(str(number))
        result = names[0]
        for name in names[1:]:
            result = self.fn.op(f"or i{bits} {result}, {name}")
        return result

    def _run(self, cell: int, start: int, width: int) -> Held:
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

    def _two_runs(self, cell: int, start: int, split: int, width: int) -> Held:
        """Return bits of a cell that lie in two places: the first ``split`` bits, and the others."""
        bits = container(width)
        low = self.convert(self._run(cell, start, split), ZERO, bits)
        rest = self._run(cell, start + split, width - split)
        form = rest.form
        high = self.fn.op(f"shl i{bits} {self.convert(rest, form, bits)}, {split}")
        return Held(self.fn.op(f"or i{bits} {low}, {high}"), bits, width, form)

    def _local(self, cell: int, start: int) -> Held:
        """Return a piece in the function that is being written; pass it there if another function made it."""
        piece = self._pieces[cell, start]
        if piece.home is self.fn:
            return piece.held
        if piece.slot is None:
            piece.slot = self.layout.io.take(piece.held.width)
        piece.readers.add(self.fn.number)
        return self.load("%io", piece.slot, 0, piece.held.width)

    def export(self) -> None:
        """Have each function store the pieces that later ones read, and wake those if a piece has changed."""
        changes: dict[tuple[str, frozenset[int]], tuple[Function, str]] = {}
        for piece in self._pieces.values():
            if piece.slot is None:
                continue
            home = piece.home
            key = (home.name, frozenset(piece.readers))
            change = _export(home, piece.held, piece.slot)
            if key in changes:
                change = home.end_op(f"or i64 {change}, {changes[key][1]}")
            changes[key] = (home, change)
        for (_, readers), (home, change) in changes.items():
            home.wake(home.end_op(f"icmp ne i64 {change}, 0"), readers)

    # ---- conversions

    def slice(self, held: Held, low: int, width: int) -> Held:
        """Return ``width`` bits of a value from bit ``low``."""
        if low == 0 and width == held.width:
            return held
        name, form = held.name, ANY
        if low:
            name = self.fn.op(f"lshr i{held.bits} {name}, {low}")
            if low + width == held.bits or (low + width == held.width and held.form is ZERO):
                form = ZERO
        return Held(name, held.bits, width, form)

    def convert(self, held: Held, form: Form, bits: int) -> str:
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

    def load(self, base: str, slot: Slot, low: int, width: int) -> Held:
        """Return ``width`` bits of a slot behind the pointer ``base``, from bit ``low``."""
        if low % 8 == 0 and width in (8, 16, 32, 64):
            return Held(self._load(base, slot.offset + low // 8, width), width, width, ZERO)
        if slot.width <= WORD:
            size = 8 * slot_bytes(slot.width)
            return self.slice(Held(self._load(base, slot.offset, size), size, slot.width, ZERO), low, width)
        first, shift = divmod(low, WORD)
        end = min(WORD, slot.width - first * WORD)
        if shift + width <= WORD:
            word = self._load(base, slot.offset + 8 * first, WORD)
            return self.slice(Held(word, WORD, end, ZERO), shift, width)
        if low % 8 + width <= WORD:
            word = self._load(base, slot.offset + low // 8, WORD)
            return self.slice(Held(word, WORD, WORD, ZERO), low % 8, width)
        words = [self._load(base, slot.offset + 8 * index, WORD) for index in (first + 1, first)]
        joined = self.fn.op(f"call i64 @llvm.fshr.i64(i64 {words[0]}, i64 {words[1]}, i64 {shift})")
        return Held(joined, WORD, width, ANY)

    def _load(self, base: str, offset: int, bits: int) -> str:
        key = ("load", base, offset, bits)
        return self.fn.cached(key) or self.fn.keep(
            key, self.fn.op(f"load i{bits}, ptr {self.fn.at(base, offset)}, align {_alignment(offset, bits)}")
        )

    def store(self, base: str, slot: Slot, nets: n.Value) -> None:
        """Store a value of any width into a slot, zero above its width."""
        if slot.width <= WORD:
            self._store(base, slot.offset, 8 * slot_bytes(slot.width), self.get(nets, ZERO, 8 * slot_bytes(slot.width)))
            return
        for low in range(0, slot.width, WORD):
            word = nets[low : low + WORD]
            parts = list(n.runs(word))
            if len(word) == WORD and all(p.position % p.width == 0 and p.width in (8, 16, 32) for p in parts):
                for part in parts:
                    name = self.get(word[part.position : part.position + part.width])
                    self._store(base, slot.offset + (low + part.position) // 8, part.width, name)
            else:
                self._store(base, slot.offset + low // 8, WORD, self.get(word, ZERO, WORD))

    def _store(self, base: str, offset: int, bits: int, name: str) -> None:
        self.fn.do(f"store i{bits} {name}, ptr {self.fn.at(base, offset)}, align {_alignment(offset, bits)}")


def _alignment(offset: int, bits: int) -> int:
    """Return the alignment that an access of ``bits`` bits at a byte offset of a slot has for certain."""
    return min(offset & -offset or 8, bits // 8)


def _export(home: Function, held: Held, slot: Slot) -> str:
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
