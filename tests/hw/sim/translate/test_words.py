# amaranth: UnusedElaboratable=no
"""Words of values: the bits that are wanted, extended as is said, and no more instructions than they take."""

import itertools
import random
from types import SimpleNamespace
from typing import Any

import pytest
from amaranth.hdl import Module, Value, signed, unsigned
from amaranth.lib import data
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from hw.sim import compile_design
from hw.sim.netlist import cells as n
from hw.sim.netlist.frontend import build_netlist
from hw.sim.netlist.simplify import simplify
from hw.sim.translate.layout import Slot, StateLayout
from hw.sim.translate.module import translate
from hw.sim.translate.text import Form, Function, container, slot_bytes
from hw.sim.translate.words import HeldValue, Words
from tests.support.hw.inline_design import Small
from tests.support.hw.llvm_text import compute, kinds

ZERO, SIGN, ANY = Form.ZERO, Form.SIGN, Form.ANY
WIDTHS = (1, 2, 5, 7, 8, 9, 13, 16, 17, 24, 31, 32, 33, 40, 63, 64)
MEMORY = random.Random(11).randbytes(64)


def words(registers: dict[int, Slot] | None = None, inputs: dict[str, tuple[int, Slot]] | None = None) -> Words:
    """Words of a design of registers, by cell, and inputs with the bit at which each starts; no other cells."""
    layout = StateLayout(registers=registers or {}, inputs={name: slot for name, (_, slot) in (inputs or {}).items()})
    top = SimpleNamespace(inputs={name: (start, slot.width) for name, (start, slot) in (inputs or {}).items()})
    netlist: Any = SimpleNamespace(top=top)
    plan: Any = SimpleNamespace(cuts={})
    return Words(netlist, plan, layout, Function("f"))


def memory_of(slot: Slot) -> bytearray:
    """Memory with zeros above a slot's width, as every store leaves it."""
    memory = bytearray(MEMORY)
    size = slot_bytes(slot.width)
    number = int.from_bytes(memory[slot.offset : slot.offset + size], "little") & (1 << slot.width) - 1
    memory[slot.offset : slot.offset + size] = number.to_bytes(size, "little")
    return memory


def bits_of(memory: bytearray, slot: Slot, low: int, width: int) -> int:
    return int.from_bytes(memory[slot.offset :], "little") >> low & (1 << width) - 1


def extended(value: int, width: int, form: Form, bits: int) -> int:
    if form is SIGN:
        value -= value >> (width - 1) << width
    return value & (1 << bits) - 1


def check(value: int, expected: int, width: int, form: Form, bits: int) -> None:
    """``value`` has ``width`` bits as expected, and above them what the form says."""
    if form is ANY:
        assert (value ^ expected) & (1 << width) - 1 == 0
    else:
        assert value == extended(expected, width, form, bits)


# ---- loads


@pytest.mark.parametrize("slot_width", [1, 5, 8, 9, 16, 20, 32, 40, 63, 64, 65, 100, 128, 130, 192])
def test_a_load_has_the_wanted_bits_and_says_what_is_above_them(slot_width: int) -> None:
    slot = Slot(16, slot_width)
    memory = memory_of(slot)
    for low in range(slot_width):
        for width in (w for w in (*WIDTHS, slot_width - low) if 0 < w <= min(64, slot_width - low)):
            some = words()
            held = some.load("%io", slot, low, width)
            assert held.width == width <= held.bits
            value = compute(some.fn.lines, memory)[held.name]
            check(value, bits_of(memory, slot, low, width), width, held.form, held.bits)


@pytest.mark.parametrize(
    ("slot_width", "low", "width", "expected", "held"),
    [
        (128, 32, 32, ["getelementptr", "load"], (32, ZERO)),
        (128, 8, 8, ["getelementptr", "load"], (8, ZERO)),
        (128, 48, 16, ["getelementptr", "load"], (16, ZERO)),
        (128, 64, 64, ["getelementptr", "load"], (64, ZERO)),
        (64, 0, 64, ["getelementptr", "load"], (64, ZERO)),
        (64, 3, 20, ["getelementptr", "load", "lshr"], (64, ANY)),
        (64, 0, 20, ["getelementptr", "load"], (64, ANY)),
        (64, 44, 20, ["getelementptr", "load", "lshr"], (64, ZERO)),
        (20, 0, 20, ["getelementptr", "load"], (32, ZERO)),
        (20, 15, 5, ["getelementptr", "load", "lshr"], (32, ZERO)),
        (20, 12, 5, ["getelementptr", "load", "lshr"], (32, ANY)),
        (100, 64, 36, ["getelementptr", "load"], (64, ZERO)),
        (100, 70, 30, ["getelementptr", "load", "lshr"], (64, ZERO)),
        (128, 60, 8, ["getelementptr", "load", "lshr"], (64, ANY)),
        (128, 40, 60, ["getelementptr", "load"], (64, ANY)),
        (128, 36, 60, ["getelementptr", "load", "lshr"], (64, ZERO)),
        (128, 37, 60, ["getelementptr", "load", "getelementptr", "load", "fshr"], (64, ANY)),
    ],
)  # fmt: skip
def test_a_load_takes_as_few_instructions_as_its_place_allows(
    slot_width: int, low: int, width: int, expected: list[str], held: tuple[int, Form]
) -> None:
    some = words()
    value = some.load("%io", Slot(16, slot_width), low, width)
    assert kinds(some.fn.lines) == expected
    assert (value.bits, value.form) == held


def test_the_same_load_is_done_once() -> None:
    some = words()
    first = some.load("%io", Slot(16, 64), 3, 5)
    again = some.load("%io", Slot(16, 64), 9, 5)
    assert first.name != again.name
    assert kinds(some.fn.lines).count("load") == 1


# ---- conversions


@pytest.mark.parametrize("form", [ZERO, SIGN, ANY])
def test_a_conversion_extends_as_is_asked(form: Form) -> None:
    generator = random.Random(5)
    for width in WIDTHS:
        for have in (ZERO, SIGN, ANY):
            for bits in (8, 16, 32, 64):
                for target in (each for each in (1, 8, 16, 32, 64) if each >= container(width)):
                    if bits < width or (target == 1 and form is SIGN):
                        continue
                    value = generator.getrandbits(width)
                    above = generator.getrandbits(64) << width
                    holds = value | above if have is ANY else extended(value, width, have, bits)
                    some = words()
                    name = some.convert(HeldValue("%v0", bits, width, have), form, target)
                    lines = [f"%v0 = or i{bits} {holds & (1 << bits) - 1}, 0", *some.fn.lines]
                    check(compute(lines, bytearray(8))[name], value, width, form, target)


@pytest.mark.parametrize(
    ("held", "form", "bits", "expected"),
    [
        ((8, 5, ZERO), ZERO, 8, []),
        ((8, 5, SIGN), SIGN, 8, []),
        ((8, 5, ANY), ANY, 8, []),
        ((8, 5, SIGN), ANY, 8, []),
        ((8, 8, ANY), ZERO, 8, []),
        ((8, 8, ANY), SIGN, 8, []),
        ((8, 5, ANY), ZERO, 8, ["and"]),
        ((8, 5, SIGN), ZERO, 8, ["and"]),
        ((8, 5, ANY), SIGN, 8, ["shl", "ashr"]),
        ((8, 5, ZERO), SIGN, 8, ["shl", "ashr"]),
        ((8, 5, SIGN), SIGN, 16, ["sext"]),
        ((8, 5, SIGN), ANY, 16, ["sext"]),
        ((8, 8, ZERO), SIGN, 16, ["sext"]),
        ((8, 8, ANY), SIGN, 64, ["sext"]),
        ((8, 8, ANY), ZERO, 16, ["zext"]),
        ((8, 8, ZERO), ZERO, 16, ["zext"]),
        ((8, 5, ZERO), ZERO, 32, ["zext"]),
        ((8, 5, ANY), ANY, 32, ["zext"]),
        ((8, 5, ANY), ZERO, 16, ["zext", "and"]),
        ((8, 5, SIGN), ZERO, 16, ["zext", "and"]),
        ((8, 5, ZERO), SIGN, 16, ["zext", "shl", "ashr"]),
        ((16, 5, ZERO), ZERO, 8, ["trunc"]),
        ((16, 8, ANY), ZERO, 8, ["trunc"]),
        ((16, 5, ANY), ZERO, 8, ["trunc", "and"]),
        ((16, 5, SIGN), SIGN, 8, ["trunc"]),
    ],
)
def test_a_conversion_takes_no_more_instructions_than_it_must(
    held: tuple[int, int, Form], form: Form, bits: int, expected: list[str]
) -> None:
    some = words()
    some.convert(HeldValue("%v0", *held), form, bits)
    assert kinds(some.fn.lines) == expected


@pytest.mark.parametrize(
    ("held", "low", "width", "expected", "form"),
    [
        ((32, 20, ZERO), 0, 20, [], ZERO),
        ((32, 20, SIGN), 0, 20, [], SIGN),
        ((32, 20, ZERO), 0, 5, [], ANY),
        ((32, 20, ZERO), 15, 5, ["lshr"], ZERO),
        ((32, 20, ANY), 15, 5, ["lshr"], ANY),
        ((32, 20, SIGN), 15, 5, ["lshr"], ANY),
        ((32, 20, ZERO), 14, 5, ["lshr"], ANY),
        ((32, 32, ANY), 27, 5, ["lshr"], ZERO),
        ((32, 32, ANY), 26, 5, ["lshr"], ANY),
    ],
)
def test_a_slice_shifts_its_bits_down_and_knows_what_is_above(
    held: tuple[int, int, Form], low: int, width: int, expected: list[str], form: Form
) -> None:
    some = words()
    value = some.slice(HeldValue("%v0", *held), low, width)
    assert kinds(some.fn.lines) == expected
    assert (value.bits, value.width, value.form) == (held[0], width, form)


# ---- nets


def nets(cell: int, low: int, width: int) -> n.Value:
    return tuple(cell << 16 | bit for bit in range(low, low + width))


REGISTERS = {3: Slot(0, 64), 5: Slot(8, 100), 7: Slot(24, 5), 9: Slot(25, 1)}
PLACES = {**{cell: (slot, 0) for cell, slot in REGISTERS.items()}, 0: (Slot(32, 20), 2)}


def number(value: n.Value, memory: bytearray) -> int:
    """The number that nets have."""
    total = 0
    for place, net in enumerate(value):
        if net > 1:
            slot, start = PLACES[net >> 16]
            net = bits_of(memory, slot, (net & 0xFFFF) - start, 1)
        total |= net << place
    return total


def a_memory() -> bytearray:
    memory = bytearray(MEMORY)
    for slot, _ in PLACES.values():
        memory[slot.offset : slot.offset + slot_bytes(slot.width)] = memory_of(slot)[
            slot.offset : slot.offset + slot_bytes(slot.width)
        ]
    return memory


@pytest.mark.parametrize("seed", range(40))
def test_nets_of_several_places_come_together_as_one_value(seed: int) -> None:
    generator = random.Random(seed)
    memory = a_memory()
    for _ in range(12):
        value: n.Value = ()
        while len(value) < generator.choice((1, 8, 20, 40, 64)):
            cell = generator.choice((0, 3, 5, 7, 9))
            slot, start = PLACES[cell]
            low = generator.randrange(slot.width)
            width = generator.randint(1, slot.width - low)
            run = nets(cell, start + low, width)
            value += generator.choice((run, run, (0,) * width, (1,) * width, run[-1:] * width))
        value = value[: generator.choice((len(value), 64))][:64]
        bits = generator.choice([each for each in (8, 16, 32, 64) if each >= container(len(value))])
        form = generator.choice((ZERO, SIGN, ANY))
        some = words(REGISTERS, {"a": (2, Slot(32, 20))})
        name = some.get(value, form, bits)
        known = compute(some.fn.lines, memory)
        got = known[name] if name.startswith("%") else int(name) & (1 << bits) - 1
        check(got, number(value, memory), len(value), form, bits)


@pytest.mark.parametrize(
    ("value", "form", "bits", "expected"),
    [
        (nets(3, 0, 64), ZERO, 64, ["load"]),
        (nets(3, 8, 8), ZERO, 8, ["getelementptr", "load"]),
        ((*nets(3, 0, 5), 0, 0, 0), ZERO, 8, ["load", "trunc", "and"]),
        (nets(7, 0, 5) + (7 << 16 | 4,) * 3, SIGN, 8, ["getelementptr", "load", "shl", "ashr"]),
        (nets(7, 0, 5) + (7 << 16 | 4,) * 3, ZERO, 8, ["getelementptr", "load", "shl", "ashr"]),
        (nets(7, 0, 5) + (7 << 16 | 4,) * 2, ZERO, 8, ["getelementptr", "load", "shl", "ashr", "and"]),
        (nets(9, 0, 1) + nets(7, 0, 5), ZERO, 8, ["getelementptr", "load", "getelementptr", "load", "shl", "or"]),
        ((1, 1, *nets(7, 0, 5)), ZERO, 8, ["getelementptr", "load", "shl", "or"]),
        ((0, 0, *nets(7, 0, 5)), ZERO, 8, ["getelementptr", "load", "shl"]),
        ((1, 0, 1), ZERO, 8, []),
        ((), ZERO, 8, []),
    ],
)
def test_nets_take_no_more_instructions_than_they_must(
    value: n.Value, form: Form, bits: int, expected: list[str]
) -> None:
    some = words(REGISTERS)
    some.get(value, form, bits)
    assert kinds(some.fn.lines) == expected


@pytest.mark.parametrize(
    ("value", "form", "expected"), [((1, 0, 1), ZERO, "5"), ((1, 0, 1), SIGN, "-3"), ((), ZERO, "0")]
)
def test_constants_are_numbers(value: n.Value, form: Form, expected: str) -> None:
    assert words().get(value, form, 8) == expected


@pytest.mark.parametrize("form", [ZERO, SIGN])
def test_a_wide_value_is_one_integer(form: Form) -> None:
    memory = a_memory()
    for width in (1, 40, 63, 64, 65, 100):
        some = words(REGISTERS)
        name = some.wide(nets(5, 0, width), form, 128)
        expected = extended(bits_of(memory, REGISTERS[5], 0, width), width, form, 128)
        assert compute(some.fn.lines, memory)[name] == expected


# ---- stores


@pytest.mark.parametrize("width", [1, 5, 8, 9, 16, 33, 64, 65, 96, 100, 128])
def test_a_store_leaves_the_value_and_zeros_above_it(width: int) -> None:
    for low in (0, 3, 8):
        value = (nets(3, low, 64 - low) + nets(5, 0, 100))[:width]
        some = words(REGISTERS)
        memory = a_memory() + bytearray(b"\xff" * 32)
        expected = number(value, memory)
        some.store("%nxt", Slot(64, width), value)
        compute(some.fn.lines, memory)
        assert int.from_bytes(memory[64 : 64 + slot_bytes(width)], "little") == expected
        assert memory[64 + slot_bytes(width) :] == b"\xff" * (32 - slot_bytes(width))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (nets(3, 0, 5), ["store atomic i8"]),
        (nets(3, 0, 8), ["store i8"]),
        (nets(3, 0, 64) + nets(5, 0, 64), ["store i64", "store i64"]),
        (nets(3, 0, 32) + nets(5, 0, 32) + nets(5, 32, 64), ["store i32", "store i32", "store i64"]),
        (nets(3, 0, 16) + nets(5, 0, 48) + nets(5, 32, 64), ["store i64", "store i64"]),
        (nets(3, 0, 8) * 8 + nets(5, 0, 1), ["store i8"] * 8 + ["store i64"]),
    ],
)
def test_lanes_of_a_word_are_stored_as_they_are(value: n.Value, expected: list[str]) -> None:
    some = words(REGISTERS)
    some.store("%nxt", Slot(64, len(value)), value)
    stores = [line.strip().partition(" %")[0] for line in some.fn.lines if "store" in line]
    assert stores == expected


# ---- rows of memories


def rows(lane: int, lanes: int) -> Small:
    """Return a memory of rows with a write enable for each lane."""

    def build(m: Module, ports: Any) -> None:
        shape = data.ArrayLayout(unsigned(lane), lanes)
        m.submodules.memory = memory = Memory(shape=shape, depth=4, init=[[-1 & (1 << lane) - 1] * lanes])
        write, read = memory.write_port(granularity=1), memory.read_port(domain="comb")
        m.d.comb += [write.addr.eq(ports.at), write.en.eq(ports.en), Value.cast(write.data).eq(ports.x)]
        m.d.comb += [read.addr.eq(ports.at), ports.q.eq(Value.cast(read.data))]

    return Small(build, {"at": In(2), "en": In(lanes), "x": In(lane * lanes), "q": Out(lane * lanes)})


@pytest.mark.parametrize(
    ("lane", "lanes"), [(8, 4), (16, 2), (16, 6), (32, 2), (64, 3), (9, 4), (24, 2), (1, 5), (65, 2)]
)
def test_lanes_of_a_row_that_are_integers_are_stored_alone_and_others_into_their_word(lane: int, lanes: int) -> None:
    component = rows(lane, lanes)
    text = translate(simplify(build_netlist(component)), {}, ()).text
    if lane in (8, 16, 32, 64):
        assert text.count(f"store i{lane} ") >= lanes
    design = compile_design(component)
    generator = random.Random(lane)
    model = [(1 << lane * lanes) - 1, 0, 0, 0]
    for _ in range(60):
        at, enables, value = generator.randrange(4), generator.getrandbits(lanes), generator.getrandbits(lane * lanes)
        for name, number in (("at", at), ("en", enables), ("x", value)):
            design.poke(name, number)
        assert design.peek("q") == model[at]
        design.step()
        ones = sum(((1 << lane) - 1) << lane * index for index in range(lanes) if enables >> index & 1)
        model[at] = model[at] & ~ones | value & ones


def test_rows_that_begin_negative_keep_their_low_bits() -> None:
    def build(m: Module, ports: Any) -> None:
        m.submodules.memory = memory = Memory(shape=signed(5), depth=2, init=[-1, -16])
        read = memory.read_port(domain="comb")
        m.d.comb += [read.addr.eq(ports.at), ports.q.eq(read.data)]

    design = compile_design(Small(build, {"at": In(1), "q": Out(8)}))
    assert design.peek("q") == 0xFF
    design.poke("at", 1)
    assert design.peek("q") == 0xF0
    assert design.memory("memory")[:].tolist() == [31, 16]


@pytest.mark.parametrize("names", list(itertools.permutations("abc")), ids="".join)
def test_inputs_of_no_bits_take_none_from_their_neighbours_whatever_their_names(names: tuple[str, ...]) -> None:
    empty, number, other = names

    def build(m: Module, ports: Any) -> None:
        m.d.comb += ports.q.eq(getattr(ports, empty) + getattr(ports, number) + getattr(ports, other))

    ports = {empty: In(0), number: In(8), other: In(3), "q": Out(9), "also_empty": In(0)}
    design = compile_design(Small(build, ports))
    design.poke(number, 200)
    design.poke(other, 5)
    assert design.peek("q") == 205
