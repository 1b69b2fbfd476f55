"""``operator.vta``: the template of every operator of the library that TVM-VTA has no template for.

A task's arguments are the operator's kind and all its fields, epilogue included, so that the operator can be made of
them again: convolutions in groups, depthwise and transposed ones, pools, what the ALU does element by element.
Tests: tests/vta/autotvm/library/test_described.py.
"""

import enum
from collections.abc import Mapping
from dataclasses import fields
from typing import get_type_hints

from isa.printable import short
from vta import topi
from vta.autotvm.errors import TuningError
from vta.autotvm.library.choices import define, has_choices, make
from vta.autotvm.made import Arguments, Template
from vta.autotvm.workload import Value, serialised, steps_of, written_steps
from vta.environment import Environment
from vta.topi.core.operator import Operator

__all__ = ["TEMPLATES", "workload_of"]

_NAME = "operator.vta"
_KINDS = {
    name: kind
    for name, kind in vars(topi).items()
    if isinstance(kind, type) and issubclass(kind, Operator) and kind is not topi.BatchMatmul
}


def workload_of(operator: Operator) -> tuple[Value, ...] | None:
    """Return the template and the arguments that stand for ``operator``; None if it has nothing to choose."""
    kind = type(operator).__name__
    if not has_choices(operator) or _KINDS.get(kind) is not type(operator):
        return None
    values = [(name, _written(name, getattr(operator, name))) for name in _names(type(operator))]
    return (_NAME, kind, *values)


def _names(kind: type[Operator]) -> list[str]:
    return [field.name for field in fields(kind)]  # type: ignore[arg-type]  # operators are dataclasses


def _written(name: str, value: object) -> Value:
    if name == "epilogue":
        return written_steps(value)  # type: ignore[arg-type]  # what a field of that name is
    return str(value) if isinstance(value, enum.Enum) else serialised(value)


def _operator(arguments: Arguments, env: Environment) -> Operator:  # noqa: ARG001  # the same on each
    """Return the operator that a task's arguments describe; raises ``TuningError``."""
    match arguments:
        case (str(name), *pairs) if name in _KINDS:
            kind = _KINDS[name]
            hints = get_type_hints(kind)
            values: dict[str, object] = {}
            for pair in pairs:
                match pair:
                    case (str(field), value) if field in _names(kind):
                        values[field] = _read(hints[field], field, value)
                    case _:
                        raise TuningError(f"{_NAME}: {name} has {', '.join(_names(kind))}, not {short(pair)}")
            return kind(**values)
        case _:
            raise TuningError(
                f"{_NAME} takes a kind of operator, one of {', '.join(_KINDS)}, and pairs of a field and its value, "
                f"not {short(arguments)}"
            )


def _read(hint: object, name: str, value: Value) -> object:
    if name == "epilogue":
        return steps_of(value)
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        if value not in [str(member) for member in hint]:
            raise TuningError(f"{_NAME}: {name} is one of {', '.join(map(str, hint))}, not {short(value)}")
        return hint(value)
    return value


TEMPLATES: Mapping[str, Template] = {
    _NAME: Template(
        _NAME,
        lambda space, arguments, env: define(space, _operator(arguments, env), env),
        lambda config, arguments, env: make(config, _operator(arguments, env), env),
        _operator,
    )
}
"""Name -> template."""
