"""What a step of the tensor ALU has to wait for: known from registers in the cycle in which it wants to go on.

Tests: ``tests/hw/compute/test_stage_alu.py``, ``tests/hw/compute/test_stage_random.py``; costs:
``tests/hw/test_reset.py``.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value

from hw.accumulator import bank_of_place

__all__ = ["AluConflicts", "AluMoves", "unless"]


@dataclass(frozen=True, slots=True)
class AluMoves:
    """What moves in this cycle: X takes a step, X's step leaves it, to the pipeline at once, or to Y, Y's leaves."""

    x_loads: Value
    x_leaves: Value
    at_once: Value
    to_y: Value
    y_leaves: Value


class AluConflicts:
    """Registers that go along with the steps in X and Y (see ``TensorAlu``), of which each says what holds now.

    ``x_dst``, ``x_src`` and ``y_dst`` have a bit for each stage of the pipeline, set where a result for that address is
    under way in it: in the next cycle it is in the stage after it. A step is compared with all of them in the cycle in
    which X takes it, and with what comes into the first stage afterwards. ``src_in_y`` says that the step in Y writes
    X's source, ``known`` that this source need not be read, being an immediate or the source before it, unchanged, and
    ``apart`` that X's source is in another bank than its destination.
    """

    def __init__(self, stages: int) -> None:
        self.x_dst = Signal(stages, reset_less=True)
        self.x_src = Signal(stages, reset_less=True)
        self.y_dst = Signal(stages, reset_less=True)
        self.x_dst_waits = Signal(reset_less=True)
        self.x_src_waits = Signal(reset_less=True)
        self.y_dst_waits = Signal(reset_less=True)
        self.src_in_y = Signal(reset_less=True)
        self.known = Signal(reset_less=True)
        self.apart = Signal(reset_less=True)

    def update(
        self,
        m: Module,
        moves: AluMoves,
        *,
        following: Any,
        x: Any,
        src: Signal,
        second: Value | None,
        y: Any,
        flight: Sequence[Any],
    ) -> None:
        """Keep the registers up to date; ``following`` is what X takes in cycles in which it does.

        ``second`` says that what is in X reads a second operand alone, which is kept elsewhere; None: nothing does.
        """
        begins = moves.at_once | moves.y_leaves
        in_y = _equal(m, y.dst, x.dst, "y_dst_is_x_dst")
        to_x = _equal(m, x.dst, following.src, "x_dst_is_new_src")
        in_y_new = _equal(m, y.dst, following.src, "y_dst_is_new_src")
        sides = (
            (self.x_dst, self.x_dst_waits, following.dst, in_y, _equal(m, x.dst, following.dst, "x_dst_is_new_dst"),
             _equal(m, y.dst, following.dst, "y_dst_is_new_dst")),
            (self.x_src, self.x_src_waits, following.src, _equal(m, y.dst, src, "y_dst_is_x_src"), to_x, in_y_new),
        )  # fmt: skip
        for bits, waits, new, y_is_old, x_is_new, y_is_new in sides:
            behind = [
                stage.valid & _equal(m, stage.dst, new, f"{bits.name}_new_{index}")
                for index, stage in enumerate(flight[:-1])
            ]
            begun = begins & Mux(y.valid, y_is_new, x_is_new)
            # What moves is known last: both outcomes are there by then, of the bits and of whether one of them is set.
            stays = Cat(moves.y_leaves & y_is_old, bits[:-1])
            m.d.sync += [
                bits.eq(Mux(moves.x_loads, Cat(begun, *behind), stays)),
                waits.eq(Mux(moves.x_loads, begun | Cat(behind).any(), stays[0] | bits[:-1].any())),
            ]
        to_y = moves.to_y & to_x
        begun_in_y = moves.y_leaves & in_y
        y_takes = ~y.valid | moves.y_leaves
        m.d.sync += [
            self.y_dst.eq(Mux(y_takes, Cat(begun_in_y, self.x_dst[:-1]), Cat(0, self.y_dst[:-1]))),
            self.y_dst_waits.eq(Mux(y_takes, begun_in_y | self.x_dst[:-1].any(), self.y_dst[:-1].any())),
        ]
        with m.If(moves.x_loads):
            m.d.sync += [
                self.src_in_y.eq(to_y | (y.valid & ~moves.y_leaves & in_y_new)),
                self.apart.eq(bank_of_place(following.dst) != bank_of_place(following.src)),
            ]
        with m.Elif(moves.y_leaves):
            m.d.sync += self.src_in_y.eq(0)
        self._update_known(m, moves, following=following, x=x, src=src, second=second)

    def _update_known(
        self, m: Module, moves: AluMoves, *, following: Any, x: Any, src: Signal, second: Value | None
    ) -> None:
        """Say whether the step that X takes needs no read of its source."""
        valid = Signal(name="source_valid")
        address = Signal(len(src), name="source_address", reset_less=True)
        stays = Signal()
        m.d.comb += stays.eq(unless(second, ~x.meta.use_imm & ~x.last & ~_equal(m, x.dst, src, "x_dst_is_x_src")))
        with m.If(moves.x_leaves):
            m.d.sync += [valid.eq(stays), address.eq(src)]
        same = _equal(m, src, following.src, "x_src_is_new_src")
        kept = _equal(m, address, following.src, "kept_src_is_new_src")
        before = Mux(moves.x_leaves, stays & same, valid & kept)
        with m.If(moves.x_loads):
            follows = None if second is None else following.second
            m.d.sync += self.known.eq(following.meta.use_imm | unless(follows, before))


def unless(flag: Value | None, value: Value) -> Value:
    """Return ``value`` where there is no ``flag``, or it is not set."""
    return value if flag is None else value & ~flag


def _equal(m: Module, one: Value, other: Value, name: str) -> Signal:
    """Return whether two addresses are equal, as a signal that is kept.

    Synthesis would choose between addresses first, and compare what was chosen: that comes late.
    """
    equal = Signal(name=name, attrs={"keep": 1})
    m.d.comb += equal.eq(one == other)
    return equal
