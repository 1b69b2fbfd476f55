"""Instructions in slices: a nest of three loops that leaves in the middle when enough was done, and goes on there.

One instruction may take hours (2^41 tensor operations), and while native code runs no signal is heard. So ``run`` has a
budget of tensor operations; where that is spent, the instruction at hand notes how far it is and returns
``Status.PAUSED``, and the next ``run`` enters it again. Instructions of at most ``WHOLE`` operations, which is nearly
all of them, are done at once, by loops that look at nothing. Tests: ``tests/runtime/sim/test_slices.py``.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from runtime.sim.emit import Emitter, Num, Variable
from runtime.sim.failures import Failing
from runtime.sim.record import Status

__all__ = ["WHOLE", "Slices", "emit_in_slices", "emit_whole_or_sliced", "leave_no_place"]

WHOLE = 1 << 20
"""Tensor operations of an instruction that is not cut."""

_PLACES = ("inside_0", "inside_1", "inside_2")


@dataclass(frozen=True, slots=True)
class Slices:
    """The budget and the place in the loops of an instruction, in the function that executes it; or nothing of that.

    ``begins`` are where the loops begin: where the instruction was left the first time around each, then at 0.
    """

    emit: Emitter
    failing: Failing
    budget: Variable | None
    begins: tuple[Variable, ...]

    @classmethod
    def read(cls, emit: Emitter) -> "Slices":
        """Read budget and place from the record."""
        failing = Failing(emit)
        begins = tuple(emit.variable(failing.get(name)) for name in _PLACES)
        return cls(emit, failing, emit.variable(failing.get("budget")), begins)

    @classmethod
    def none(cls, emit: Emitter) -> "Slices":
        """Return what cuts nothing."""
        return cls(emit, Failing(emit), None, ())

    @contextmanager
    def loops(self, *counts: Num | int) -> Iterator[list[Num]]:
        """Run the block with a number below each of up to three ``counts``, the last one fastest."""
        with ExitStack() as stack:
            yield [stack.enter_context(self._loop(place, count)) for place, count in enumerate(counts)]

    @contextmanager
    def _loop(self, place: int, count: Num | int) -> Iterator[Num]:
        with self.emit.loop(count, begin=self._begin(place)) as number:
            if self.begins:
                self.begins[place].assign(0)
            yield number

    def _begin(self, place: int) -> Num | int:
        return self.begins[place].num if self.begins else 0

    def spend(self, amount: Num | int, place: list[Num]) -> None:
        """Take ``amount`` tensor operations off the budget; or pause before them, at ``place`` in the loops."""
        if self.budget is None:
            return
        with self.emit.when(self.budget.num.equals(0)):
            for name, number in zip(_PLACES, place, strict=False):
                self.failing.put(name, number)
            self.failing.put("budget", 0)
            self.emit.give(Status.PAUSED)
        left = self.budget.num
        self.budget.assign(left - left.minimum(amount))

    def end(self) -> None:
        """Note what is left of the budget."""
        if self.budget is not None:
            self.failing.put("budget", self.budget.num)


def emit_in_slices(failing: Failing, trips: Num, nest: Callable[[Slices], None]) -> None:
    """Write the loop ``nest`` of an instruction of ``trips`` operations twice: to be done at once, and in slices."""
    emit_whole_or_sliced(failing, trips, lambda: nest(Slices.none(failing.emit)), nest)


def emit_whole_or_sliced(
    failing: Failing, trips: Num, whole: Callable[[], None], sliced: Callable[[Slices], None]
) -> None:
    """Write both ways to do an instruction of ``trips`` operations, each where it is to be taken."""
    emit = failing.emit
    with emit.choose(trips <= WHOLE) as (short, long):
        with short:
            budget = failing.get("budget")
            failing.put("budget", budget - budget.minimum(trips))
            whole()
        with long:
            slices = Slices.read(emit)
            sliced(slices)
            slices.end()


def leave_no_place(failing: Failing) -> None:
    """Note that the next instruction begins at its beginning."""
    for name in ("inside", *_PLACES):
        failing.put(name, 0)
