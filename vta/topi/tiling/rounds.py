"""The cycles of a schedule, followed instruction by instruction over its first rounds.

The instructions that ``Work`` stands for are made as the library's schedules make them, with the tokens that the
runtime gives them, and timed by ``runtime.timing``. What comes after the first rounds goes on at their pace.
Tests: tests/vta/topi/tiling/test_rounds.py.
"""

from dataclasses import dataclass, field

from runtime.timing import Task, Unit, time_tasks
from vta.topi.tiling.cost import Bus, Price, Work, loading

__all__ = ["followed_cycles", "priced"]

_ROUNDS = 2
"""Rounds of the accumulator's copies that are followed, and a tile; the pace is that of the last one."""

_GROUPS = 2
"""Tiles of so many residents are followed."""

_BITS = 6
"""Of a loop count, about."""

_BLOCK_IN = 16
"""Lanes of a dot product: a few cycles of latency more or less."""


def priced(work: Work, bus: Bus) -> Price:
    """Return what a launch takes that does ``work``."""
    return Price(
        cycles=followed_cycles(work, bus),
        load=work.tiles * (work.steps * work.load + work.epilogue_load) + work.resident_loads * work.resident_load,
        gemm=work.tiles * work.steps * work.gemm,
        alu=work.tiles * work.alu,
        store=work.tiles * work.store,
    )


def followed_cycles(work: Work, bus: Bus) -> int:
    """Return the cycles of a launch that does ``work``."""
    stream = _Stream(work, bus)
    per_resident = work.tiles // max(1, work.resident_loads)
    group = min(per_resident, _ROUNDS * work.tile_copies + 1)
    groups = min(work.resident_loads, _GROUPS) if work.resident_loads else 1
    for number in range(groups):
        stream.resident(number)
        for _ in range(group):
            stream.tile()
    times = time_tasks(stream.finish(), bus.hardware, latency=bus.latency, block_in=_BLOCK_IN)
    ends = [times.ended[place] for place in stream.last]
    period = min(work.tile_copies, group - 1) or 1
    pace = (ends[group - 1] - ends[group - 1 - period]) / period if group > 1 else 0.0
    switch = (ends[-1] - ends[-1 - group]) if groups > 1 else 0
    more_groups = max(1, work.resident_loads) - groups
    more = max(0, work.tiles - (groups + more_groups) * group)
    return round(times.cycles + more * pace + more_groups * switch)


@dataclass(slots=True)
class _Stream:
    """Instructions as they follow one another, and who touched each buffer last."""

    work: Work
    bus: Bus
    tasks: list[Task] = field(default_factory=list)
    last: list[int] = field(default_factory=list)
    """The last instruction of the compute module in each tile."""
    _readers: dict[int, int] = field(default_factory=dict)
    _stores: list[int] = field(default_factory=list)
    _kernels: dict[tuple[int, int], int] = field(default_factory=dict)
    _uops_end: int = 1
    _gemm: int = -1
    _loaded: int = -1

    @property
    def _serial(self) -> bool:
        return self.work.tile_copies == self.work.step_copies == 1

    def _add(self, task: Task) -> int:
        self.tasks.append(task)
        return len(self.tasks) - 1

    def resident(self, number: int) -> None:
        """Load what stays on the chip for some tiles."""
        if self.work.resident_load:
            after = self._gemm if number else -1
            self._loaded = self._add(Task(Unit.LOAD, self.work.resident_load, 1, after_next=after, kind=1))

    def tile(self) -> None:
        """Do the next tile: reset, steps, epilogue, store."""
        work, number = self.work, len(self.last)
        copy = number % work.tile_copies
        low = copy * (work.accumulators + 1)
        high = low + work.accumulators - 1
        free = self._stores[number - work.tile_copies] if number >= work.tile_copies and not self._serial else -1
        self._add(Task(Unit.RESET, work.accumulators, 0, 0, -1, free, low, high, *self._kernel(-1, copy), bits=_BITS))
        for step in range(work.steps):
            turn = step % work.step_copies if work.step_copies > 1 else copy
            self._load(turn)
            kernel = self._kernel(step % work.step_copies, copy)
            self._gemm = self._add(
                Task(Unit.GEMM, work.gemm, 0, 0, self._loaded, -1, low, high, *kernel, bits=_BITS, run=work.run)
            )
            self._loaded = -1
            self._readers[turn] = self._gemm
        self._epilogue(low, high)

    def _load(self, turn: int) -> None:
        """Load a step's operands, if they do not stay on the chip."""
        work, bus = self.work, self.bus
        if not work.load:
            return
        self._loaded = self._add(
            Task(Unit.LOAD, loading(work, bus), work.load_instructions, after_next=self._readers.get(turn, -1))
        )

    def _kernel(self, step: int, copy: int) -> tuple[int, int]:
        """Return the micro-ops of a kernel, which is loaded when it is used for the first time."""
        size = self.work.uops if step >= 0 else 1
        begin = self._kernels.get((step, copy))
        if begin is None:
            begin = self._kernels[step, copy] = self._uops_end
            self._uops_end += size
            self._add(Task(Unit.UOP, (size + 1) // 2, 1, uop_bgn=begin, uop_end=begin + size))
        return begin, begin + size

    def _epilogue(self, low: int, high: int) -> None:
        work = self.work
        place = self._gemm
        for stage in range(work.stages):
            reach = high
            if work.epilogue_load and stage == min(1, work.stages - 1):
                self._add(Task(Unit.ACC, work.epilogue_load, 1, low=high + 1, high=high + 1))
                reach += 1
            place = self._add(
                Task(Unit.ALU, max(1, work.alu // work.stages), low=low, high=reach, bits=_BITS, uop_end=1)
            )
        self.last.append(place)
        each = -(-work.store // work.store_instructions)
        for number in range(work.store_instructions):
            stored = self._add(Task(Unit.STORE, each, 1, after_prev=place if number == 0 else -1))
        self._stores.append(stored)
        if self._serial:  # without copies the compiler gives the tokens, and a tile begins after the one before it
            relay = self._add(Task(Unit.UOP, after_next=stored))
            self._readers[0] = self._gemm = relay

    def finish(self) -> list[Task]:
        """Return the instructions, FINISH the last of them."""
        self._add(Task(Unit.FINISH, after_next=self._stores[-1]))
        return self.tasks
