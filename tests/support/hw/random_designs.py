# amaranth: UnusedElaboratable=no
"""Random designs of one kind each, for comparing simulators: registers, memories, state machines, queues."""

import random
from typing import Any

from amaranth.hdl import Array, Cat, Const, EnableInserter, Module, Mux, ResetInserter, Signal, Value, signed, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.fifo import SyncFIFO, SyncFIFOBuffered
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from tests.support.compiler.random_expressions import random_expression, random_shape

__all__ = ["Gated", "Lanes", "MemoryMix", "Queues", "RandomDesign", "Registers", "StateMachine", "Targets"]


class RandomDesign(wiring.Component):  # Amaranth has no types
    """Inputs ``i0`` to ``i4`` of random shapes, and an output for each value that ``body`` returns.

    ``body`` makes the same design whenever it is called with an equal ``rng``.
    """

    def __init__(self, *, seed: int, most: int = 150) -> None:
        self.seed, self.most = seed, most
        rng = random.Random(seed)
        members = {f"i{k}": In(random_shape(rng, most)) for k in range(5)}
        inputs: list[Value] = [Signal(member.shape, name=name) for name, member in members.items()]
        values = self.body(Module(), random.Random(seed), inputs)
        members |= {f"o{k}": Out(value.shape()) for k, value in enumerate(values)}
        super().__init__(members)

    def elaborate(self, platform: Any) -> Module:
        """Build the design and show its values."""
        del platform
        m = Module()
        values = self.body(m, random.Random(self.seed), [getattr(self, f"i{k}") for k in range(5)])
        for k, value in enumerate(values):
            m.d.comb += getattr(self, f"o{k}").eq(value)
        return m

    def body(self, m: Module, rng: random.Random, inputs: list[Value]) -> list[Value]:
        """Add to ``m``; return what is to be seen."""
        raise NotImplementedError


def _expression(m: Module, rng: random.Random, pool: list[Value], name: str) -> Signal:
    """Return a combinational signal with a random expression over the pool."""
    value = random_expression(rng, pool, 150)
    signal = Signal(value.shape(), name=name)
    m.d.comb += signal.eq(value)
    return signal


def _bit(rng: random.Random, pool: list[Value]) -> Value:
    value = rng.choice(pool)
    return value[rng.randrange(len(value))] if len(value) else value.any()


class Registers(RandomDesign):
    """Registers of any shape, some without reset, assigned whole or in part under nested conditions."""

    def body(self, m: Module, rng: random.Random, inputs: list[Value]) -> list[Value]:
        registers = []
        for k in range(6):
            shape = random_shape(rng, self.most)
            init = rng.getrandbits(shape.width - shape.signed)
            registers.append(Signal(shape, name=f"r{k}", init=init, reset_less=rng.random() < 0.3))
        pool: list[Value] = [*inputs, *registers]
        pool += [_expression(m, rng, pool, f"e{k}") for k in range(6)]
        for register in registers:
            self._assign(m, rng, register, pool, depth=0)
        return [*registers, pool[-1]]

    def _assign(self, m: Module, rng: random.Random, target: Signal, pool: list[Value], depth: int) -> None:
        kind = rng.randrange(5 if depth < 2 else 2)
        if kind == 0:
            m.d.sync += target.eq(rng.choice(pool))
        elif kind == 1:
            start = rng.randrange(len(target))
            m.d.sync += target[start : rng.randint(start + 1, len(target))].eq(rng.choice(pool))
        elif kind == 2:
            self._switch(m, rng, target, pool, depth)
        else:
            with m.If(rng.choice(pool).any()):
                self._assign(m, rng, target, pool, depth + 1)
            with m.Elif(_bit(rng, pool)):
                self._assign(m, rng, target, pool, depth + 1)
            if kind == 4:
                with m.Else():
                    self._assign(m, rng, target, pool, depth + 1)

    def _switch(self, m: Module, rng: random.Random, target: Signal, pool: list[Value], depth: int) -> None:
        value = rng.choice([value for value in pool if len(value)])
        with m.Switch(value[: min(len(value), 3)]):
            for _ in range(3):
                patterns = ["".join(rng.choice("01-") for _ in range(min(len(value), 3))) for _ in range(2)]
                with m.Case(*patterns):
                    self._assign(m, rng, target, pool, depth + 1)
            if rng.random() < 0.5:
                with m.Default():
                    self._assign(m, rng, target, pool, depth + 1)


class Targets(RandomDesign):
    """Assignments to chosen bits, chosen words, elements of arrays and concatenations."""

    def body(self, m: Module, rng: random.Random, inputs: list[Value]) -> list[Value]:
        wide = [Signal(random_shape(rng, self.most), name=f"w{k}") for k in range(4)]
        elements = Array(Signal(rng.randint(1, 80), name=f"a{k}") for k in range(rng.randint(1, 5)))
        index = [_bit_field(rng, inputs) for _ in range(4)]
        domain = (m.d.sync, m.d.comb)[rng.randrange(2)]
        domain += wide[0].bit_select(index[0], rng.choice((1, 5, 9, 64, 70))).eq(rng.choice(inputs))
        width = min(len(wide[1]), rng.choice((1, 3, 8, 33, 65)))
        domain += wide[1].word_select(index[1], width).eq(rng.choice(inputs))
        domain += elements[index[2]].eq(rng.choice(inputs))
        with m.If(_bit(rng, inputs)):
            domain += Cat(wide[2], wide[3][: rng.randint(0, len(wide[3]))]).eq(Cat(*inputs))
        return [*wide, *elements, Value.cast(elements[index[3]])]


def _bit_field(rng: random.Random, inputs: list[Value]) -> Value:
    value = rng.choice(inputs)
    return value[: rng.randint(1, min(len(value), 6))].as_unsigned()


class StateMachine(RandomDesign):
    """Two state machines; one may be kept in reset or stopped."""

    def body(self, m: Module, rng: random.Random, inputs: list[Value]) -> list[Value]:
        shown: list[Value] = []
        for k in range(2):
            part, values = _fsm(rng, inputs, k)
            wrap = rng.randrange(3)
            if wrap == 1:
                m.submodules[f"machine_{k}"] = ResetInserter(_bit(rng, inputs))(part)
            elif wrap == 2:
                m.submodules[f"machine_{k}"] = EnableInserter(_bit(rng, inputs))(part)
            else:
                m.submodules[f"machine_{k}"] = part
            shown += values
        return shown


def _fsm(rng: random.Random, inputs: list[Value], number: int) -> tuple[Module, list[Value]]:
    m = Module()
    states = [f"S{k}" for k in range(rng.randint(1, 6))]
    count = Signal(rng.randint(1, 70), name=f"count_{number}", init=1)
    action = Signal(rng.randint(1, 9), name=f"action_{number}")
    with m.FSM(name=f"fsm_{number}") as fsm:
        for k, state in enumerate(states):
            with m.State(state):
                m.d.comb += action.eq(k + 1)
                m.d.sync += count.eq(rng.choice((count + k, count << 1, ~count, rng.choice(inputs))))
                with m.If(_bit(rng, [*inputs, count])):
                    m.next = rng.choice(states)
                with m.Elif(_bit(rng, inputs)):
                    m.next = rng.choice(states)
    ongoing = Signal(len(states), name=f"ongoing_{number}")
    m.d.comb += ongoing.eq(Cat(fsm.ongoing(state) for state in states))
    return m, [count, action, ongoing]


class Queues(RandomDesign):
    """Amaranth's own queues."""

    def body(self, m: Module, rng: random.Random, inputs: list[Value]) -> list[Value]:
        shown: list[Value] = []
        for k, kind in enumerate((SyncFIFO, SyncFIFOBuffered)):
            queue = kind(width=rng.choice((1, 7, 8, 64, 65, 130)), depth=rng.choice((1, 2, 3, 4, 7)))
            m.submodules[f"queue_{k}"] = queue
            m.d.comb += [
                queue.w_data.eq(rng.choice(inputs)),
                queue.w_en.eq(_bit(rng, inputs)),
                queue.r_en.eq(_bit(rng, inputs)),
            ]
            shown += [queue.r_data, queue.r_rdy, queue.w_rdy, queue.level]
        return shown


class MemoryMix(RandomDesign):
    """Memories of any width and depth, with several ports of all kinds."""

    def body(self, m: Module, rng: random.Random, inputs: list[Value]) -> list[Value]:
        shown: list[Value] = []
        for k in range(2):
            lanes = rng.choice((1, 1, 2, 4, 6))
            lane = rng.choice((1, 3, 8, 9, 16, 32, 64, 70))
            depth = rng.choice((1, 2, 3, 5, 8, 13, 20))
            shape = data.ArrayLayout(unsigned(lane), lanes)
            init = [[rng.getrandbits(lane) for _ in range(lanes)] for _ in range(rng.randint(0, depth))]
            m.submodules[f"memory_{k}"] = memory = Memory(shape=shape, depth=depth, init=init)
            shown += self._ports(m, rng, memory, inputs, lanes)
        return shown

    def _ports(self, m: Module, rng: random.Random, memory: Any, inputs: list[Value], lanes: int) -> list[Value]:
        granularities = [None, *(size for size in range(1, lanes + 1) if lanes % size == 0)]
        writers = [memory.write_port(granularity=rng.choice(granularities)) for _ in range(rng.randint(0, 3))]
        for k, port in enumerate(writers):
            m.d.comb += [
                # Ports that write one row in one cycle have no defined order: their lowest address bit differs.
                port.addr.eq(_apart(_bit_field(rng, inputs), k, len(port.addr), len(writers))),
                Value.cast(port.data).eq(rng.choice(inputs)),
                port.en.eq(rng.choice(inputs)),
            ]
        shown: list[Value] = []
        for _ in range(rng.randint(1, 3)):
            if rng.random() < 0.3:
                port = memory.read_port(domain="comb")
            else:
                port = memory.read_port(transparent_for=[w for w in writers if rng.random() < 0.5])
                m.d.comb += port.en.eq(rng.choice((_bit(rng, inputs), Mux(_bit(rng, inputs), 1, 1))))
            m.d.comb += port.addr.eq(_bit_field(rng, inputs))
            shown.append(Value.cast(port.data))
        return shown


def _apart(address: Value, number: int, width: int, count: int) -> Value:
    """Return an address that no other of ``count`` ports has, as far as ``width`` bits can tell them apart."""
    bits = (count - 1).bit_length()
    return Cat(Const(number, bits), address[: max(width - bits, 0)])


class Gated(RandomDesign):
    """Blocks with much work behind few enables: what the simulator branches around, and lets sleep."""

    def body(self, m: Module, rng: random.Random, inputs: list[Value]) -> list[Value]:
        enables = [_bit(rng, inputs) for _ in range(3)]
        shown: list[Value] = []
        for k in range(3):
            part = Module()
            m.submodules[f"part_{k}"] = part
            registers = [Signal(signed(rng.choice((8, 16, 32, 40, 64, 90))), name=f"g{k}_{n}") for n in range(8)]
            pool: list[Value] = [*inputs, *registers, *shown[:4]]
            for register in registers:
                with part.If(rng.choice(enables)):
                    part.d.sync += register.eq(_expression(part, rng, pool, register.name + "_next"))
                if rng.random() < 0.3:
                    with part.If(rng.choice(enables) & _bit(rng, inputs)):
                        part.d.sync += register.eq(0)
            counter = Signal(20, name=f"counter_{k}")
            part.d.sync += counter.eq(counter + rng.choice(enables))
            shown += [*registers, counter]
        return shown


class Lanes(RandomDesign):
    """Equal work on the lanes of a vector, as LLVM makes vectors of, in a pipeline with a valid bit."""

    def body(self, m: Module, rng: random.Random, inputs: list[Value]) -> list[Value]:
        width, lanes = rng.choice((8, 16, 32)), rng.choice((3, 8, 16))
        vector = Signal(width * lanes, name="vector")
        other = Signal(width * lanes, name="other")
        valid = Signal(name="valid")
        m.d.sync += [valid.eq(_bit(rng, inputs)), vector.eq(Cat(*inputs)), other.eq(Cat(*inputs, vector)[7:])]
        operation = rng.randrange(4)
        total = Signal(width * lanes, name="total")
        for lane in range(lanes):
            a = vector.word_select(lane, width).as_signed()
            b = other.word_select(lane, width).as_signed()
            result = (a + b, a * b, Mux(a < b, a, b), a >> b[:3].as_unsigned())[operation]
            with m.If(valid):
                m.d.sync += total.word_select(lane, width).eq(result)
        return [total, total.word_select(inputs[0][0], min(width * lanes, 70))]
