"""What names a task: the template's name and its arguments, as tuples that compare, hash and survive JSON.

A tensor is ``("TENSOR", shape, dtype)``, as in TVM's records; steps of an epilogue are their name and their values.
Tests: tests/vta/autotvm/test_workload.py.
"""

from collections.abc import Iterator
from dataclasses import fields
from typing import get_args

from isa.printable import short
from vta import te
from vta.autotvm.errors import TuningError
from vta.tir.expr import IntImm
from vta.topi.core.epilogue import Epilogue, Fork, Joint, Step

__all__ = ["Value", "placeholders", "serialised", "steps_of", "written_steps"]

Value = str | int | float | bool | None | tuple["Value", ...]
"""An argument of a task."""

_STEPS = {step.__name__: step for step in get_args(Step)}


def serialised(value: object) -> Value:
    """Return an argument of a template as a task keeps it; raises ``TuningError``."""
    match value:
        case te.Tensor():
            shape = tuple(extent.value for extent in value.shape if isinstance(extent, IntImm))
            if len(shape) != value.ndim:
                raise TuningError(f"tensor {value.name!r}: the sizes of a task are numbers, not {value.shape}")
            return ("TENSOR", shape, str(value.dtype))
        case None | str() | int() | float():
            return value
        case list() | tuple():
            return tuple(serialised(part) for part in value)
        case _:
            raise TuningError(
                f"a task's arguments are tensors, numbers, texts, None and tuples of them, not {type(value).__name__}"
            )


def placeholders(value: Value, names: Iterator[str]) -> object:
    """Return an argument as a template takes it: a placeholder for a tensor, called by the next of ``names``."""
    match value:
        case ("TENSOR", tuple(shape), str(dtype)):
            return te.placeholder(shape, dtype=dtype, name=next(names))  # type: ignore[arg-type]  # extents
        case tuple(parts):
            return tuple(placeholders(part, names) for part in parts)
        case _:
            return value


def written_steps(steps: Epilogue) -> Value:
    """Return an epilogue as an argument of a task."""
    return tuple(_written(step) for step in steps)


def _written(step: Step) -> Value:
    values: list[Value] = [type(step).__name__]
    for name in (entry.name for entry in fields(step)):
        value = getattr(step, name)
        values.append(written_steps(value) if isinstance(value, tuple) else value)
    return tuple(str(value) if isinstance(value, Joint) else value for value in values)


def steps_of(written: Value) -> Epilogue:
    """Return the epilogue that ``written_steps`` wrote; raises ``TuningError``."""
    if not isinstance(written, tuple):
        raise TuningError(f"an epilogue of a task is a tuple of steps, not {short(written)}")
    return tuple(_step(entry) for entry in written)


def _step(written: Value) -> Step:
    match written:
        case ("Fork", str(joint), steps, others) if joint in list(Joint):
            return Fork(Joint(joint), steps_of(steps), steps_of(others))
        case (str(name), *values) if name in _STEPS and name != "Fork" and len(values) == len(fields(_STEPS[name])):
            made: Step = _STEPS[name](*values)
            return made
        case _:
            raise TuningError(f"an epilogue of a task has no step {short(written)}; steps are {', '.join(_STEPS)}")
