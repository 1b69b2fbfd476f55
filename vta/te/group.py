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

__all__ = ["Group", "members_between"]


class Group:
    """Stages that are computed where the group is, but for those that are put elsewhere by themselves."""

    def __init__(self, members: Sequence[Stage]) -> None:
        self.members = list(members)

    def compute_at(self, parent: Stage, scope: IterVar) -> None:
        """Compute the members in the body of loop ``scope`` of ``parent``.

        A member that only other members read is computed there, too: the loop is in a stage that reads the group.
        """
        if any(parent is member for member in self.members):
            raise ScheduleError(f"group: compute_at: stage {parent.name!r} is in the group; give a stage that reads it")
        for member in self.members:
            if not isinstance(member.attach, AttachAt) and not member.is_inlined:
                member.compute_at(parent, scope)

    def compute_root(self) -> None:
        """Compute the members on their own."""
        for member in self.members:
            if isinstance(member.attach, AttachAt):
                member.attach = AttachKind.ROOT


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
