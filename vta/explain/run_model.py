"""A recorded launch as a system of dependencies that can be timed again with other durations.

Every instruction of a module starts, in order, when it has been issued, its tokens are there and the module takes
another one; it completes, in order, some cycles after its start or after the completion of the one before it, whichever
is later. These cycles are its *step*: work (beats on the bus, micro-ops, tiles) and the rest (latency, drains). With
the steps that were measured, the model gives the measured times back exactly; with others, what a launch would take.
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

__all__ = ["RunModel"]

Column = npt.NDArray[np.int64]

_PATIENCE = 3
"""A module that takes an instruction this soon after a completion had waited for that."""


@dataclass(frozen=True, slots=True)
class _Start:
    """What an instruction waits for: ``after`` starts before it, ``behind`` completes before it (-1: nobody), and then
    ``delay`` cycles pass."""

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
    issued: Column
    work: Column
    rest: Column
    tokens: Mapping[TokenQueue, tuple[tuple[int, ...], tuple[int, ...]]]
    lent: Mapping[TokenQueue, int]
    starts: tuple[_Start, ...]

    @classmethod
    def of(cls, launch: Recorded, *, beat_bytes: int) -> "RunModel":
        """Return the model of a launch that finished; ``ValueError`` for one without a clock or that failed."""
        timeline = launch.timeline
        if timeline.issued is None:
            raise ValueError(f"device {timeline.device!r} has no clock; record with --target tsim")
        if timeline.error is not None or (timeline.ended == NEVER).any():
            raise ValueError("the launch failed, so there is no whole run to explain")
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
        plain = cls(
            tuple(launch.instructions), timeline.issued, work, steps - work, tokens, dict.fromkeys(TokenQueue, 0), ()
        )
        return replace(plain, starts=tuple(_starts(launch, plain)))

    def module(self, module: Module) -> Column:
        """Return the indices of a module's instructions."""
        return np.array([i for i, own in enumerate(self.instructions) if own.module is module], np.int64)

    def cycles(self) -> int:
        """Return how many cycles the launch takes."""
        return int(self.times()[1].max()) + 1

    def times(self) -> tuple[Column, Column]:
        """Return when each instruction starts and completes."""
        count = len(self.instructions)
        begun, ended = np.zeros(count, np.int64), np.zeros(count, np.int64)
        pushed = self._waits()
        last = dict.fromkeys(Module, -1)
        for index, instruction in enumerate(self.instructions):
            start, module = self.starts[index], instruction.module
            ready = int(self.issued[index]) + 1
            if start.after >= 0:
                ready = max(ready, int(begun[start.after]) + 1)
            if start.behind >= 0:
                ready = max(ready, int(ended[start.behind]) + 1)
            for giver in pushed[index]:
                ready = max(ready, int(ended[giver]) + 1)
            begun[index] = ready + start.delay
            before = int(ended[last[module]]) if last[module] >= 0 else -1
            ended[index] = max(int(begun[index]), before) + int(self.work[index] + self.rest[index])
            last[module] = index
        return begun, ended

    def _waits(self) -> list[list[int]]:
        """Return for each instruction those whose tokens it pops."""
        waits: list[list[int]] = [[] for _ in self.instructions]
        for queue, (givers, takers) in self.tokens.items():
            for number, taker in enumerate(takers):
                place = number - self.lent[queue]
                if place >= 0:
                    waits[taker].append(givers[place])
        return waits


def _steps(launch: Recorded) -> Column:
    """Return each instruction's step: from its start or the completion before it, whichever is later, to its own."""
    timeline, steps = launch.timeline, np.zeros(len(launch), np.int64)
    for module in Module:
        indices = np.array([i for i, own in enumerate(launch.modules) if own is module], np.int64)
        ended = timeline.ended[indices]
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


def _starts(launch: Recorded, model: RunModel) -> list[_Start]:
    """Return what held each instruction back beyond issue and tokens: the start before it, or a completion."""
    timeline, waits = launch.timeline, model._waits()
    starts: list[_Start] = []
    own: dict[Module, list[int]] = {module: [] for module in Module}
    for index, instruction in enumerate(launch.instructions):
        earlier = own[instruction.module]
        begun = int(timeline.begun[index])
        ready = max([int(model.issued[index]), *(int(timeline.ended[giver]) for giver in waits[index])]) + 1
        after = earlier[-1] if earlier else -1
        if after >= 0:
            ready = max(ready, int(timeline.begun[after]) + 1)
        behind = -1
        if begun > ready:  # full inside: it was taken when an earlier one had completed
            done = [other for other in earlier[-64:] if begun - _PATIENCE <= timeline.ended[other] < begun]
            if done:
                behind = done[-1]
                ready = max(ready, int(timeline.ended[behind]) + 1)
        starts.append(_Start(after, behind, begun - ready))
        own[instruction.module].append(index)
    return starts
