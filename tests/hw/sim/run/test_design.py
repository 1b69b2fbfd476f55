"""Poking, stepping, peeking, memories and snapshots of a compiled design."""

from typing import Any

import pytest
from amaranth.hdl import Module, Signal, signed
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from hw.sim import CompiledDesign, SimulatorError, compile_design
from tests.support.hw.inline_design import Small

PORTS = {"step": In(signed(6)), "write": In(1), "total": Out(signed(8)), "wide": Out(100), "full": Out(1)}


def build(m: Module, io: Any) -> None:
    """A counter that goes into memories whenever ``write`` is high."""
    count = Signal(signed(8), name="count", init=5)
    hidden = Signal(8, name="hidden")
    m.d.sync += [count.eq(count + io.step), io.wide.eq((io.wide << 3) | count.as_unsigned())]
    m.d.comb += [hidden.eq(count ^ 0x55), io.total.eq(count), io.full.eq(hidden == 0x5F)]
    for name, width in (("bytes", 7), ("words", 64), ("rows", 130)):
        m.submodules[name] = memory = Memory(shape=width, depth=5, init=[1, 2, 3])
        port = memory.write_port()
        m.d.comb += [port.addr.eq(count.as_unsigned()[:3]), port.data.eq(io.wide), port.en.eq(io.write)]


@pytest.fixture
def design() -> CompiledDesign:
    return compile_design(Small(build, PORTS), probes=["hidden"], cache=False)


def test_inputs_act_on_registers_at_the_next_edge_and_at_once_on_what_is_combinational(design: CompiledDesign) -> None:
    assert design.peek("total") == 5
    design.poke("step", -9)
    assert design.peek("count") == 5
    design.step()
    assert [design.peek(name) for name in ("count", "total", "hidden")] == [-4, -4, (-4 ^ 0x55) & 0xFF]
    design.step(3)
    assert (design.peek("count"), design.cycles) == (-31, 4)


def test_bits_of_a_register_can_be_set_under_another_name_and_the_rest_stays() -> None:
    def wires(m: Module, io: Any) -> None:
        whole, middle = Signal(24, name="whole", init=0xA5A5A5), Signal(10, name="middle")
        m.d.comb += [middle.eq(whole[5:15]), io.q.eq(middle)]
        m.d.sync += whole.eq(whole)

    design = compile_design(Small(wires), cache=False)
    assert design.peek("middle") == 0xA5A5A5 >> 5 & 0x3FF
    for value in (0, 0x3FF, 0x155, 0x2AA):
        design.poke("middle", value)
        assert (design.peek("middle"), design.peek("q")) == (value, value & 15)
        assert design.peek("whole") == 0xA5A5A5 & ~(0x3FF << 5) | value << 5


def test_registers_can_be_set(design: CompiledDesign) -> None:
    design.poke("count", -100)
    design.poke("wide", 1 << 99)
    assert design.peek("hidden") == (-100 ^ 0x55) & 0xFF
    design.step()
    assert design.peek("wide") == 156
    design.poke("total", 3)
    assert design.peek("count") == 3


def test_a_run_ends_before_the_edge_at_which_a_signal_is_high(design: CompiledDesign) -> None:
    design.poke("step", 1)
    assert design.run_until("full", 100) == 5
    assert (design.peek("count"), design.cycles) == (10, 5)
    assert design.run_until("full", 100) == 0
    design.step()
    assert design.run_until("full", 7) == 7
    assert design.peek("full") == 0


def test_memories_are_live_views(design: CompiledDesign) -> None:
    assert design.memories == ("bytes", "words", "rows")
    rows, words, bytes_ = (design.memory(name) for name in ("rows", "words", "bytes"))
    shapes = [(view.shape, str(view.dtype)) for view in (rows, words, bytes_)]
    assert shapes == [((5, 3), "uint64"), ((5,), "uint64"), ((5,), "uint8")]
    assert rows.tolist() == [[1, 0, 0], [2, 0, 0], [3, 0, 0], [0, 0, 0], [0, 0, 0]]
    design.poke("wide", (1 << 99) + 77)
    design.poke("count", 4)
    design.poke("write", 1)
    design.step()
    assert rows[4].tolist() == [77, 1 << 35, 0]
    assert (words[4], bytes_[4]) == (77, 77)
    design.poke("count", 6)  # beyond the last row
    design.step()
    assert rows[:4].tolist() == [[1, 0, 0], [2, 0, 0], [3, 0, 0], [0, 0, 0]]
    words[0] = 9
    assert design.memory("words")[0] == 9


def test_a_snapshot_brings_back_registers_memories_and_cycles(design: CompiledDesign) -> None:
    design.poke("step", 3)
    design.poke("write", 1)
    design.step(10)
    snapshot = design.snapshot()
    before = [design.peek(name) for name in design.signals], design.memory("rows").tolist()
    design.step(11)
    assert design.memory("rows").tolist() != before[1]
    design.restore(snapshot)
    assert ([design.peek(name) for name in design.signals], design.memory("rows").tolist()) == before
    assert design.cycles == 10


def test_a_reset_brings_back_power_on(design: CompiledDesign) -> None:
    power_on = design.snapshot()
    design.poke("step", 3)
    design.poke("write", 1)
    design.step(10)
    design.reset()
    assert (design.snapshot(), design.peek("count"), design.peek("step"), design.cycles) == (power_on, 5, 0, 0)


def test_steps_of_one_and_of_many_cycles_are_the_same(design: CompiledDesign) -> None:
    other = compile_design(Small(build, PORTS), cache=False)
    for each in (design, other):
        each.poke("step", 7)
        each.poke("write", 1)
    for _ in range(30):
        design.step()
    other.step(30)
    assert design.peek("wide") == other.peek("wide")
    assert design.memory("rows").tolist() == other.memory("rows").tolist()


def message(call: Any, *arguments: Any) -> str:
    with pytest.raises(SimulatorError) as caught:
        call(*arguments)
    return str(caught.value)


def test_wrong_names_and_values_are_refused(design: CompiledDesign) -> None:
    unprobed = compile_design(Small(build, PORTS), cache=False)
    assert message(design.peek, "totl") == "the design has no signal 'totl'; did you mean 'total'?"
    assert message(design.peek, "nothing.at.all") == "the design has no signal 'nothing.at.all'"
    assert message(unprobed.peek, "hidden") == ("signal 'hidden' is combinational and was not kept; name it in probes=")
    assert message(design.poke, "hidden", 1) == (
        "signal 'hidden' is neither an input nor a register, so it cannot be set"
    )
    assert message(design.poke, "step", 64) == "signal 'step' has 6 bits, which cannot hold 64"
    assert message(design.poke, "step", -33) == "signal 'step' has 6 bits, which cannot hold -33"
    assert message(design.memory, "row") == "the design has no memory 'row'; it has 'bytes', 'words', 'rows'"
    assert message(design.restore, b"12") == (
        f"a snapshot of this design has {len(design.snapshot())} bytes, not 2; it is of another design"
    )
    for name in ("count", "total"):
        assert message(design.run_until, name, 9) == (
            f"run_until needs a 1-bit port or probe, and {name!r} is not one; add it to probes"
        )
    assert message(lambda: compile_design(Small(build, PORTS), probes=["hiden"], cache=False)) == (
        "the design has no signal 'hiden'; did you mean 'hidden'?"
    )


def test_a_design_without_memories_says_so() -> None:
    empty = compile_design(Small(lambda m, io: m.d.comb.__iadd__(io.q.eq(io.a))), cache=False)
    assert message(empty.memory, "x") == "the design has no memory 'x'; it has none"
    empty.poke("a", 7)
    empty.step(3)
    assert (empty.peek("q"), empty.cycles) == (7, 3)


@pytest.mark.parametrize(
    ("width", "dtype", "words"),
    [(1, "uint8", 0), (8, "uint8", 0), (9, "uint16", 0), (16, "uint16", 0), (17, "uint32", 0), (32, "uint32", 0),
     (33, "uint64", 0), (64, "uint64", 0), (65, "uint64", 2), (128, "uint64", 2), (129, "uint64", 3)],
)  # fmt: skip
def test_rows_are_integers_of_their_size_and_wider_ones_words(width: int, dtype: str, words: int) -> None:
    ones = (1 << width) - 1

    def build(m: Module, io: Any) -> None:
        m.submodules.memory = memory = Memory(shape=width, depth=3, init=[1, ones])
        port = memory.read_port(domain="comb")
        m.d.comb += [port.addr.eq(io.a), io.q.eq(port.data)]

    design = compile_design(Small(build, {"a": In(2), "q": Out(width)}), cache=False)
    rows = design.memory("memory")
    assert (str(rows.dtype), rows.shape) == (dtype, (3, words) if words else (3,))
    assert int.from_bytes(rows[1].tobytes(), "little") == ones
    rows[2] = rows[1]
    for address, expected in ((0, 1), (1, ones), (2, ones)):
        design.poke("a", address)
        assert design.peek("q") == expected


def test_numbers_that_fit_as_signed_or_unsigned_ones_may_be_set() -> None:
    def build(m: Module, io: Any) -> None:
        m.d.comb += io.q.eq(io.a)

    design = compile_design(Small(build), cache=False)
    for value in (15, -8, -1, 0):
        design.poke("a", value)
        assert design.peek("q") == value & 15
    for value in (16, -9):
        with pytest.raises(SimulatorError) as caught:
            design.poke("a", value)
        assert str(caught.value) == f"signal 'a' has 4 bits, which cannot hold {value}"
