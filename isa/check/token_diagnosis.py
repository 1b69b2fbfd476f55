"""Where a token is missing, in words: between two accesses that nothing orders, and for a pop that finds no token.

Tokens carry no names, so one that is dropped shifts all later ones by a place. What each pop is needed for (the
accesses that follow it) tells which place was the first. Tests: ``tests/isa/check/test_races.py``.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from isa.check.access_order import NOBODY, Need
from isa.check.findings import Finding, FindingKind, Names, Severity
from isa.check.token_flow import Shortage, TokenFlow
from isa.instructions import Instruction, Module
from isa.tokens import TokenQueue

__all__ = ["TokenDiagnosis"]

T = TypeVar("T")

_LOOSE, _BROKEN = 1, 100
"""What it costs to explain a pop by a push that is later than needed, and by one that is too early."""


_NAMED = 3
"""How many pops are named as candidates for the one without a token."""

_WINDOW = 32
"""How many pops, up to the one that finds no token, are searched for the cause."""


@dataclass(frozen=True, slots=True)
class TokenDiagnosis:
    """The tokens of a program, and what its instructions need (``AccessOrder.needs``)."""

    instructions: Sequence[Instruction]
    names: Names
    flow: TokenFlow
    needs: Sequence[tuple[int, int, int, int]]

    # --- accesses that nothing orders --------------------------------------------------------------------------------

    def race(self, index: int, need: Need) -> Finding:
        """Return the finding for instruction ``index``, which may start before ``need`` is complete."""
        module = self.instructions[index].module
        others = [need.index]
        queue = next((q for q in TokenQueue if q.ends == (need.module, module)), None)
        if queue is None:
            why = f"no tokens lead from {need.module.name} over COMPUTE to {module.name} in between"
        else:
            why = self._missing(queue, giver=need.index, taker=index, others=others)
        message = (
            f"{self.names.short(index)} {need.does} {need.what}, which {self.names.full(need.index)} may still "
            f"{'write' if need.did == 'writes' else 'read'}: {why}"
        )
        return Finding(Severity.ERROR, index, message, FindingKind.RACE, tuple(others), self.names.origins[index])

    def _missing(self, queue: TokenQueue, *, giver: int, taker: int, others: list[int]) -> str:
        """Say which token of ``queue`` is missing from ``giver`` to ``taker``; ``others`` are named."""
        flow = self.flow
        parts = []
        last = flow.last_giver(queue, taker)
        if last is not None and last != giver:
            others.append(last)
            parts.append(f"its last token of {queue.value} comes from instruction {last}")
        given = flow.next_giver(queue, giver)
        if given is None or given > taker:
            parts.append(f"no instruction from {giver} on gives a token of {queue.value} before it")
            return "; ".join(parts)
        late = flow.taker(queue, given)
        place = self._after(given, queue.ends[1])
        others += [given, place]
        end = "nobody takes" if late is None else f"instruction {late} takes, too late"
        if late is not None:
            others.append(late)
        parts.append(f"instruction {place} should take the token of {queue.value} that {given} gives, which {end}")
        spare = self._spare(queue, taker)
        if spare is not None and spare not in (last, given):
            place = self._after(spare, queue.ends[1])
            others += [spare, place]
            parts.append(f"the one that {spare} gives is one too many, unless instruction {place} should take it")
        return "; ".join(parts)

    def _spare(self, queue: TokenQueue, taker: int) -> int | None:
        """Return the push before ``taker`` without which all others since the queue was empty fit best, or None."""
        givers, takers = self.flow.givers[queue], self.flow.takers[queue]
        count = bisect_right(takers, taker)
        first = self._emptied(queue, count)
        window = givers[first : count + 1]
        if len(window) <= 1 or len(window) != count + 1 - first:
            return None
        needed = self._needed_by(queue, range(first, count))
        costs = [_cost(_without(window, place), needed) for place in range(len(window))]
        return window[costs.index(min(costs))]

    def _emptied(self, queue: TokenQueue, count: int) -> int:
        """Return how many of the first ``count`` pops had been done when the queue was last empty (or the window's)."""
        givers, takers = self.flow.givers[queue], self.flow.takers[queue]
        first = count - 1
        while first > max(0, count - _WINDOW) and not (first < len(givers) and givers[first] > takers[first - 1]):
            first -= 1
        return max(first, 0)

    def _after(self, index: int, module: Module) -> int:
        """Return the first instruction of ``module`` after ``index`` (there is one)."""
        return next(i for i in range(index + 1, len(self.instructions)) if self.instructions[i].module == module)

    # --- a pop without a push ----------------------------------------------------------------------------------------

    def shortage(self, shortage: Shortage) -> Finding:
        """Return the finding for the first pop in program order that finds no token."""
        index, queue = shortage.index, shortage.queue
        (suspect, needed), *rest = self._suspects(shortage)
        later = self._later_giver(shortage)
        others = [i for i in (later, None if suspect == index else suspect) if i is not None]
        if later is None:
            text = f"takes a token from {queue.value} that nothing gives"
        else:
            text = f"takes a token from {queue.value} that instruction {later} gives, which is not before it"
        if needed is not None:
            others.append(needed)
            subject = "it" if suspect == index else f"instruction {suspect}, which takes one too,"
            text += f"; {subject} must wait for {self.names.full(needed)}, which gives none"
        elif suspect != index:
            text += f"; instruction {suspect} takes one without a need for it"
        elif later is None:
            last = self._last_of(queue.ends[0], before=index)
            if last is not None:
                others.append(last)
                text += f"; the last instruction of {queue.ends[0].name} before it is {self.names.full(last)}"
        also = [place for place, _ in rest if place != index]
        if also:
            others += also
            text += f"; it may as well be instruction {' or '.join(map(str, also))} that takes one too many"
        return Finding(Severity.ERROR, index, text, FindingKind.TOKENS, tuple(others), self.names.origins[index])

    def _later_giver(self, shortage: Shortage) -> int | None:
        """Return who gives the token after it was needed, or None."""
        place = bisect_left(self.flow.takers[shortage.queue], shortage.index)
        givers = self.flow.givers[shortage.queue]
        return givers[place] if place < len(givers) else None

    def _suspects(self, shortage: Shortage) -> list[tuple[int, int | None]]:
        """Return the pops that may be the one too many, the likeliest first, and who should have pushed for each."""
        queue = shortage.queue
        takers = self.flow.takers[queue]
        count = bisect_left(takers, shortage.index) + 1
        first = self._emptied(queue, count - 1) if count > 1 else 0
        givers = self.flow.givers[queue][first : count - 1]
        needed = self._needed_by(queue, range(first, count))
        costs = [_cost(givers, _merged(needed, place)) for place in range(len(needed))]  # if the pop is one too many
        lacking = [  # if a push is missing for it
            _BROKEN if wanted is None or wanted in givers else _cost(givers, _without(needed, place))
            for place, wanted in enumerate(needed)
        ]
        best = min(*costs, *lacking)
        found = [
            (min(cost, lack), lack > cost, -place)
            for place, (cost, lack) in enumerate(zip(costs, lacking, strict=True))
            if min(cost, lack) <= best + _LOOSE
        ]
        return [
            (takers[first - minus], None if spare else needed[-minus]) for _, spare, minus in sorted(found)[:_NAMED]
        ]

    def _needed_by(self, queue: TokenQueue, places: range) -> list[int | None]:
        """Return, for each of the pops ``places``, what it is needed for and no earlier pop is."""
        needed: list[int | None] = []
        latest = NOBODY
        for place in places:
            wanted = self._needed(queue, place)
            needed.append(wanted if wanted is not None and wanted > latest else None)
            latest = max(latest, NOBODY if wanted is None else wanted)
        return needed

    def _needed(self, queue: TokenQueue, place: int) -> int | None:
        """Return the giving module's last instruction that is needed from pop ``place`` up to the next pop."""
        giver_module, module = queue.ends
        takers = self.flow.takers[queue]
        stop = takers[place + 1] if place + 1 < len(takers) else len(self.instructions)
        found = max(
            (
                self.needs[i][giver_module]
                for i in range(takers[place], min(stop, len(self.needs)))
                if self.instructions[i].module == module
            ),
            default=NOBODY,
        )
        return found if found != NOBODY else None

    def _last_of(self, module: Module, *, before: int) -> int | None:
        return next((i for i in range(before - 1, -1, -1) if self.instructions[i].module == module), None)


def _without(entries: Sequence[T], place: int) -> list[T]:
    return [*entries[:place], *entries[place + 1 :]]


def _merged(needed: Sequence[int | None], place: int) -> list[int | None]:
    """Return the needs without a pop: the one before it must then wait for what it was needed for."""
    rest = _without(needed, place)
    if place and needed[place] is not None:
        rest[place - 1] = needed[place]
    return rest


def _cost(givers: Sequence[int], needed: Sequence[int | None]) -> int:
    """Return how badly pushes fit what the pops that take them are needed for."""
    return sum(_mismatch(giver, wanted) for giver, wanted in zip(givers, needed, strict=True))


def _mismatch(giver: int, wanted: int | None) -> int:
    if wanted is None or wanted < giver:
        return _LOOSE
    return 0 if wanted == giver else _BROKEN
