"""Groups evaluation steps into partitions: functions that are skipped while nothing that they read has changed.

What ends somewhere (registers, outputs, memory writes: sinks) is grouped by block of the design, so that a partition
sleeps when its block does. A step that only one group needs belongs to it; wide values then hardly ever pass between
functions. The others are shared: they come first, again grouped by block as far as their order allows.
Tests: ``tests/hw/sim/netlist``, ``tests/hw/sim/test_random_designs.py``.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

__all__ = ["PartitionOrder", "Step", "Steps", "make_schedule"]

Step = tuple[int, int]

_SMALL = 12
"""Work below which a group of sinks joins that of the block above, and shared steps of several blocks are joined."""

_LARGE = 2500
"""Work at which a partition is cut; LLVM's time grows faster than a function."""


@dataclass(frozen=True, slots=True)
class Steps:
    """All steps, each after its needs; ``sinks`` has the block of those that end somewhere.

    ``early`` are steps that may not wait for the edge, whoever needs them.
    """

    order: Sequence[Step]
    needs: Callable[[Step], Iterable[Step]]
    block: Callable[[Step], str]
    work: Callable[[Step], int]
    sinks: Mapping[Step, str]
    at_edge: frozenset[Step]
    early: frozenset[Step]


@dataclass(frozen=True, slots=True)
class PartitionOrder:
    """Partitions to run one after the other: to settle, and at the edge."""

    settle: list[list[Step]]
    edge: list[list[Step]]


def make_schedule(steps: Steps) -> PartitionOrder:
    """Return the partitions of all steps."""
    return _Scheduler(steps).schedule()


class _Scheduler:
    """``group`` is the group of each sink; ``owner`` the group of every step, or the shared step that it serves."""

    def __init__(self, steps: Steps) -> None:
        self.steps = steps
        self.rank = {step: number for number, step in enumerate(steps.order)}
        self.work = {step: steps.work(step) for step in steps.order}
        self.needs = {step: [need for need in set(steps.needs(step)) if need in self.rank] for step in steps.order}
        self.users: dict[Step, list[Step]] = {step: [] for step in steps.order}
        for step, needs in self.needs.items():
            for need in needs:
                self.users[need].append(step)
        self.group = {step: ("edge " if step in steps.at_edge else "") + block for step, block in steps.sinks.items()}
        self.owner: dict[Step, str | Step] = {}

    def schedule(self) -> PartitionOrder:
        self._find_owners()
        self._join_small_groups()
        self._find_owners()
        self._cut_large_groups()
        self._find_owners()
        cones: dict[str | Step, list[Step]] = {}
        for step in self.steps.order:
            cones.setdefault(self.owner[step], []).append(step)
        shared: dict[str | Step, list[Step]] = {key: cone for key, cone in cones.items() if isinstance(key, tuple)}
        groups = {owner: cone for owner, cone in cones.items() if isinstance(owner, str)}
        settle = _in_order(shared, self)
        settle += [cone for name, cone in groups.items() if not name.startswith("edge ")]
        return PartitionOrder(settle, [cone for name, cone in groups.items() if name.startswith("edge ")])

    def _find_owners(self) -> None:
        """Give every step that only one owner needs to that one; others own themselves."""
        for step in reversed(self.steps.order):
            group = self.group.get(step)
            if group is not None:
                self.owner[step] = group
                continue
            owners = {self.owner[user] for user in self.users[step]}
            only = owners.pop() if len(owners) == 1 else step
            waits = isinstance(only, str) and only.startswith("edge ") and step in self.steps.early
            self.owner[step] = step if waits else only

    def _group_work(self) -> dict[str, int]:
        total: dict[str, int] = {}
        for step, owner in self.owner.items():
            if isinstance(owner, str):
                total[owner] = total.get(owner, 0) + self.work[step]
        return total

    def _join_small_groups(self) -> None:
        """Join groups with little work with that of the block above, the deepest first."""
        work = self._group_work()
        names = {name: name for name in work}
        for name in sorted(work, key=lambda name: -name.count(".")):
            if work[name] < _SMALL and "." in name:
                above = name.rpartition(".")[0]
                work[above] = work.get(above, 0) + work[name]
                names[name] = above
                names.setdefault(above, above)

        def final(name: str) -> str:
            while names[name] != name:
                name = names[name]
            return name

        self.group = {step: final(name) for step, name in self.group.items()}

    def _cut_large_groups(self) -> None:
        """Cut groups with much work into runs of their sinks."""
        total = self._group_work()
        parts = {name: -(-work // _LARGE) for name, work in total.items()}
        members: dict[str, list[Step]] = {}
        for step in self.steps.order:
            if step in self.group and parts[self.group[step]] > 1:
                members.setdefault(self.group[step], []).append(step)
        for name, sinks in members.items():
            for number, step in enumerate(sinks):
                self.group[step] = f"{name} {number * parts[name] // len(sinks)}"


def _in_order(cones: Mapping[str | Step, list[Step]], scheduler: _Scheduler) -> list[list[Step]]:
    """Return partitions of shared cones, in an order that their needs allow; stay with a block as long as possible."""
    steps, owner = scheduler.steps, scheduler.owner
    waiting = dict.fromkeys(cones, 0)
    users: dict[str | Step, list[str | Step]] = {root: [] for root in cones}
    for root, cone in cones.items():
        for before in {owner[need] for step in cone for need in scheduler.needs[step]} - {root}:
            waiting[root] += 1
            users[before].append(root)

    def block(root: str | Step) -> str:
        assert isinstance(root, tuple)
        return steps.block(root)

    ready: dict[str, list[str | Step]] = {}
    for root in reversed(list(cones)):
        if not waiting[root]:
            ready.setdefault(block(root), []).append(root)
    parts: list[list[Step]] = []
    size, at_hand = _LARGE, ""
    while ready:
        if at_hand not in ready:
            at_hand = max(ready, key=lambda name: (len(ready[name]), name))
            size = _LARGE if size >= _SMALL else size
        if size >= _LARGE:
            parts.append([])
            size = 0
        root = ready[at_hand].pop()
        if not ready[at_hand]:
            del ready[at_hand]
        parts[-1] += cones[root]
        size += sum(scheduler.work[step] for step in cones[root])
        for user in users[root]:
            waiting[user] -= 1
            if not waiting[user]:
                ready.setdefault(block(user), []).append(user)
    return parts
