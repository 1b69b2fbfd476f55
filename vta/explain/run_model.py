"""A recorded launch as a system of dependencies that can be timed again with other durations.

Instructions are issued in order, each when its module's queue has room. Every instruction of a module starts, in order,
when it has been issued, its tokens are there and the module takes another one; it completes, in order, some cycles
after its start or after the completion of the one before it, whichever is later. These cycles are its *step*: work
(beats on the bus, micro-ops, tiles) and the rest (latency, drains). With the steps that were measured, the model gives
the measured times back exactly; with others, what a launch would take.
Imports ``vta.trace`` and what that stands on. Tests: tests/vta/explain/test_run_model.py.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from isa.instructions import Alu, Gemm, Instruction, Load, Module, Store
from isa.tokens import TokenQueue, pops, pushes
from runtime.timeline import NEVER
from vta.trace import Recorded

__all__ = ["RunModel", "Schedule"]

Column = npt.NDArray[np.int64]

_PATIENCE = 3
"""A module that takes an instruction this soon after a completion had waited for that."""

_INSIDE = 64
"""Instructions that a module may have inside, at most."""


@dataclass(frozen=True, slots=True, eq=False)
class Schedule:
    """When each instruction of a run is issued, starts and completes, in cycles."""

    issued: Column
    begun: Column
    ended: Column


@dataclass(frozen=True, slots=True)
class _Wait:
    """What an instruction waits for, -1 where that is nobody, and how many cycles then pass.

    It is issued behind the start of ``room``, which makes room in the queue, and ``fetch`` cycles; it starts behind the
    start of ``after``, the completion of ``behind``, and ``delay`` cycles.
    """

    room: int
    fetch: int
    after: int
    behind: int
    delay: int


@dataclass(frozen=True, slots=True, eq=False)
class RunModel:
    """The dependencies of a launch on a device with a clock, and the steps that it was measured to take.

    ``work`` and ``rest`` are the two parts of each step; ``tokens`` has for each queue the pushing and the popping
    instructions in order; ``lent`` tokens are in a queue from the beginning.
    """

    instructions: tuple[Instruction, ...]
    work: Column
    rest: Column
    tokens: Mapping[TokenQueue, tuple[tuple[int, ...], tuple[int, ...]]]
    lent: Mapping[TokenQueue, int]
    waits: tuple[_Wait, ...]

    @classmethod
    def of(cls, launch: Recorded, *, beat_bytes: int) -> "RunModel":
        """Return the model of a launch that finished; ``ValueError`` for one without a clock or that failed."""
        timeline = launch.timeline
        if timeline.error is not None or (timeline.ended == NEVER).any():
            raise ValueError("the launch failed, so there is no whole run to explain")
        if timeline.issued is None:
            raise ValueError(f"device {timeline.device!r} has no clock; record with --target tsim")
        givers: dict[TokenQueue, list[int]] = {queue: [] for queue in TokenQueue}
        takers: dict[TokenQueue, list[int]] = {queue: [] for queue in TokenQueue}
        for index, instruction in enumerate(launch.instructions):
            for queue in pushes(instruction.module, instruction.deps):
                givers[queue].append(index)
            for queue in pops(instruction.module, instruction.deps):
                takers[queue].append(index)
        tokens = {queue: (tuple(givers[queue]), tuple(takers[queue])) for queue in TokenQueue}
        steps = _steps(launch)
        most = np.array([_work(instruction, launch, beat_bytes) for instruction in launch.instructions], np.int64)
        work = np.minimum(steps, most)
        plain = cls(tuple(launch.instructions), work, steps - work, tokens, dict.fromkeys(TokenQueue, 0), ())
        return replace(plain, waits=tuple(_waits(launch, plain)))

    def module(self, module: Module) -> Column:
        """Return the indices of a module's instructions."""
        return np.array([i for i, own in enumerate(self.instructions) if own.module is module], np.int64)

    def cycles(self) -> int:
        """Return how many cycles the launch takes."""
        return int(self.schedule().ended.max()) + 1

    def schedule(self) -> Schedule:
        """Return when everything happens."""
        count = len(self.instructions)
        issues, begun, ended = [0] * count, [0] * count, [0] * count
        pushed, before, issued = self.givers(), self.before(), -1
        steps = (self.work + self.rest).tolist()
        for index, wait in enumerate(self.waits):
            room = begun[wait.room] + 1 if wait.room >= 0 else 0
            issues[index] = issued = max(issued + 1, room) + wait.fetch
            after = begun[wait.after] if wait.after >= 0 else -1
            behind = ended[wait.behind] if wait.behind >= 0 else -1
            given = (ended[giver] for giver in pushed[index])
            begun[index] = max(issued, after, behind, *given) + 1 + wait.delay
            earlier = before[index]
            ended[index] = max(begun[index], ended[earlier] if earlier >= 0 else -1) + steps[index]
        return Schedule(*(np.array(times, np.int64) for times in (issues, begun, ended)))

    def before(self) -> list[int]:
        """Return for each instruction the one before it in its module, -1 if there is none."""
        last = dict.fromkeys(Module, -1)
        found = []
        for index, instruction in enumerate(self.instructions):
            found.append(last[instruction.module])
            last[instruction.module] = index
        return found

    def givers(self) -> list[list[int]]:
        """Return for each instruction those whose tokens it pops."""
        waits: list[list[int]] = [[] for _ in self.instructions]
        for queue, (givers, takers) in self.tokens.items():
            for number, taker in enumerate(takers):
                place = number - self.lent[queue]
                if place >= 0:
                    waits[taker].append(givers[place])
        return waits


def _ended(launch: Recorded) -> Column:
    """Return when each instruction counts as completed: a reset, when its module goes past it."""
    timeline = launch.timeline
    return timeline.ended if timeline.settled is None else timeline.settled


def _steps(launch: Recorded) -> Column:
    """Return each instruction's step: from its start or the completion before it, whichever is later, to its own."""
    timeline, steps = launch.timeline, np.zeros(len(launch), np.int64)
    for module in Module:
        indices = np.array([i for i, own in enumerate(launch.modules) if own is module], np.int64)
        ended = _ended(launch)[indices]
        before = np.concatenate([[-1], ended[:-1]]) if len(ended) else ended
        steps[indices] = ended - np.maximum(timeline.begun[indices], before)
    return steps


def _work(instruction: Instruction, launch: Recorded, beat_bytes: int) -> int:
    """Return the cycles that an instruction keeps its bottleneck busy: beats of the bus, micro-ops or tiles."""
    match instruction:
        case Load() | Store():
            row = instruction.x_size * launch.config.elem_bytes(instruction.memory)
            return instruction.y_size * -(-row // beat_bytes)
        case Gemm() | Alu():
            return max(instruction.uop_end - instruction.uop_bgn, 0) * instruction.iter_out * instruction.iter_in
        case _:
            return 0


def _waits(launch: Recorded, model: RunModel) -> list[_Wait]:
    """Return what held each instruction back beyond its tokens."""
    timeline, givers = launch.timeline, model.givers()
    assert timeline.issued is not None
    issued, begun, ended = (times.tolist() for times in (timeline.issued, timeline.begun, _ended(launch)))
    own: dict[Module, list[int]] = {module: [] for module in Module}
    depth = {module: _queue_depth(launch, module) for module in Module}
    waits: list[_Wait] = []
    for index, instruction in enumerate(launch.instructions):
        earlier = own[instruction.module]
        room = earlier[-depth[instruction.module]] if len(earlier) >= depth[instruction.module] else -1
        free = max(issued[index - 1] + 1 if index else 0, begun[room] + 1 if room >= 0 else 0)
        after = earlier[-1] if earlier else -1
        ready = max(issued[index], begun[after] if after >= 0 else -1, *(ended[giver] for giver in givers[index])) + 1
        behind = -1
        if begun[index] > ready:  # full inside: it was taken when an earlier one had completed
            done = [other for other in earlier[-_INSIDE:] if begun[index] - _PATIENCE <= ended[other] < begun[index]]
            if done:
                behind = done[-1]
                ready = max(ready, ended[behind] + 1)
        waits.append(_Wait(room, issued[index] - free, after, behind, begun[index] - ready))
        earlier.append(index)
    return waits


def _queue_depth(launch: Recorded, module: Module) -> int:
    """Return the fewest instructions that a module's queue must hold for what was measured."""
    timeline = launch.timeline
    assert timeline.issued is not None
    own = np.array([index for index, owner in enumerate(launch.modules) if owner is module], np.int64)
    issued, begun = timeline.issued[own], timeline.begun[own]
    waiting = np.arange(len(own)) - np.searchsorted(begun, issued)  # earlier ones that had not started then
    return int(waiting.max(initial=0)) + 1
