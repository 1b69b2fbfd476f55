"""Groups of stages that move together: ``g = s.create_group(outputs=..., inputs=...)``, ``g.compute_at(...)``.

Tests: tests/vta/te/test_group.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from vta.te.stage import AttachAt, AttachKind, ScheduleError, Stage
from vta.te.tensor import Tensor
from vta.tir.expr import IterVar

if TYPE_CHECKING:
    from vta.te.schedule import Schedule

__all__ = ["Group", "grouped", "members_between"]


class Group:
    """Stages that are computed where the group is, but for those that are put elsewhere by themselves.

    ``members`` are stages and groups that lie in this one; ``group`` is the one around it.
    """

    def __init__(self, members: Sequence[Stage | Group]) -> None:
        self.members = list(members)
        self.group: Group | None = None
        self._placed: list[Stage] = []

    @property
    def num_child_stages(self) -> int:
        """How many stages and groups lie in it."""
        return len(self.members)

    @property
    def stages(self) -> list[Stage]:
        """The stages in it and in the groups in it."""
        found: list[Stage] = []
        pending: list[Stage | Group] = list(reversed(self.members))
        while pending:
            member = pending.pop()
            if isinstance(member, Group):
                pending.extend(reversed(member.members))
            else:
                found.append(member)
        return found

    def compute_at(self, parent: Stage, scope: IterVar) -> None:
        """Compute the members in the body of loop ``scope`` of ``parent``.

        A member that only other members read is computed there, too: the loop is in a stage that reads the group. What
        a group around this one placed is placed anew, what one in it placed stays.
        """
        if any(parent is member for member in self.stages):
            raise ScheduleError(f"group: compute_at: stage {parent.name!r} is in the group; give a stage that reads it")
        for member in self.stages:
            if member.is_inlined or (isinstance(member.attach, AttachAt) and not self._placed_around(member)):
                continue
            member.compute_at(parent, scope)
            self._placed.append(member)

    def _placed_around(self, member: Stage) -> bool:
        """Whether this group or one around it is what put ``member`` where it is, and none inside."""
        inner = member.group
        while inner is not None and inner is not self:
            if any(member is placed for placed in inner._placed):
                return False
            inner = inner.group
        around: Group | None = self
        while around is not None:
            if any(member is placed for placed in around._placed):
                return True
            around = around.group
        return False

    def compute_root(self) -> None:
        """Compute the members on their own."""
        for member in self.stages:
            if isinstance(member.attach, AttachAt):
                member.attach = AttachKind.ROOT


def grouped(stages: Sequence[Stage]) -> Group:
    """Return a new group of ``stages``; a group all of whose stages are among them is in it as a whole."""
    units: list[Stage | Group] = []
    for stage in stages:
        unit: Stage | Group = stage
        while unit.group is not None and all(any(s is mine for mine in stages) for s in unit.group.stages):
            unit = unit.group
        if not any(unit is known for known in units):
            units.append(unit)
    group = Group(units)
    around = {id(unit.group): unit.group for unit in units}
    group.group = next(iter(around.values())) if len(around) == 1 else None
    for unit in units:
        if unit.group is not None:
            unit.group.members = [member for member in unit.group.members if member is not unit]
        unit.group = group
    if group.group is not None:
        group.group.members.append(group)
    return group


def members_between(
    schedule: Schedule,
    outputs: Sequence[Tensor],
    inputs: Sequence[Tensor],
    *,
    include_inputs: bool,
) -> list[Stage]:
    """Return the stages that ``outputs`` need and that need ``inputs``, with ``inputs`` themselves if that is said."""
    ends, begins = ([schedule[tensor] for tensor in tensors] for tensors in (outputs, inputs))
    found = []
    for stage in schedule.stages:
        is_begin = any(stage is begin for begin in begins)
        needed = any(stage is end or schedule.consumes(end, stage) for end in ends)
        needs = any(schedule.consumes(stage, begin) for begin in begins)
        if needed and (include_inputs if is_begin else needs):
            found.append(stage)
    if not found:
        raise ScheduleError("create_group: no stage lies between the inputs and the outputs")
    return found
