"""A recorded launch as a system of dependencies that can be timed again with other durations.

Instructions are issued in order, each when it has been fetched and its module's queue has room. Every instruction of
a module starts, in order, when it has been issued, its tokens are there and the module takes another one; it
completes, in order, some cycles after its start, the last of its data, or the completion of the one before it,
whichever is latest. These cycles are its *step*: work (micro-ops) and the rest (drains). Data and instructions come
in bursts over one memory port, for which all take turns in the order of their addresses. With what was measured, the
model gives the measured times back exactly; with other durations, what a launch would take.
Tests: tests/vta/inspect/explain/test_run_model.py.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from isa.extents import loop_steps
from isa.instructions import Alu, Gemm, Instruction, Module
from isa.tokens import TokenQueue, pops, pushes
from runtime.observe.timeline import NEVER
from vta.inspect.explain.errors import ExplainError
from vta.inspect.explain.events import Network, Times, asked, begun, issued, timed
from vta.inspect.explain.network import Wait, network_of
from vta.inspect.explain.traffic import Transfer, latency_of, transfers_of
from vta.inspect.trace import Recorded

__all__ = ["InstructionTimes", "RunModel"]

Column = npt.NDArray[np.int64]

_PATIENCE = 3
"""A module that takes an instruction this soon after a completion had waited for that."""

_INSIDE = 64
"""Instructions that a module may have inside, at most."""


@dataclass(frozen=True, slots=True, eq=False)
class InstructionTimes:
    """When each instruction of a run is issued, starts and completes, in cycles."""

    issued: Column
    begun: Column
    ended: Column


@dataclass(frozen=True, slots=True, eq=False)
class RunModel:
    """The dependencies of a launch on a device with a clock, and the steps that it was measured to take.

    ``work`` and ``rest`` are the two parts of each step; ``tokens`` has for each queue the pushing and the popping
    instructions in order; ``lent`` tokens are in a queue from the beginning. ``transfers`` are the bursts,
    ``beat_bytes`` how much of one comes in a cycle, and ``latency`` the cycles from an address to its first beat.
    """

    instructions: tuple[Instruction, ...]
    work: Column
    rest: Column
    tokens: Mapping[TokenQueue, tuple[tuple[int, ...], tuple[int, ...]]]
    lent: Mapping[TokenQueue, int]
    waits: tuple[Wait, ...]
    transfers: tuple[Transfer, ...]
    beat_bytes: int
    latency: int

    @classmethod
    def of(cls, launch: Recorded, *, beat_bytes: int) -> "RunModel":
        """Return the model of a launch that finished; ``ExplainError`` for one without a clock or that failed."""
        timeline = launch.timeline
        if timeline.error is not None or (timeline.ended == NEVER).any():
            raise ExplainError("the launch failed, so there is no whole run to explain")
        if timeline.issued is None:
            raise ExplainError(f"device {timeline.device!r} has no clock; record with --target tsim")
        givers: dict[TokenQueue, list[int]] = {queue: [] for queue in TokenQueue}
        takers: dict[TokenQueue, list[int]] = {queue: [] for queue in TokenQueue}
        for index, instruction in enumerate(launch.instructions):
            for queue in pushes(instruction.module, instruction.deps):
                givers[queue].append(index)
            for queue in pops(instruction.module, instruction.deps):
                takers[queue].append(index)
        none = np.zeros(len(launch), np.int64)
        plain = cls(
            instructions=tuple(launch.instructions),
            work=none,
            rest=none,
            tokens={queue: (tuple(givers[queue]), tuple(takers[queue])) for queue in TokenQueue},
            lent=dict.fromkeys(TokenQueue, 0),
            waits=(),
            transfers=(),
            beat_bytes=beat_bytes,
            latency=latency_of(launch, beat_bytes),
        )
        held = replace(plain, waits=tuple(_waits(launch, plain)), transfers=_held(launch, beat_bytes))
        return _measured(launch, held)

    def beats(self, transfer: int) -> int:
        """Return how many beats a transfer takes."""
        return -(-self.transfers[transfer].nbytes // self.beat_bytes)

    def module(self, module: Module) -> Column:
        """Return the indices of a module's instructions."""
        return np.array([i for i, own in enumerate(self.instructions) if own.module is module], np.int64)

    def cycles(self) -> int:
        """Return how many cycles the launch takes."""
        return int(self.schedule().ended.max()) + 1

    def schedule(self) -> InstructionTimes:
        """Return when everything happens."""
        times = np.array(self.times().times[: 3 * len(self.instructions)], np.int64)
        return InstructionTimes(times[0::3], times[1::3], times[2::3])

    def times(self) -> Times:
        """Return when everything happens, and what each event waited for."""
        lags = [0] * (3 * len(self.instructions) + 2 * len(self.transfers))
        steps = (self.work + self.rest).tolist()
        for index, wait in enumerate(self.waits):
            lags[3 * index : 3 * index + 3] = wait.fetch, wait.delay, steps[index]
        for number, transfer in enumerate(self.transfers):
            event = asked(len(self.instructions), number)
            lags[event : event + 2] = transfer.wait, transfer.stall
        return timed(self.network(), lags=lags)

    def network(self) -> Network:
        """Return what waits for what."""
        return network_of(
            self.waits,
            self.before(),
            self.givers(),
            self.transfers,
            beat_bytes=self.beat_bytes,
            latency=self.latency,
        )

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


def _measured(launch: Recorded, model: RunModel) -> RunModel:
    """Return the model with the lags that give the measured times."""
    timeline, count = launch.timeline, len(launch)
    assert timeline.issued is not None
    instructions = np.stack([timeline.issued, timeline.begun, _ended(launch)], axis=1).ravel().tolist()
    bursts = [time for transfer in model.transfers for time in (transfer.asked, transfer.ended)]
    lags = timed(model.network(), measured=[*instructions, *bursts]).lags
    steps = np.array(lags[2 : 3 * count : 3], np.int64)
    most = np.array([_work(instruction) for instruction in launch.instructions], np.int64)
    work = np.minimum(steps, most)
    waits = (
        replace(wait, fetch=lags[issued(index)], delay=lags[begun(index)]) for index, wait in enumerate(model.waits)
    )
    first = 3 * count
    transfers = (
        replace(transfer, wait=wait, stall=stall)
        for transfer, wait, stall in zip(model.transfers, lags[first::2], lags[first + 1 :: 2], strict=True)
    )
    return replace(model, work=work, rest=steps - work, waits=tuple(waits), transfers=tuple(transfers))


def _held(launch: Recorded, beat_bytes: int) -> tuple[Transfer, ...]:
    """Return the bursts, each with the instruction that had to complete before: it uses what the load overwrites."""
    ended, found = _ended(launch), []
    compute = np.array([i for i, own in enumerate(launch.modules) if own is Module.COMPUTE], np.int64)
    asked_before: dict[str, int] = {}
    for transfer in transfers_of(launch, beat_bytes):
        if transfer.client in ("uop", "acc"):
            known = max(int(launch.timeline.begun[transfer.owner]), asked_before.get(transfer.client, -1)) + 1
            if transfer.asked > known + _PATIENCE:
                earlier = compute[compute < transfer.owner][-_INSIDE:]
                times = ended[earlier]
                done = earlier[(times >= transfer.asked - _PATIENCE - 1) & (times < transfer.asked)]
                if len(done):
                    transfer = replace(transfer, held=int(done[-1]))
        asked_before[transfer.client] = transfer.asked
        found.append(transfer)
    return tuple(found)


def _work(instruction: Instruction) -> int:
    """Return the cycles that an instruction keeps the GEMM core or the ALU busy."""
    match instruction:
        case Gemm() | Alu():
            return loop_steps(instruction)
        case _:
            return 0


def _waits(launch: Recorded, model: RunModel) -> list[Wait]:
    """Return what held each instruction back beyond its tokens."""
    timeline, givers = launch.timeline, model.givers()
    assert timeline.issued is not None
    issues, begins, ends = (times.tolist() for times in (timeline.issued, timeline.begun, _ended(launch)))
    own: dict[Module, list[int]] = {module: [] for module in Module}
    depth = {module: _queue_depth(launch, module) for module in Module}
    waits: list[Wait] = []
    for index, instruction in enumerate(launch.instructions):
        earlier = own[instruction.module]
        room = earlier[-depth[instruction.module]] if len(earlier) >= depth[instruction.module] else -1
        before = earlier[-1] if earlier else -1
        ready = max(issues[index], begins[before] if before >= 0 else -1, *(ends[giver] for giver in givers[index])) + 1
        done = -1
        if begins[index] > ready:  # full inside: it was taken when an earlier one had completed
            just = [other for other in earlier[-_INSIDE:] if begins[index] - _PATIENCE <= ends[other] < begins[index]]
            if just:
                done = just[-1]
        waits.append(Wait(room, 0, before, done, 0))
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
