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
    at_once: Value
    to_y: Value
    y_leaves: Value


class _Results:
    """The results that an address of X's step waits for.

    ``bits`` has a bit for each stage of the pipeline, set where a result for that address is under way in it: in the
    next cycle it is in the stage after it. ``in_y`` says that the step in Y will have another one.
    """

    def __init__(self, stages: int, name: str) -> None:
        self.bits = Signal(stages, name=f"x_{name}", reset_less=True)
        self.in_y = Signal(name=f"{name}_in_y", reset_less=True)

    def update(
        self, m: Module, moves: AluMoves, new: Value, *, x: Any, second: Value | None, y: Any, flight: Sequence[Any]
    ) -> tuple[Value, Value]:
        """Follow what moves; ``new`` is the address in the step that X takes.

        Return whether a new step, and whether the one that stays, will wait: it is never too early to say so, since
        what leaves Y, and what leaves X, is either written or in Y afterwards.
        """
        behind = [stage.valid & (stage.dst == new) for stage in flight[:-1]]
        x_is_new = x.dst == new
        y_is_new = y.valid & (y.dst == new)
        begun = (moves.y_leaves & y_is_new) | (moves.at_once & x_is_new)
        stays = Cat(moves.y_leaves & self.in_y, self.bits[:-1])
        m.d.sync += self.bits.eq(Mux(moves.x_loads, Cat(begun, *behind), stays))
        with m.If(moves.x_loads):
            m.d.sync += self.in_y.eq((moves.to_y & x_is_new) | (~moves.y_leaves & y_is_new))
        with m.Elif(moves.y_leaves):
            m.d.sync += self.in_y.eq(0)
        waits = Cat(behind).any() | y_is_new | (unless(second, x.valid) & x_is_new)
        return waits, self.in_y | self.bits[:-1].any()


class AluConflicts:
    """Registers that go along with the steps in X and Y (see ``TensorAlu``), of which each says what holds now.

    A step is compared with all that is under way in the cycle in which X takes it, and with what comes into the first
    stage afterwards. Whether GEMM reads a bank is known a cycle before. So nothing of the following waits for what else
    happens in the cycle:

    - ``x_source``: X has a step whose source is known, or can be read;
    - ``x_dst``: X's destination can be read in the same cycle, if Y has no step;
    - ``x_beside_y``: X's source is known, or in another bank than Y's destination;
    - ``y_dst``: Y has a step, whose destination can be read;
    - ``known``: X's source need not be read, being an immediate or the source before it, unchanged.

    Where Y has a step, ``x_dst`` means nothing, and where it has none, ``x_beside_y``.
    """

    def __init__(self, stages: int) -> None:
        self.x_source = Signal()
        self.x_dst = Signal(reset_less=True)
        self.x_beside_y = Signal(reset_less=True)
        self.y_dst = Signal()
        self.known = Signal(reset_less=True)
        self._of_dst = _Results(stages, "dst")
        self._of_src = _Results(stages, "src")
        self._y_bits = Signal(stages, name="y_dst_bits", reset_less=True)

    def update(
        self,
        m: Module,
        moves: AluMoves,
        *,
        following: Any,
        valid: Value,
        x: Any,
        src: Signal,
        second: Value | None,
        y: Any,
        flight: Sequence[Any],
        gemm_next: Value,
        gemm_next_address: Value,
    ) -> None:
        """Keep the registers up to date; ``following`` is what X takes in cycles in which it does, if it is ``valid``.

        ``second`` says that what is in X reads a second operand alone, which is kept elsewhere; None: nothing does.
        GEMM will read ``gemm_next_address`` in the next cycle.
        """

        def blocked(place: Value) -> Value:
            return gemm_next & (bank_of_place(gemm_next_address) == bank_of_place(place))

        parts = {"x": x, "second": second, "y": y, "flight": flight}
        new_dst_waits, dst_waits = self._of_dst.update(m, moves, following.dst, **parts)
        new_src_waits, src_waits = self._of_src.update(m, moves, following.src, **parts)
        new_known = self._new_known(m, moves, following=following, x=x, src=src, second=second)
        new_bank, new_dst_bank = bank_of_place(following.src), bank_of_place(following.dst)
        apart = Signal(reset_less=True)
        new_together = unless(None if second is None else following.second, new_known | (new_bank != new_dst_bank))
        new_source = valid & (new_known | ~(new_src_waits | blocked(following.src)))
        new_dst = new_together & ~(new_dst_waits | blocked(following.dst))
        source = self.known | ~(src_waits | blocked(src))
        dst = apart & ~(dst_waits | blocked(x.dst))
        # What moves is known last: both outcomes are there by then.
        m.d.sync += [
            self.x_source.eq(Mux(moves.x_loads, new_source, source)),
            self.x_dst.eq(Mux(moves.x_loads, new_dst, dst)),
        ]
        with m.If(moves.x_loads):
            beside_x, beside_y = bank_of_place(x.dst) != new_bank, bank_of_place(y.dst) != new_bank
            beside = (beside_x | ~x.valid) & (beside_y | x.valid)
            m.d.sync += [self.known.eq(new_known), apart.eq(new_together), self.x_beside_y.eq(new_known | beside)]
        self._update_y(m, moves, y, begun=moves.y_leaves & self._of_dst.in_y, x_blocked=blocked(x.dst))
        with m.If(y.valid & ~moves.y_leaves):
            m.d.sync += [
                self.y_dst.eq(~(self._y_bits[:-1].any() | blocked(y.dst))),
                self._y_bits.eq(Cat(0, self._y_bits[:-1])),
            ]

    def _update_y(self, m: Module, moves: AluMoves, y: Any, *, begun: Value, x_blocked: Value) -> None:
        """Let what X's step waits for go along to Y, where there is a place."""
        behind = self._of_dst.bits[:-1]
        m.d.sync += [
            self.y_dst.eq(moves.to_y & ~(begun | behind.any() | x_blocked)),
            self._y_bits.eq(Cat(begun, behind)),
        ]

    def _new_known(
        self, m: Module, moves: AluMoves, *, following: Any, x: Any, src: Signal, second: Value | None
    ) -> Value:
        """Return whether the step that X takes needs no read of its source."""
        valid = Signal(name="source_valid")
        address = Signal(len(src), name="source_address", reset_less=True)
        keeps = Signal(name="x_keeps_source", reset_less=True)
        new_second = None if second is None else following.second
        overwrites = following.dst == following.src
        with m.If(moves.x_loads):
            m.d.sync += keeps.eq(unless(new_second, ~following.meta.use_imm & ~following.last & ~overwrites))
            # Without a step in X, the source is that of the step that was there last.
            with m.If(x.valid):
                m.d.sync += [valid.eq(keeps), address.eq(src)]
        # No choice of addresses: what is chosen is compared late.
        same = x.valid & keeps & (src == following.src)
        kept = ~x.valid & valid & (address == following.src)
        return following.meta.use_imm | unless(new_second, same | kept)


def unless(flag: Value | None, value: Value) -> Value:
    """Return ``value`` where there is no ``flag``, or it is not set."""
    return value if flag is None else value & ~flag
