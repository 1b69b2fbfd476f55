"""What was done to a schedule, step by step: to print, and to do again to another function.

Tests: tests/vta/tir/schedule/test_trace.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from vta.tir.buffer import Buffer
from vta.tir.expr import Var
from vta.tir.index_map import IndexMap
from vta.tir.script.expression_text import expression_text

if TYPE_CHECKING:
    from vta.tir.schedule.schedule import Schedule

__all__ = ["BlockRV", "Instruction", "LoopRV", "Trace"]


@dataclass(frozen=True, slots=True)
class BlockRV:
    """A block of a schedule, by its name."""

    name: str


@dataclass(frozen=True, slots=True, eq=False)
class LoopRV:
    """A loop of a schedule, by its variable."""

    var: Var

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LoopRV) and self.var is other.var

    def __hash__(self) -> int:
        return id(self.var)


@dataclass(frozen=True, slots=True)
class Instruction:
    """One primitive: its name, what it was given, and the blocks and loops that it gave."""

    kind: str
    arguments: tuple[object, ...]
    options: Mapping[str, object]
    outputs: tuple[BlockRV | LoopRV, ...]


@dataclass(slots=True)
class Trace:
    """The steps, in order."""

    insts: list[Instruction] = field(default_factory=list)

    def apply_to_schedule(self, sch: Schedule) -> None:
        """Do the same to ``sch``; raises the error of a step that does not apply there."""
        known: dict[BlockRV | LoopRV, BlockRV | LoopRV] = {}
        for inst in list(self.insts):
            arguments = [_translated(argument, known) for argument in inst.arguments]
            options = {key: _translated(value, known) for key, value in inst.options.items()}
            result = getattr(sch, inst.kind)(*arguments, **options)
            if inst.outputs:
                known.update(zip(inst.outputs, result if isinstance(result, list) else [result], strict=True))

    def as_json(self, remove_postproc: bool = False) -> list[Any]:
        """Return the steps as what ``json.dumps`` takes; ``remove_postproc``: up to ``enter_postproc``."""
        from vta.tir.schedule.trace_json import steps_as_json  # it knows the steps

        return steps_as_json(self.insts, remove_postproc=remove_postproc)

    @staticmethod
    def apply_json_to_schedule(json_obj: object, sch: Schedule) -> None:
        """Do to ``sch`` what ``as_json`` gave."""
        from vta.tir.schedule.trace_json import apply_json  # it knows the steps

        apply_json(json_obj, sch)

    def as_python(self) -> list[str]:
        """Return the steps as lines of Python on a schedule ``sch``."""
        names: dict[BlockRV | LoopRV, str] = {}
        counts = {BlockRV: 0, LoopRV: 0}
        lines: list[str] = []
        for inst in self.insts:
            arguments = [_spelled(argument, names) for argument in inst.arguments]
            arguments += [f"{key}={_spelled(value, names)}" for key, value in inst.options.items()]
            for output in inst.outputs:
                if output not in names:
                    names[output] = f"{'b' if isinstance(output, BlockRV) else 'l'}{counts[type(output)]}"
                    counts[type(output)] += 1
            outputs = ", ".join(names[output] for output in inst.outputs)
            lines.append(f"{outputs}{' = ' if outputs else ''}sch.{inst.kind}({', '.join(arguments)})")
        return lines

    def __str__(self) -> str:
        return "\n".join(self.as_python())


def _translated(value: object, known: Mapping[BlockRV | LoopRV, BlockRV | LoopRV]) -> object:
    match value:
        case BlockRV() | LoopRV():
            return known.get(value, value)
        case list() | tuple():
            items = [_translated(item, known) for item in value]
            return items if isinstance(value, list) else tuple(items)
        case _:
            return value


def _spelled(value: object, names: Mapping[BlockRV | LoopRV, str]) -> str:
    match value:
        case BlockRV():
            return names.get(value, repr(value.name))
        case LoopRV():
            return names.get(value, value.var.name)
        case list() | tuple():
            inside = ", ".join(_spelled(item, names) for item in value)
            return f"({inside})" if isinstance(value, tuple) and len(value) > 1 else f"[{inside}]"
        case IndexMap():
            indices = ", ".join(expression_text(index, _name) for index in value.final_indices)
            return f"lambda {', '.join(var.name for var in value.initial_indices)}: [{indices}]"
        case _:
            return repr(value)


def _name(var: Var | Buffer) -> str:
    return var.name
