"""A trace as JSON and back: ``Trace.as_json``, ``Trace.apply_json_to_schedule``.

The object is ``[steps, decisions]``, as TVM's: a step is ``[name, arguments, options, outputs]``, a decision the number
of a step and what was decided there. Blocks and loops are ``{"rv": "b0"}`` by the name of an output, tuples
``{"tuple": [...]}``, maps of indices ``{"index_map": ...}`` as ``save_json`` writes them. A reader of hostile text gets
a sentence: steps are those of the table here. Tests: tests/vta/tir/schedule/test_trace_json.py.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from vta.tir.deep import deep
from vta.tir.expr import FloatImm, IntImm, Node, StringImm, Var
from vta.tir.index_map import IndexMap
from vta.tir.json_text import load_json, save_json
from vta.tir.schedule.errors import BlockScheduleError
from vta.tir.schedule.trace import LETTERS, BlockRV, Instruction, IntRV, LoopRV, RandomVariable, key_of
from vta.tir.tensor_intrin import TensorIntrin

if TYPE_CHECKING:
    from vta.tir.schedule.schedule import Schedule

__all__ = ["STEPS", "apply_json", "steps_as_json"]

STEPS = frozenset((
    "get_block", "get_loops", "get_child_blocks", "get_producers", "get_consumers", "get_output_blocks", "get_parent",
    "split", "fuse", "reorder", "parallel", "vectorize", "unroll", "bind", "blockize", "tensorize", "annotate",
    "unannotate", "storage_align", "add_unit_loop", "compute_at", "reverse_compute_at", "compute_inline",
    "reverse_compute_inline", "cache_read", "cache_write", "set_scope", "reindex", "transform_layout",
    "sample_categorical", "sample_perfect_tile", "sample_compute_location", "enter_postproc",
    "decompose_reduction", "rfactor",
))  # fmt: skip
"""What a step may be called."""

_DECISION = "decision"

_Json: TypeAlias = "bool | int | float | str | Sequence[_Json] | Mapping[str, _Json] | None"


def steps_as_json(insts: Sequence[Instruction], *, remove_postproc: bool) -> list[Any]:
    """Return steps and decisions; with ``remove_postproc`` without what follows ``enter_postproc``.

    Raises ``BlockScheduleError`` for what has no JSON: an intrinsic without a registered name.
    """
    names: dict[object, str] = {}
    steps: list[_Json] = []
    decisions: list[_Json] = []
    for number, inst in enumerate(insts):
        if remove_postproc and inst.kind == "enter_postproc":
            break
        where = f"trace, step {number} ({inst.kind})"
        arguments = [_written(argument, names, where) for argument in inst.arguments]
        options = {key: _written(value, names, where) for key, value in inst.options.items()}
        if _DECISION in options:
            decisions.append([number, options.pop(_DECISION)])
        for output in inst.outputs:
            if key_of(output) not in names:
                letter = LETTERS[type(output)]
                names[key_of(output)] = f"{letter}{sum(name[0] == letter for name in names.values())}"
        steps.append([inst.kind, arguments, options, [names[key_of(output)] for output in inst.outputs]])
    return [steps, decisions]


@deep
def _written(value: object, names: Mapping[object, str], where: str) -> _Json:
    match value:
        case IntRV():
            return {"rv": names[key_of(value)]} if key_of(value) in names else int(value)
        case None | bool() | int() | float() | str():
            return value
        case IntImm(value=number) | FloatImm(value=number) | StringImm(value=number):
            return number
        case BlockRV():
            return {"rv": names[value]} if value in names else value.name
        case LoopRV() if value in names:
            return {"rv": names[value]}
        case list():
            return [_written(item, names, where) for item in value]
        case tuple():
            return {"tuple": [_written(item, names, where) for item in value]}
        case IndexMap():
            return {"index_map": json.loads(save_json((value.initial_indices, value.final_indices)))}
        case TensorIntrin() if TensorIntrin.has(value):
            return value.name
        case LoopRV():
            raise BlockScheduleError(f"{where}: loop {value.var.name!r} comes from no step of the trace")
        case TensorIntrin():
            raise BlockScheduleError(
                f"{where}: intrinsic {value.name!r} has no name that JSON can hold; register it "
                "(tir.TensorIntrin.register), and tensorize by its name"
            )
        case _:
            raise BlockScheduleError(f"{where}: {value!r} has no JSON")


def apply_json(document: object, sch: Schedule) -> None:
    """Do to ``sch`` what ``steps_as_json`` wrote; raises the error of a step that does not apply there."""
    match document:
        case [list() as steps, list() as decisions]:
            pass
        case _:
            raise BlockScheduleError("trace: expected [steps, decisions], as Trace.as_json gives them")
    decided = dict(_decision(entry, len(steps)) for entry in decisions)
    known: dict[str, RandomVariable] = {}
    for number, step in enumerate(steps):
        _apply(sch, step, known, decided.get(number), f"trace, step {number}")


def _decision(entry: object, count: int) -> tuple[int, object]:
    match entry:
        case [int() as number, decision] if 0 <= number < count:
            return number, decision
        case _:
            raise BlockScheduleError(f"trace: expected the number of a step and a decision, got {entry!r}")


def _apply(sch: Schedule, step: object, known: dict[str, RandomVariable], decision: object | None, where: str) -> None:
    match step:
        case [str() as kind, list() as arguments, dict() as options, list() as outputs] if kind in STEPS:
            pass
        case [str() as kind, *_] if kind not in STEPS:
            raise BlockScheduleError(f"{where}: there is no step {kind!r}")
        case _:
            raise BlockScheduleError(f"{where}: expected [name, arguments, options, outputs], got {step!r}")
    given = [_read(argument, known, where) for argument in arguments]
    named = {key: _read(value, known, where) for key, value in options.items()}
    if decision is not None:
        named[_DECISION] = _read(decision, known, where)
    try:
        result = getattr(sch, kind)(*given, **named)
    except TypeError as error:
        raise BlockScheduleError(f"{where} ({kind}): {error}") from None
    found = result if isinstance(result, list) else [result]
    made = [value for value in found if isinstance(value, BlockRV | LoopRV | IntRV)]
    if not outputs and all(isinstance(value, IntRV) for value in made):
        return  # the text is of before chosen numbers had names
    if len(made) != len(outputs):
        raise BlockScheduleError(f"{where} ({kind}): gives {len(made)} blocks, loops and numbers, not {len(outputs)}")
    known.update(zip(map(str, outputs), made, strict=True))


@deep
def _read(value: object, known: Mapping[str, RandomVariable], where: str) -> object:
    match value:
        case None | bool() | int() | float() | str():
            return value
        case list():
            return [_read(item, known, where) for item in value]
        case {"rv": str() as name} if name in known:
            return known[name]
        case {"rv": name}:
            raise BlockScheduleError(f"{where}: no step before gives {name!r}")
        case {"tuple": list() as items}:
            return tuple(_read(item, known, where) for item in items)
        case {"index_map": document}:
            return _map(document, where)
        case _:
            raise BlockScheduleError(f"{where}: {value!r} is no argument of a step")


def _map(document: object, where: str) -> IndexMap:
    match load_json(json.dumps(document)):
        case (tuple() as initial, tuple() as final) if all(isinstance(var, Var) for var in initial) and all(
            isinstance(index, Node) for index in final
        ):
            return IndexMap(initial, final)
        case _:
            raise BlockScheduleError(f"{where}: expected variables and expressions of a map of indices")
