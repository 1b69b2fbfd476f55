"""The cycles of a schedule, followed instruction by instruction over its first rounds.

The instructions that ``Work`` stands for are made as the library's schedules make them, with the tokens that the
runtime gives them, and timed by ``runtime.timing``. What comes after the first rounds goes on at their pace.
Tests: tests/vta/topi/tiling/test_rounds.py.
"""

from dataclasses import dataclass, field

from runtime.timing import NOTHING, RESET_LANES, Task, Unit, time_tasks
from vta.topi.tiling.cost import Bus, Price, Work, first_parts, last_parts, last_steps, loading, loading_resident

__all__ = ["followed_cycles", "priced"]

_MORE = 4
"""Tiles that are followed after a round of the accumulator's copies: the pace is that of two, the last one is cut."""

_GROUPS = 3
"""Tiles of so many residents are followed: the last tile of all is done in parts, so that the second is the usual."""

_FIRST_STEPS = 4
"""Steps of the first tile that are done in parts, as long as they wait for their loads."""

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
    group = min(per_resident, work.tile_copies + _MORE)
    groups = min(work.resident_loads, _GROUPS) if work.resident_loads else 1
    for number in range(groups):
        stream.resident()
        for place in range(group):
            stream.tile(is_last=number == groups - 1 and place == group - 1)
    times = time_tasks(stream.finish(), bus.hardware, latency=bus.latency, block_in=_BLOCK_IN)
    ends = [times.ended[place] for place in stream.last]
    period = min(2, work.tile_copies, group - 2)
    pace = (ends[group - 2] - ends[group - 2 - period]) / period if period > 0 else 0.0
    switch = (ends[2 * group - 1] - ends[group - 1]) if groups > 2 else 0
    more_groups = max(1, work.resident_loads) - groups
    more = max(0, work.tiles - (groups + more_groups) * group)
    return round(times.cycles + more * pace + more_groups * switch)


@dataclass(frozen=True, slots=True)
class _Share:
    """One of ``parts`` of a tile: which part of a step's data and weights it is the first to need."""

    parts: int
    data: float = 1.0
    weights: float = 1.0


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
    _users: dict[int, int] = field(default_factory=dict)
    """The last sums of each step, which use its part of what stays on the chip."""
    _kernels: dict[tuple[int, int], int] = field(default_factory=dict)
    _uops_end: int = 1
    _gemm: int = -1
    _loaded: int = -1
    _resident: int = 0
    _ahead: int = 0

    @property
    def _serial(self) -> bool:
        return self.work.tile_copies == self.work.step_copies == 1

    def _add(self, task: Task) -> int:
        self.tasks.append(task)
        return len(self.tasks) - 1

    def resident(self) -> None:
        """Let the next tile's first steps load what stays on the chip for some tiles."""
        self._resident = loading_resident(self.work, self.bus) // self.work.resident_steps

    def tile(self, *, is_last: bool = False) -> None:
        """Do the next tile: reset, steps, epilogue, store; the ends of the last one and of the first one in parts."""
        work, number = self.work, len(self.last)
        copy = number % work.tile_copies
        low = copy * (work.accumulators + 1)
        high = low + work.accumulators - 1
        free = self._stores[number - work.tile_copies] if number >= work.tile_copies and not self._serial else -1
        loaded = self._resident_first() if self._serial and self._resident else NOTHING
        groups = -(-work.accumulators // RESET_LANES)
        reset = self._add(Task(Unit.RESET, groups, 0, 0, loaded, free, low, high, *self._kernel(-1, copy), bits=_BITS))
        if loaded != NOTHING:
            self._readers[0] = reset
        parts = last_parts(work) if is_last else 1
        begin = work.steps - last_steps(work) if parts > 1 else work.steps
        for step in range(begin):
            pieces = first_parts(work) if number == 0 and self._waits(step) else 1
            ranges = _divided(low, high, pieces)
            for which, part in enumerate(ranges):
                self._sums(range(step, step + 1), copy, part, self._share(which, len(ranges)))
            self._done(range(step, step + 1), copy)
        if parts == 1:
            self._epilogue(low, high, high + 1, 1)
        else:
            self._own_uops(work.accumulators * (work.steps - begin))
        ranges = _divided(low, high, parts) if parts > 1 else []
        for which, part in enumerate(ranges):
            self._sums(range(begin, work.steps), copy, part, self._share(which, len(ranges)))
            self._epilogue(*part, high + 1, len(ranges))
        self._done(range(begin, work.steps), copy)
        self._resident = 0
        if self._serial:  # without copies the compiler gives the tokens, and a tile begins after the one before it
            relay = self._add(Task(Unit.UOP, after_next=self._stores[-1]))
            self._readers[0] = self._gemm = relay

    def _resident_first(self) -> int:
        """Load what stays on the chip; without copies that is when the last tile is done, and a reset waits for it."""
        beats, self._resident = loading_resident(self.work, self.bus), 0
        return self._add(Task(Unit.LOAD, beats, 1, after_next=self._readers.get(0, NOTHING), kind=1))

    def _waits(self, step: int) -> bool:
        """Whether a step of the first tile waits for its loads, so that it is worth doing in parts."""
        work = self.work
        if step == 0:
            self._ahead = -(work.load + self._resident) // first_parts(work)
        self._ahead += work.load - (work.gemm if step else 0)
        self._ahead += self._resident if step < work.resident_steps else 0
        return step < _FIRST_STEPS and self._ahead > 0

    def _share(self, which: int, parts: int) -> "_Share":
        """Return what part ``which`` of a tile is the first to need: rows in the first blocks, weights in each."""
        groups = min(self.work.blocks, parts)
        rows = -(-parts // groups)
        return _Share(parts, data=1 / rows if which < rows else 0.0, weights=0.0 if which % rows else 1 / groups)

    def _own_uops(self, count: int) -> None:
        """Load the micro-ops of parts."""
        self._add(Task(Unit.UOP, (count + 1) // 2, 1, uop_bgn=self._uops_end, uop_end=self._uops_end + count))

    def _sums(self, steps: range, copy: int, part: tuple[int, int], share: "_Share") -> None:
        """Do some steps for a part of a tile."""
        work = self.work
        for step in steps:
            self._load(step, copy, share)
            kernel = self._kernel(step % work.step_copies, copy) if share.parts == 1 else self._own_kernel()
            task = Task(
                Unit.GEMM,
                -(-work.gemm // share.parts),
                0,
                0,
                self._loaded,
                -1,
                *part,
                *kernel,
                bits=_BITS,
                run=work.run,
            )
            self._gemm = self._add(task)
            self._loaded = -1

    def _done(self, steps: range, copy: int) -> None:
        """Note that the operands of some steps are not needed any more."""
        for step in steps:
            self._readers[self._turn(step, copy)] = self._users[step] = self._gemm

    def _turn(self, step: int, copy: int) -> int:
        return step % self.work.step_copies if self.work.step_copies > 1 else copy

    def _load(self, step: int, copy: int, share: "_Share") -> None:
        """Load a part of a step's operands: those that stay on the chip, if it is time for them, and the others."""
        work, bus = self.work, self.bus
        whole = loading(work, bus) if work.load else 0
        weights = whole * work.weights // max(1, work.load)
        if self._resident and step < work.resident_steps:
            after = self._users.get(step, -1) if work.resident_steps > 1 else self._users.get(work.steps - 1, -1)
            part = share.data if work.weights else share.weights
            self._loads(round(self._resident * part), 1, after, kind=1)
        instructions = max(1, work.load_instructions // share.parts)
        beats = round((whole - weights) * share.data + weights * share.weights)
        self._loads(beats, instructions, self._readers.get(self._turn(step, copy), -1))

    def _loads(self, beats: int, instructions: int, after: int, kind: int = 0) -> None:
        if beats:
            self._loaded = self._add(Task(Unit.LOAD, beats, instructions, after_next=after, kind=kind))

    def _kernel(self, step: int, copy: int) -> tuple[int, int]:
        """Return the micro-ops of a kernel, which is loaded when it is used for the first time."""
        size = self.work.uops if step >= 0 else 1
        begin = self._kernels.get((step, copy))
        if begin is None:
            begin = self._kernels[step, copy] = self._uops_end
            self._uops_end += size
            self._add(Task(Unit.UOP, (size + 1) // 2, 1, uop_bgn=begin, uop_end=begin + size))
        return begin, begin + size

    def _own_kernel(self) -> tuple[int, int]:
        """Return the few micro-ops of a part, which were loaded with those of the others."""
        begin = self._uops_end
        self._uops_end += 1
        return begin, begin + 1

    def _epilogue(self, low: int, high: int, operand: int, parts: int) -> None:
        """Do the operations of one of the ``parts`` of a tile, and store it; ``operand`` is loaded for them."""
        work = self.work
        place = self._gemm
        for stage in range(work.stages):
            top = high
            if work.epilogue_load and stage == min(1, work.stages - 1):
                self._add(Task(Unit.ACC, -(-work.epilogue_load // parts), 1, low=operand, high=operand))
                top = max(high, operand) if parts == 1 else high
            place = self._add(
                Task(Unit.ALU, max(1, work.alu // work.stages // parts), low=low, high=top, bits=_BITS, uop_end=1)
            )
        count = -(-work.store_instructions // parts)
        for number in range(count):
            stored = self._add(
                Task(Unit.STORE, -(-work.store // parts // count), 1, after_prev=place if number == 0 else -1)
            )
        if high == operand - 1:
            self.last.append(place)
            self._stores.append(stored)

    def finish(self) -> list[Task]:
        """Return the instructions, FINISH the last of them."""
        self._add(Task(Unit.FINISH, after_next=self._stores[-1]))
        return self.tasks


def _divided(low: int, high: int, parts: int) -> list[tuple[int, int]]:
    """Return the first and the last of each of the parts of some accumulators."""
    size = -(-(high + 1 - low) // parts)
    return [(begin, min(begin + size - 1, high)) for begin in range(low, high + 1, size)]
