"""The critical path of a run: the chain of dependencies that ends with its last cycle, and what its cycles went to.

Every cycle of a launch belongs to one link of the chain, so the shares sum to the launch.
Imports ``vta.trace`` and what that stands on. Tests: tests/vta/explain/test_critical_path.py.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from isa.instructions import Alu, Gemm, Instruction, Load, MemoryId, Store
from vta.explain.run_model import RunModel, Schedule

__all__ = ["Share", "critical_path"]


class Share(Enum):
    """What cycles of a critical path went to."""

    COMPUTE = "GEMM and ALU"
    LOADS = "loads"
    ACC_LOADS = "accumulator loads"
    UOP_LOADS = "micro-op loads"
    STORES = "stores"
    TURNS = "taking turns"
    LATENCY = "memory latency"
    FETCH = "instruction fetch"
    PIPELINES = "starts and drains"


@dataclass(frozen=True, slots=True)
class _Issued:
    index: int


@dataclass(frozen=True, slots=True)
class _Started:
    index: int


@dataclass(frozen=True, slots=True)
class _Completed:
    index: int


_Event = _Issued | _Started | _Completed


def critical_path(model: RunModel) -> Mapping[Share, int]:
    """Return the cycles of the critical path by what they went to; they sum to ``model.cycles()``.

    ``Share.TURNS`` is not among them: what taking turns costs is known only beside a run without it.
    """
    walk = _Walk(model, model.schedule(), model.before(), model.givers())
    shares: Counter[Share] = Counter()
    event: _Event | None = _Completed(int(walk.times.ended.argmax()))
    while event is not None:
        spent, event = walk.back(event)
        shares.update(spent)
    return {share: shares[share] for share in Share if shares[share]}


@dataclass(frozen=True, slots=True, eq=False)
class _Walk:
    """From an event back to the one that it had to wait for."""

    model: RunModel
    times: Schedule
    before: Sequence[int]
    givers: Sequence[Sequence[int]]

    def back(self, event: _Event) -> tuple[Mapping[Share, int], _Event | None]:
        """Return what the cycles since the event before went to, and that event; None if there is none."""
        match event:
            case _Completed(index):
                return self._step(index), self._begin_of_step(index)
            case _Started(index):
                cause = self._cause_of_start(index)
                return {Share.PIPELINES: int(self.times.begun[index]) - self._time(cause)}, cause
            case _Issued(index):
                earlier = self._before_issue(index)
                since = -1 if earlier is None else self._time(earlier)
                return {Share.FETCH: int(self.times.issued[index]) - since}, earlier

    def _time(self, event: _Event) -> int:
        match event:
            case _Completed(index):
                return int(self.times.ended[index])
            case _Started(index):
                return int(self.times.begun[index])
            case _Issued(index):
                return int(self.times.issued[index])

    def _step(self, index: int) -> Mapping[Share, int]:
        work, rest = _shares(self.model.instructions[index])
        spent = Counter({work: int(self.model.work[index])})
        spent[rest] += int(self.model.rest[index])
        return spent

    def _begin_of_step(self, index: int) -> _Event:
        """Return the completion of the module's instruction before, if that was later than the start."""
        earlier = self.before[index]
        if earlier >= 0 and self.times.ended[earlier] > self.times.begun[index]:
            return _Completed(earlier)
        return _Started(index)

    def _cause_of_start(self, index: int) -> _Event:
        """Return what a start had to wait for longest; a token before anything else."""
        wait = self.model.waits[index]
        limit = int(self.times.begun[index]) - 1 - wait.delay
        completions = [*self.givers[index], *([wait.behind] if wait.behind >= 0 else [])]
        for other in completions:
            if self.times.ended[other] == limit:
                return _Completed(other)
        if wait.after >= 0 and self.times.begun[wait.after] == limit:
            return _Started(wait.after)
        return _Issued(index)

    def _before_issue(self, index: int) -> _Event | None:
        """Return the start that made room in the queue, or the issue before; None for the first instruction."""
        room = self.model.waits[index].room
        if room >= 0 and (index == 0 or self.times.begun[room] > self.times.issued[index - 1]):
            return _Started(room)
        return _Issued(index - 1) if index else None


def _shares(instruction: Instruction) -> tuple[Share, Share]:
    """Return what the work and the rest of an instruction's step count as."""
    match instruction:
        case Gemm() | Alu():
            return Share.COMPUTE, Share.PIPELINES
        case Load(memory=MemoryId.UOP):
            return Share.UOP_LOADS, Share.UOP_LOADS
        case Load(memory=MemoryId.ACC):
            return Share.ACC_LOADS, Share.LATENCY
        case Load():
            return Share.LOADS, Share.LATENCY
        case Store():
            return Share.STORES, Share.LATENCY
        case _:
            return Share.PIPELINES, Share.PIPELINES
