"""What was done to a schedule, step by step: to print, and to do again to another function.

Tests: tests/vta/tir/schedule/test_trace.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from vta.tir.buffer import Buffer
from vta.tir.expr import Var
from vta.tir.index_map import IndexMap
from vta.tir.schedule.errors import BlockScheduleError
from vta.tir.script.expression_text import expression_text

if TYPE_CHECKING:
    from vta.tir.schedule.schedule import Schedule

__all__ = ["LETTERS", "BlockRV", "Instruction", "IntRV", "LoopRV", "RandomVariable", "Trace", "key_of"]


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


class IntRV(int):
    """A number that a step chose: an integer that the trace knows again, as the very object that it is."""

    def __deepcopy__(self, memo: object) -> IntRV:
        return self


RandomVariable: TypeAlias = "BlockRV | LoopRV | IntRV"
"""What a step gives to the ones after it."""

_GETTERS = frozenset((
    "get_block", "get_loops", "get_child_blocks", "get_producers", "get_consumers", "get_output_blocks", "get_parent",
    "sample_categorical", "sample_perfect_tile", "sample_compute_location",
))  # fmt: skip
"""Steps that change nothing by themselves."""

_DECISION = "decision"


def key_of(value: RandomVariable) -> object:
    """Return what tells one from others: equal numbers of two steps are two."""
    return id(value) if isinstance(value, IntRV) else value


@dataclass(frozen=True, slots=True)
class Instruction:
    """One primitive: its name, what it was given, and the blocks and loops that it gave."""

    kind: str
    arguments: tuple[object, ...]
    options: Mapping[str, object]
    outputs: tuple[RandomVariable, ...]


@dataclass(slots=True)
class Trace:
    """The steps, in order."""

    insts: list[Instruction] = field(default_factory=list)

    @property
    def decisions(self) -> dict[int, object]:
        """What was decided in steps that choose, by their places."""
        return {k: inst.options[_DECISION] for k, inst in enumerate(self.insts) if _DECISION in inst.options}

    def get_decision(self, inst: Instruction) -> object:
        """Return what a step decided; None for one that chooses nothing."""
        return inst.options.get(_DECISION)

    def with_decision(self, inst: Instruction, decision: object, remove_postproc: bool = False) -> Trace:
        """Return the steps with another decision in one of them; numbers that followed from it follow from the new."""
        if not any(own is inst for own in self.insts):
            raise BlockScheduleError(f"with_decision: {inst.kind!r} is no step of this trace")
        changed = replace(inst, options={**inst.options, _DECISION: decision})
        return Trace([changed if own is inst else own for own in self._kept(remove_postproc)])

    def simplified(self, remove_postproc: bool) -> Trace:
        """Return the steps without those that only find or choose what no later step uses."""
        used: set[object] = set()
        kept: list[Instruction] = []
        for inst in reversed(self._kept(remove_postproc)):
            if inst.kind in _GETTERS and not any(key_of(output) in used for output in inst.outputs):
                continue
            kept.append(inst)
            used.update(map(key_of, _variables([*inst.arguments, *inst.options.values()])))
        return Trace(kept[::-1])

    def pop(self) -> Instruction | None:
        """Take the last step away and return it; None if there is none."""
        return self.insts.pop() if self.insts else None

    def _kept(self, remove_postproc: bool) -> list[Instruction]:
        """Return the steps, or those before ``enter_postproc``."""
        ends = (k for k, inst in enumerate(self.insts) if inst.kind == "enter_postproc")
        return self.insts[: next(ends, None)] if remove_postproc else list(self.insts)

    def apply_to_schedule(self, sch: Schedule, remove_postproc: bool = False) -> None:
        """Do the same to ``sch``; raises the error of a step that does not apply there."""
        known: dict[object, RandomVariable] = {}
        for inst in self._kept(remove_postproc):
            arguments = [_translated(argument, known) for argument in inst.arguments]
            options = {key: _translated(value, known) for key, value in inst.options.items()}
            result = getattr(sch, inst.kind)(*arguments, **options)
            if inst.outputs:
                found = result if isinstance(result, list) else [result]
                known.update(zip(map(key_of, inst.outputs), found, strict=True))

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
        names: dict[object, str] = {}
        counts = {BlockRV: 0, LoopRV: 0, IntRV: 0}
        lines: list[str] = []
        for inst in self.insts:
            arguments = [_spelled(argument, names) for argument in inst.arguments]
            arguments += [f"{key}={_spelled(value, names)}" for key, value in inst.options.items()]
            for output in inst.outputs:
                if key_of(output) not in names:
                    names[key_of(output)] = f"{LETTERS[type(output)]}{counts[type(output)]}"
                    counts[type(output)] += 1
            outputs = ", ".join(names[key_of(output)] for output in inst.outputs)
            lines.append(f"{outputs}{' = ' if outputs else ''}sch.{inst.kind}({', '.join(arguments)})")
        return lines

    def __str__(self) -> str:
        return "\n".join(self.as_python())


LETTERS: Mapping[type, str] = {BlockRV: "b", LoopRV: "l", IntRV: "v"}
"""What names of each kind begin with."""


def _variables(values: Iterable[object]) -> Iterator[RandomVariable]:
    stack = list(values)
    while stack:
        match stack.pop():
            case (BlockRV() | LoopRV() | IntRV()) as found:
                yield found
            case (list() | tuple()) as items:
                stack += items
            case _:
                continue


def _translated(value: object, known: Mapping[object, RandomVariable]) -> object:
    match value:
        case BlockRV() | LoopRV() | IntRV():
            return known.get(key_of(value), value)
        case list() | tuple():
            items = [_translated(item, known) for item in value]
            return items if isinstance(value, list) else tuple(items)
        case _:
            return value


def _spelled(value: object, names: Mapping[object, str]) -> str:
    match value:
        case IntRV():
            return names.get(key_of(value), repr(int(value)))
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
