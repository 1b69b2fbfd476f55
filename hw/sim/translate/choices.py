"""LLVM code of the other combinational cells: choices, assignments, parts, asynchronous reads.

Tests: ``tests/hw/sim/translate``, ``tests/hw/sim/test_random_designs.py``.
"""

from bisect import bisect_left

from hw.sim.netlist import cells as n
from hw.sim.netlist.order import BITWISE, WHOLE, Step
from hw.sim.netlist.plan import WORD
from hw.sim.translate.layout import MemoryPlace, Slot
from hw.sim.translate.operators import emit_bitwise, emit_operator, resize
from hw.sim.translate.text import Form, container, mask
from hw.sim.translate.words import HeldValue, Words

__all__ = ["emit_comb", "row_pointer"]

ZERO, SIGN, ANY = Form.ZERO, Form.SIGN, Form.ANY


def emit_comb(words: Words, step: Step) -> None:
    """Write the code of a combinational cell, or of one of its bits, and define its pieces."""
    index, bit = step
    cell = words.netlist.cells[index]
    width = words.plan.used[index]
    starts = words.plan.cuts[index] if bit == WHOLE else [bit]
    ends = [*starts[1:], width] if bit == WHOLE else [bit + 1]
    pieces = list(zip(starts, ends, strict=True))
    match cell:
        case n.Operator() if cell.kind in BITWISE:
            for low, high in pieces:
                words.define(index, low, emit_bitwise(words, cell, low, high))
        case n.Operator():
            _define_cut(words, index, emit_operator(words, cell, width), pieces)
        case n.AssignmentList():
            for low, high in pieces:
                items = _overlapping(words, index, cell, low)
                words.define(index, low, _assigned(words, items, low, high, cell.default))
        case n.PriorityMatch():
            _priority_match(words, index, cell, [low for low, _ in pieces])
        case n.Matches():
            words.define(index, 0, HeldValue(_matches(words, cell), 1, 1, ZERO))
        case n.Part():
            _part(words, index, cell, pieces)
        case n.AsyncReadPort():
            row = row_pointer(words, words.layout.memories[cell.memory], cell.addr)
            for low, high in pieces:
                words.define(index, low, words.load(row, Slot(0, cell.width), low, high - low))
        case _:
            raise AssertionError("only combinational cells are steps of their own")


def _define_cut(words: Words, index: int, held: HeldValue, pieces: list[tuple[int, int]]) -> None:
    """Define the pieces of a cell whose value is at hand as one integer, maybe a very wide one."""
    for low, high in pieces:
        piece = words.slice(held, low, high - low)
        if piece.bits > WORD:
            piece = HeldValue(words.fn.op(f"trunc i{piece.bits} {piece.name} to i64"), WORD, piece.width, ANY)
        words.define(index, low, piece)


def row_pointer(words: Words, place: MemoryPlace, addr: n.Value) -> str:
    """Return a pointer to the row at ``addr``; beyond the end to the row that is always zero."""
    fn = words.fn
    key = ("row", place.offset, addr)
    known = fn.cached(key)
    if known:
        return known
    index = words.get(addr, ZERO, WORD) if len(addr) <= WORD else words.wide(addr, ZERO, len(addr))
    size = max(len(addr), WORD)
    if mask(len(addr)) >= place.depth:
        index = fn.op(f"call i{size} @llvm.umin.i{size}(i{size} {index}, i{size} {place.depth})")
    index = resize(words, index, size, WORD)
    byte = fn.op(f"add i64 {fn.op(f'mul i64 {index}, {place.stride}')}, {place.offset}")
    return fn.keep(key, fn.op(f"getelementptr i8, ptr %mem, i64 {byte}"))


# ---- assignments


def _overlapping(words: Words, index: int, cell: n.AssignmentList, low: int) -> list[n.Assignment]:
    """Return the assignments that cover the piece at ``low``; their ends are cuts, so they cover all of it."""
    if index not in words.assignments:
        starts = words.plan.cuts[index]
        buckets: dict[int, list[n.Assignment]] = {start: [] for start in starts}
        for item in cell.assignments:
            first = bisect_left(starts, item.start)
            last = bisect_left(starts, item.start + len(item.value))
            for start in starts[first:last]:
                buckets[start].append(item)
        words.assignments[index] = buckets
    return words.assignments[index][low]


def _assigned(words: Words, items: list[n.Assignment], low: int, high: int, default: n.Value) -> HeldValue:
    """Return bits ``low`` to ``high`` of ``default`` after the assignments."""
    width = high - low
    bits = container(width)
    last_sure = max((i for i, item in enumerate(items) if item.cond == 1), default=-1)
    if last_sure >= 0:
        item = items[last_sure]
        name = words.get(item.value[low - item.start : high - item.start])
    else:
        name = words.get(default[low:high])
    for item in items[last_sure + 1 :]:
        if item.cond != 0:
            value = words.get(item.value[low - item.start : high - item.start])
            name = words.fn.op(f"select i1 {words.flag(item.cond)}, i{bits} {value}, i{bits} {name}")
    return HeldValue(name, bits, width, ZERO)


# ---- choices


def _matches(words: Words, cell: n.Matches) -> str:
    fn, found = words.fn, ""
    for pattern in cell.patterns:
        one = _matches_pattern(words, cell.value, pattern)
        found = fn.op(f"or i1 {found}, {one}") if found else one
    return found or fn.op("or i1 0, 0")


def _matches_pattern(words: Words, value: n.Value, pattern: str) -> str:
    """Return the i1 "``value`` has the pattern's bits, where the pattern has any"."""
    fn = words.fn
    different = ""
    size = container(min(max(len(value), 1), WORD))
    digits = pattern[::-1]
    for low in range(0, len(value), WORD):
        part = digits[low : low + WORD]
        care = sum(1 << i for i, digit in enumerate(part) if digit != "-")
        wanted = sum(1 << i for i, digit in enumerate(part) if digit == "1")
        if not care:
            continue
        name = words.get(value[low : low + WORD], ZERO, size)
        if care != mask(len(part)):
            name = fn.op(f"and i{size} {name}, {care}")
        if len(value) <= WORD:
            return fn.op(f"icmp eq i{size} {name}, {wanted}")
        name = fn.op(f"xor i{size} {name}, {wanted}")
        different = fn.op(f"or i{size} {different}, {name}") if different else name
    return fn.op(f"icmp eq i{size} {different or '0'}, 0")


def _priority_match(words: Words, index: int, cell: n.PriorityMatch, bits: list[int]) -> None:
    """Define the asked bits, one piece each: input and enable, and no lower input."""
    exclusive = _exclusive(words, cell.inputs)
    for bit in bits:
        net = cell.inputs[bit]
        left = words.flag(cell.enable) if exclusive and net != 1 else _left(words, index, cell, bit)
        name = left if net == 1 else words.fn.op(f"and i1 {left}, {words.flag(net)}")
        words.define(index, bit, HeldValue(name, 1, 1, ZERO))


def _left(words: Words, index: int, cell: n.PriorityMatch, bit: int) -> str:
    """Return the i1 "``enable`` holds, and all inputs below ``bit`` are zero"."""
    fn = words.fn
    start, name = bit, None
    while start and name is None:
        name = fn.cached(("left", index, start))
        start -= name is None
    name = name or words.flag(cell.enable)
    for low in range(start, bit):
        inverse = fn.op(f"xor i1 {words.flag(cell.inputs[low])}, 1")
        name = fn.keep(("left", index, low + 1), fn.op(f"and i1 {name}, {inverse}"))
    return name


def _exclusive(words: Words, inputs: n.Value) -> bool:
    """Tell whether at most one input can be set, but for a default: full patterns of one value, all different."""
    patterns: set[str] = set()
    value: n.Value | None = None
    for net in inputs[:-1] if inputs[-1] == 1 else inputs:
        cell = words.netlist.cells[net >> 16]
        if not isinstance(cell, n.Matches) or any("-" in pattern for pattern in cell.patterns):
            return False
        if (value is not None and cell.value != value) or not patterns.isdisjoint(cell.patterns):
            return False
        value = cell.value
        patterns.update(cell.patterns)
    return True


# ---- parts


def _part(words: Words, index: int, cell: n.Part, pieces: list[tuple[int, int]]) -> None:
    if len(cell.value) <= WORD and pieces[-1][1] <= WORD:
        held = _narrow_part(words, cell, pieces[-1][1])
        _define_cut(words, index, held, pieces)
        return
    base, byte, rest = _window(words, cell, pieces[-1][1])
    fn = words.fn
    pointer = fn.op(f"getelementptr i8, ptr {base}, i64 {byte}")
    for low, high in pieces:
        where = fn.at(pointer, low // 8)
        name = fn.op(f"load i64, ptr {where}, align 1")
        if rest != "0" or low % 8:
            upper = fn.op(f"load i64, ptr {fn.at(pointer, low // 8 + 8)}, align 1")
            shift = fn.op(f"add i64 {rest}, {low % 8}") if low % 8 else rest
            name = fn.op(f"call i64 @llvm.fshr.i64(i64 {upper}, i64 {name}, i64 {shift})")
        words.define(index, low, HeldValue(name, WORD, high - low, ANY))


def _narrow_part(words: Words, cell: n.Part, width: int) -> HeldValue:
    """A part of at most 64 bits of a value of at most 64 bits: one shift."""
    fn = words.fn
    bits = container(max(len(cell.value), width, 1))
    form = SIGN if cell.signed else ZERO
    name = words.get(cell.value, form, bits)
    kind = "ashr" if cell.signed else "lshr"
    size = 64
    offset = _bit_offset(words, cell, bits)
    if mask(len(cell.offset)) * cell.stride >= bits:
        beyond = fn.op(f"icmp ugt i{size} {offset}, {bits - 1}")
        offset = fn.op(f"select i1 {beyond}, i{size} {bits - 1}, i{size} {offset}")
        shifted = fn.op(f"{kind} i{bits} {name}, {resize(words, offset, size, bits)}")
        if not cell.signed:
            shifted = fn.op(f"select i1 {beyond}, i{bits} 0, i{bits} {shifted}")
    else:
        shifted = fn.op(f"{kind} i{bits} {name}, {resize(words, offset, size, bits)}")
    return HeldValue(shifted, bits, width, ANY)


def _bit_offset(words: Words, cell: n.Part, limit: int) -> str:
    """Return ``offset * stride`` as an i64; offsets whose product would reach ``limit`` may be any number above it."""
    fn = words.fn
    size = max(len(cell.offset), WORD)
    fetch = words.get(cell.offset, ZERO, WORD) if len(cell.offset) <= WORD else words.wide(cell.offset, ZERO, size)
    most = limit // max(cell.stride, 1) + 1
    if mask(len(cell.offset)) > most:
        fetch = fn.op(f"call i{size} @llvm.umin.i{size}(i{size} {fetch}, i{size} {most})")
    name = resize(words, fetch, size, WORD)
    return fn.op(f"mul i64 {name}, {cell.stride}") if cell.stride != 1 else name


def _window(words: Words, cell: n.Part, width: int) -> tuple[str, str, str]:
    """Return (pointer to the value's bytes in memory, byte offset, bits to shift after that) of a wide part.

    A register is read where it lies if no offset can leave it; anything else goes through the stack, extended.
    """
    fn = words.fn
    count = len(cell.value)
    offset = _bit_offset(words, cell, count)
    base = _register_pointer(words, cell, width)
    if base is None:
        base = _spill(words, cell, width)
        if mask(len(cell.offset)) * cell.stride > count:
            offset = fn.op(f"call i64 @llvm.umin.i64(i64 {offset}, i64 {count})")
    aligned = cell.stride % 8 == 0 and count % 8 == 0
    return base, fn.op(f"lshr i64 {offset}, 3"), "0" if aligned else fn.op(f"and i64 {offset}, 7")


def _register_pointer(words: Words, cell: n.Part, width: int) -> str | None:
    """Return a pointer to a register that is exactly the value, if every offset stays within it."""
    parts = list(n.runs(cell.value))
    register = parts[0].cell
    if len(parts) != 1 or register not in words.layout.registers or parts[0].start:
        return None
    slot = words.layout.registers[register]
    if slot.width != len(cell.value) or mask(len(cell.offset)) * cell.stride + width > slot.width:
        return None
    return words.fn.at("%cur", slot.offset)


def _spill(words: Words, cell: n.Part, width: int) -> str:
    """Store the value, extended by what a part of ``width`` bits at its very end would see, to the stack."""
    fn = words.fn
    count = len(cell.value)
    form = SIGN if cell.signed else ZERO
    stored = max(-(-count // WORD), 1)
    frame = fn.alloca(8 * (stored + -(-width // WORD) + 2))
    name = "0"
    for index in range(stored):
        word = cell.value[index * WORD : (index + 1) * WORD]
        name = words.get(word, form if index == stored - 1 else ZERO, WORD)
        fn.do(f"store i64 {name}, ptr {fn.at(frame, 8 * index)}, align 8")
    fill = fn.op(f"ashr i64 {name}, 63") if cell.signed else "0"
    for index in range(stored, stored + -(-width // WORD) + 2):
        fn.do(f"store i64 {fill}, ptr {fn.at(frame, 8 * index)}, align 8")
    return frame
