"""Times for tasks: the modules, their queues and tokens, the window of the compute module, and the bus.

Each module takes its instructions in order, so each time follows from times that are known already: of instructions
before it in its module, of those whose tokens it takes, of what has the bus. ``docs/hardware.md`` says what overlaps.
The delays are those of ``docs/hardware-modules.md``. What is not followed cycle by cycle: transfers take turns on the
bus as a whole, not burst by burst, and units that share the accumulator slow one another by a constant share.
Tests: tests/runtime/timing/test_machine.py, tests/runtime/timing/test_delays.py; measured beside predicted:
``python -m bench.cost_model``.
"""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, inf

from isa.instructions import Module
from isa.machine.hardware_config import HardwareConfig
from runtime.timing.task import NOTHING, Task, Unit

__all__ = ["Times", "alu_loss", "time_tasks"]

_INSTRUCTION_BYTES = 16
_WINDOW = 16
"""Instructions that the compute module has in hand."""

_DISPATCH = 1
"""Cycles from dispatch to the cycle in which a module sees an instruction."""

_SUMMED = 1
"""Cycles that an instruction of the load and the store module waits before it may start: its address is added up."""

_FETCHED = 2
"""Cycles from the last beat of an instruction to its dispatch."""

_START = 1
"""Cycles from the one in which an instruction can go to its unit to that in which the unit begins."""

_LATE = 3
"""Cycles more from the one in which a range of accumulators is found to that in which its instruction can go."""

_FREED = 2
"""Cycles from the end of an instruction to that in which one that waited for it can go to its unit."""

_LISTED = 2
"""Cycles more until a load of micro-ops begins, and from its end until its users can."""

_ASKED = 1
"""Cycles from the beginning of a load to that in which its bursts are found."""

_RANGE = 2
"""Cycles that finding a range of accumulators takes beside those for the bits of the loops."""

_ADDRESS = 0
"""Cycles from a start to the address on the bus."""

_LOADED = 0
"""Cycles from the last beat to the last write."""

_STORED, _PACKED = 2, 8
"""Cycles from the start of a store to its first beat, and from when its tiles are read to its last beat."""

_ALU_LATENCY = 11
_ALU_CLASH = 8
_FUSED_LANE = 2
"""Cycles that an ALU with fused steps takes more from the read of a number to its write."""

_GEMM_LATENCY, _FUSED_GEMM_LATENCY = 10, 12
"""Least latency of GEMM beside an ALU, and beside one with fused steps: its destinations are known that much ahead."""

_WAITS_OF_RUN = 1.1
"""Cycles that the ALU loses, on the average, where GEMM goes from the end of an odd run of accumulators to another one.

Even tiles and odd ones share no bank: after an even run, GEMM and ALU are an odd number of tiles apart as before.
"""

_USUAL_RUN = 20
_LEAST_LOSS, _MOST_LOSS = 0.005, 0.5
"""No run is so short that it loses more: GEMM lets the ALU go on after some time; none so long, or even, that it loses
less, because they meet where either begins another tile.
"""

_RECENT = 8
"""Instructions of ALU and GEMM that may still overlap."""

_UOPS_LOADED, _ACC_LOADED = 1, 3
"""Cycles from the last beat to the end of a load of micro-ops, and of accumulators."""

_BURSTS = 8
_FETCH = 0
_MODULES = tuple(int(unit.module) for unit in Unit)


@dataclass(frozen=True, slots=True)
class Times:
    """``begun`` and ``ended`` of each task, and the ``cycles`` from launch to the end of the last one."""

    begun: list[int]
    ended: list[int]
    cycles: int


def time_tasks(
    tasks: Sequence[Task], hardware: HardwareConfig, *, latency: int, block_in: int, fused_alu: bool = False
) -> Times:
    """Return when the tasks of one launch begin and end; the last one is FINISH, or nobody cares when it is done."""
    return _Machine(tasks, hardware, latency, block_in, fused_alu=fused_alu).run()


def alu_loss(run: int) -> float:
    """Return the part of the ALU's cycles that it loses beside GEMM in ``run`` accumulators in a row (0: unknown)."""
    if run and run % 2 == 0:
        return _LEAST_LOSS
    return min(_MOST_LOSS, max(_LEAST_LOSS, _WAITS_OF_RUN / (run or _USUAL_RUN)))


class _Bus:
    """The read side of the memory port: beats in the order of their addresses."""

    def __init__(self, latency: int, hardware: HardwareConfig) -> None:
        self.latency = latency + _ADDRESS
        self._most = hardware.read_beats
        self.free = 0
        self.fetch_until: Callable[[int], None] = lambda _: None
        """Asks for the instructions that are fetched until some time, between the beats of what is read."""
        self._reader = NOTHING
        self._fetched = 0

    def urgent(self, asked: int, beats: int) -> int:
        """Return when the last of a few beats has come that were asked for before all others."""
        first = asked + self.latency
        begin = max(first, min(self.free, first + 8))
        self.free = max(self.free, first) + beats
        self._fetched += beats
        return begin + beats

    def read(self, reader: int, asked: int, cycles: int, bursts: int) -> int:
        """Return when the last beat has come of a transfer that was asked for from ``asked`` on."""
        first = asked + self.latency
        length, backlog = self._length(cycles, bursts), self.free - first
        fetched, more = self._fetched, NOTHING
        while more != self._fetched:  # each burst of instructions makes it longer, so that more may come
            more = self._fetched
            self.fetch_until(asked + max(backlog, 0) + length + more - fetched)
        # Those that came while nothing was read delay nobody.
        between = max(0, min(self._fetched - fetched, self.free - first - max(backlog, 0)))
        if backlog <= 0:
            self._reader = reader
            self.free = first + length + between
            return self.free
        if self._reader != reader:  # they take turns
            end = first + min(backlog, length) + length + between
            self.free += length
            self._reader = reader if end >= self.free else self._reader
            return end
        self.free += length
        return self.free

    def _length(self, cycles: int, bursts: int) -> int:
        """Return the cycles of a transfer: no more than ``read_beats`` are on their way, and bursts follow bursts."""
        return max(cycles, bursts, cycles * self.latency // self._most)


class _Fetch:
    """Instructions on their way from memory to the queues of their modules, ``count`` of them."""

    def __init__(self, bus: _Bus, hardware: HardwareConfig, count: int) -> None:
        depth = hardware.fetch_buffer_depth * _INSTRUCTION_BYTES // hardware.beat_bytes
        self._burst = max(1, min(hardware.burst_beats, depth // _BURSTS))
        self._group = max(1, self._burst * hardware.beat_bytes // _INSTRUCTION_BYTES)
        self._ahead = max(1, hardware.fetch_buffer_depth - self._group)
        self._count = count
        self._bus = bus
        bus.fetch_until = self._ask_until
        self._arrived: list[int] = []
        self._asked = 0
        self.dispatched: list[int] = []

    def next(self) -> int:
        """Return from when on the next instruction can be handed on, if nothing else keeps it."""
        return self.dispatched[-1] + 1 if self.dispatched else 0

    def dispatch(self, room: int) -> None:
        """Hand on the next instruction, whose queue has room for it from ``room`` on."""
        place, times = len(self.dispatched), self.dispatched
        if place // self._group == len(self._arrived):
            asked = self._asks()
            assert asked is not None, "what was dispatched long ago is known"
            self._ask(asked)
        offset = place % self._group
        arrived = self._arrived[place // self._group]
        come = arrived - (self._group - 1 - offset) * max(1, self._burst // self._group)
        times.append(max(come + _FETCHED, (times[-1] if times else 0) + 1, room))

    def _ask_until(self, time: int) -> None:
        """Ask for the bursts that are asked for before ``time``, as far as that is known."""
        while len(self._arrived) * self._group < self._count:
            asked = self._asks()
            if asked is None or asked >= time:
                return
            self._ask(asked)

    def _asks(self) -> int | None:
        """Return when the next burst is asked for; None if that is not known yet."""
        number = len(self._arrived)
        place, asked = number * self._group, self._asked + 1
        if place >= self._ahead:
            if place - self._ahead >= len(self.dispatched):
                return None
            asked = max(asked, self.dispatched[place - self._ahead] + 1)
        # One more burst may be on its way for each that has come.
        return max(asked, self._arrived[0]) if number == 1 else asked

    def _ask(self, asked: int) -> None:
        self._asked = asked
        self._arrived.append(self._bus.urgent(asked, self._burst))


class _LoadModule:
    """The load module: transfers in order, several of them before the data of the first have come."""

    def __init__(self, bus: _Bus, hardware: HardwareConfig) -> None:
        self._bus, self._jobs, self._most = bus, hardware.load_jobs, hardware.read_beats
        self._started = 0
        self._asked = [0, 0]
        self._written = [0, 0]
        self._ends: list[int] = []

    def ready(self) -> int:
        """Return from when on the next instruction may start."""
        room = self._ends[-self._jobs] + 1 if len(self._ends) >= self._jobs else 0
        return max(self._started + 1 + _SUMMED, self._asked[0], room)

    def run(self, task: Task, start: int) -> tuple[int, int]:
        """Return when a task is complete that starts at ``start``, and when the module goes past it: the same."""
        self._started = start
        end = start + 1
        if task.work:
            begin = max(start + 1, self._asked[1])
            end = self._bus.read(Unit.LOAD, begin, task.work, task.bursts)
            asked = max(begin + task.bursts, end - self._most - self._bus.latency)
            self._asked = [self._asked[1], asked]
            end = max(end + _LOADED, self._written[task.kind] + task.work + task.zeros, start + 3 + task.zeros)
            self._written[task.kind] = end
        end = max(end, self._ends[-1] + 1 if self._ends else 0)
        self._ends.append(end)
        return end, end


class _StoreModule:
    """The store module: tiles are read one a cycle, beats written, responses awaited."""

    def __init__(self, latency: int, hardware: HardwareConfig) -> None:
        self._latency, self._jobs, self._most = latency, hardware.store_jobs, hardware.write_bursts
        self._free = 0
        self._written: list[int] = []
        self._end = 0

    def ready(self) -> int:
        """Return from when on the next instruction may start: its tiles may be read, and few are being packed."""
        room = self._written[-self._jobs] if len(self._written) >= self._jobs else 0
        return max(self._free, room)

    def run(self, task: Task, start: int) -> tuple[int, int]:
        """Return when a task is complete that starts at ``start``, and when the module goes past it: the same."""
        before = self._written[-1] if self._written else 0
        bursts = task.bursts * self._latency // self._most  # that may be waiting for their responses
        written = max(before, start + _STORED) + max(task.work, bursts)
        read = task.high - task.low + 1  # a tile a cycle
        self._free = max(start + 1 + max(_SUMMED, task.bursts), start + read, written - _PACKED)
        self._written.append(written)
        self._end = max(written + self._latency + 1, self._end + 1)
        return self._end, self._end


class _ComputeModule:
    """The compute module: a window of instructions, and units that work on them out of order."""

    def __init__(self, bus: _Bus, block_in: int, *, fused_alu: bool) -> None:
        self._bus = bus
        levels = block_in.bit_length() - 1
        ahead = _FUSED_GEMM_LATENCY if fused_alu else _GEMM_LATENCY
        self._latency = [0] * len(Unit)  # by unit, as what follows
        self._latency[Unit.GEMM] = max(8 + levels // 2, ahead)
        self._latency[Unit.ALU], self._latency[Unit.RESET] = _ALU_LATENCY, 4
        self._clash = _ALU_CLASH
        if fused_alu:
            self._latency[Unit.ALU] += _FUSED_LANE
            self._clash += _FUSED_LANE
        self._issued = self._bound = self._loaded = 0
        self._before: list[tuple[int, Task]] = []
        self._retired: list[int] = []
        self.settled = 0
        self._free = [0] * len(Unit)
        self._known: set[tuple[int, int]] = set()
        self._alus: deque[tuple[int, int]] = deque(maxlen=_RECENT)
        self._gemms: deque[tuple[int, int]] = deque(maxlen=_RECENT)
        self._both = self._alu_time = 0
        self._run = 0
        self._last_alu: tuple[int, Task] | None = None

    def ready(self) -> int:
        """Return from when on the next instruction may be issued."""
        room = self._retired[-_WINDOW] + 1 if len(self._retired) >= _WINDOW else 0
        return max(self._issued + 1, room)

    def run(self, task: Task, start: int) -> tuple[int, int]:
        """Return when a task is complete that is issued at ``start``, and when the module goes past it."""
        self._issued = start
        begin = self._begin(task, start)
        end = self._execute(task, begin)
        self._before.append((end, task))
        bound = max(end, self._bound)
        retired = max(bound, self._retired[-1] + 1 if self._retired else 0)
        self._retired.append(retired)
        passed = start + 1 if task.unit is Unit.RESET else bound  # nobody reads what it leaves but those behind it
        self.settled = max(passed, self.settled + 1)
        return retired, self.settled

    def _begin(self, task: Task, start: int) -> int:
        """Return when the unit of a task can begin it."""
        unit = task.unit
        # What was complete before is in nobody's way.
        self._before = before = [entry for entry in self._before if entry[0] > start]
        if unit is Unit.UOP:
            users = [end for end, other in before if other.bits and _share_uops(task, other)]
            freed = [end + _FREED - 1 for end in users]
            return max([start + _START + _LISTED, self._free[unit], *freed])
        if unit is Unit.FINISH:
            return max([start, *(end for end, _ in before)])
        early = max(start + 1, self._loaded, self._bind(task, start))
        conflict = 0
        for end, other in before:
            if other.unit is unit or other.unit is Unit.UOP:
                continue
            early = max(early, end)
            if other.low <= task.high and task.low <= other.high and end >= conflict:
                conflict = end + _FREED
        late = self._bound + _LATE
        if unit is Unit.GEMM or unit is Unit.ALU:
            return max(min(early, late) + _START, self._free[unit], conflict)
        return max(late + (2 * _START if unit is Unit.ACC else 0), self._free[unit], conflict)

    def _bind(self, task: Task, start: int) -> int:
        """Find the range of a task; return when that began."""
        begin = max(start, self._bound)
        if task.bits:
            begin = max(begin, self._loaded)
            uops = (task.uop_bgn, task.uop_end)
            scan = 0 if uops in self._known else uops[1] - uops[0] + 1
            self._known.add(uops)
            self._bound = begin + scan + _RANGE + task.bits
        else:
            self._bound = begin + _RANGE
        return begin

    def _execute(self, task: Task, begin: int) -> int:
        """Return when the unit of a task is done with it."""
        if not task.work:
            return begin
        if task.unit is Unit.UOP or task.unit is Unit.ACC:
            return self._load(task, begin)
        work = task.work
        if task.unit is Unit.ALU:
            begin = self._apart(task, begin)
            work = self._sharing(begin, work)
        elif task.unit is Unit.GEMM:
            self._shared(begin, begin + work, task.run)
        self._free[task.unit] = begin + work
        return begin + work + self._latency[task.unit]

    def _load(self, task: Task, begin: int) -> int:
        """Return when a load of micro-ops or accumulators is complete."""
        self._free[task.unit] = begin + task.bursts
        if task.unit is Unit.UOP:
            self._known.clear()
            end = self._bus.urgent(begin + 1 + _ASKED, task.work) + _UOPS_LOADED
            self._loaded = end + _LISTED
            return end
        end = self._bus.read(Unit.ACC, begin + _ASKED, task.work, task.bursts) + _ACC_LOADED
        return max(end, begin + task.zeros)

    def _sharing(self, begin: int, work: int) -> int:
        """Return how long the ALU works when it shares the accumulator with GEMM, which goes first.

        What GEMM will do meanwhile is not known yet: it is taken to be what it did during earlier instructions.
        """
        part = min(1.0, self._both / self._alu_time) if self._alu_time else 0.0
        work = ceil(work / (1 - part * alu_loss(self._run)))
        self._both += _common(self._gemms, begin, begin + work)
        self._alu_time += work
        self._alus.append((begin, begin + work))
        return work

    def _shared(self, begin: int, end: int, run: int) -> None:
        """Note that GEMM works, and on how many neighbouring accumulators one after the other."""
        self._both += _common(self._alus, begin, end)
        self._gemms.append((begin, end))
        self._run = run

    def _apart(self, task: Task, begin: int) -> int:
        """Return when the ALU can begin a task: what it reads must have been written."""
        if self._last_alu is not None:
            before, other = self._last_alu
            if other.low <= task.high and task.low <= other.high:
                begin = max(begin, before + self._clash)
        self._last_alu = (begin, task)
        return begin


def _common(spans: Sequence[tuple[int, int]], begin: int, end: int) -> int:
    """Return how many cycles from ``begin`` up to ``end`` are in one of ``spans``, which are apart and in order."""
    found = 0
    for start, stop in reversed(spans):
        if stop <= begin:
            break
        if start < end:
            found += min(end, stop) - max(begin, start)
    return found


def _share_uops(load: Task, user: Task) -> bool:
    return user.uop_bgn < load.uop_end and load.uop_bgn < user.uop_end


class _Machine:
    """One launch, worked out instruction by instruction."""

    def __init__(
        self, tasks: Sequence[Task], hardware: HardwareConfig, latency: int, block_in: int, *, fused_alu: bool
    ) -> None:
        self._tasks, self._depth = tasks, hardware.inst_queue_depth
        bus = _Bus(latency, hardware)
        self._fetch = _Fetch(bus, hardware, len(tasks))
        count = len(tasks)
        self._begun, self._ended = [NOTHING] * count, [NOTHING] * count
        self._settled = [NOTHING] * count
        self._modules = [_MODULES[task.unit] for task in tasks]
        self._parts: dict[int, _LoadModule | _ComputeModule | _StoreModule] = {
            int(Module.LOAD): _LoadModule(bus, hardware),
            int(Module.COMPUTE): _ComputeModule(bus, block_in, fused_alu=fused_alu),
            int(Module.STORE): _StoreModule(latency, hardware),
        }
        # By module, fetch (0) first: instructions that were dispatched, how many have started, when the next one can.
        self._queues: list[list[int]] = [[] for _ in range(4)]
        self._heads = [0] * 4
        self._next: list[float] = [0 if tasks else inf, inf, inf, inf]

    def run(self) -> Times:
        """Return the times."""
        after = self._next
        for _ in range(2 * len(self._tasks)):  # each is dispatched, and started
            at = min(after)
            which = after.index(at)
            if which == _FETCH:
                place = len(self._fetch.dispatched)
                self._fetch.dispatch(int(at))
                module = self._modules[place]
                self._queues[module].append(place)
                if after[module] == inf:
                    after[module] = self._when(module)
                after[_FETCH] = self._when_fetched()
            else:
                self._start(which, int(at))
                after[which] = self._when(which)
                for other in self._parts:
                    if after[other] == inf:  # it may have waited for a token of this instruction
                        after[other] = self._when(other)
                if after[_FETCH] == inf:  # or for its place in the queue
                    after[_FETCH] = self._when_fetched()
        return Times(self._begun, self._ended, max(self._ended, default=0))

    def _when_fetched(self) -> float:
        """Return when the next instruction can be dispatched; infinity if that is not known yet, or there is none."""
        place = len(self._fetch.dispatched)
        if place == len(self._tasks):
            return inf
        queue = self._queues[self._modules[place]]
        if len(queue) < self._depth:
            return self._fetch.next()
        before = self._begun[queue[-self._depth]]
        return inf if before == NOTHING else max(before + 1, self._fetch.next())

    def _when(self, module: int) -> float:
        """Return when a module can start its next instruction; infinity if that is not known yet, or there is none."""
        queue, head = self._queues[module], self._heads[module]
        if head == len(queue):
            return inf
        at = self._tokens(queue[head])
        return inf if at is None else max(at, self._parts[module].ready())

    def _tokens(self, place: int) -> int | None:
        """Return from when on an instruction that is in its queue has its tokens; None if that is not known yet."""
        task, at = self._tasks[place], self._fetch.dispatched[place] + _DISPATCH
        at += 0 if self._modules[place] == Module.COMPUTE else _SUMMED
        if task.after_prev != NOTHING:
            given = self._ended[task.after_prev]
            if given == NOTHING:
                return None
            at = max(at, given + 1)
        if task.after_next != NOTHING:
            given = self._settled[task.after_next]
            if given == NOTHING:
                return None
            at = max(at, given + 1)
        return at

    def _start(self, module: int, at: int) -> None:
        place = self._queues[module][self._heads[module]]
        self._heads[module] += 1
        self._begun[place] = at
        self._ended[place], self._settled[place] = self._parts[module].run(self._tasks[place], at)
