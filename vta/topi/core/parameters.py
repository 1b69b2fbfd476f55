"""Parameters of operators: checked where an operator is made, and settled as plain Python numbers, tuples and enums.

numpy's integers and lists are as good as int and tuple; every function replaces them in the operator at hand. All raise
``OperatorError`` naming the operator, the parameter, what it takes and what it got.
Tests: tests/vta/topi/core/test_parameters.py.
"""

from collections.abc import Iterable
from enum import StrEnum
from numbers import Integral

from vta.topi.core.epilogue_steps import EpilogueError, require_steps_of
from vta.topi.core.operator import OperatorError

__all__ = [
    "PADS", "PAIR", "is_number", "require_cell", "require_choice", "require_flags", "require_sizes", "require_steps",
    "require_tuple",
]  # fmt: skip

PAIR = ("rows", "columns")
PADS = ("top", "left", "bottom", "right")


def require_sizes(operator: object, *names: str) -> None:
    """Settle the attributes ``names`` as numbers from 1."""
    for name in names:
        value = getattr(operator, name)
        if not is_number(value, 1):
            raise OperatorError(f"{type(operator).__name__}: {name} takes a number from 1, not {value!r}")
        object.__setattr__(operator, name, int(value))


def require_tuple(operator: object, name: str, order: tuple[str, ...], *, least: int = 1) -> None:
    """Settle attribute ``name`` as a tuple of numbers from ``least``, one for each word of ``order``."""
    value = getattr(operator, name)
    values = tuple(value) if isinstance(value, Iterable) else ()
    if len(values) != len(order) or not all(is_number(item, least) for item in values):
        raise OperatorError(
            f"{type(operator).__name__}: {name} takes {len(order)} numbers from {least} ({', '.join(order)}), "
            f"not {value!r}"
        )
    object.__setattr__(operator, name, tuple(int(item) for item in values))


def require_cell(operator: object, name: str) -> None:
    """Settle attribute ``name`` as a number that int8 holds."""
    value = getattr(operator, name)
    if not is_number(value, -128) or value > 127:
        raise OperatorError(f"{type(operator).__name__}: {name} takes a number from -128 to 127, not {value!r}")
    object.__setattr__(operator, name, int(value))


def require_flags(operator: object, *names: str) -> None:
    """Refuse attributes ``names`` that are neither True nor False."""
    for name in names:
        value = getattr(operator, name)
        if not isinstance(value, bool):
            raise OperatorError(f"{type(operator).__name__}: {name} takes True or False, not {value!r}")


def require_choice(operator: object, name: str, choices: type[StrEnum]) -> None:
    """Settle attribute ``name`` as one of ``choices``; their texts are as good."""
    value = getattr(operator, name)
    if value not in [*choices]:
        texts = ", ".join(repr(str(choice)) for choice in choices)
        raise OperatorError(f"{type(operator).__name__}: {name} is one of {texts}, not {value!r}")
    object.__setattr__(operator, name, choices(value))


def require_steps(operator: object) -> None:
    """Settle ``epilogue`` as a tuple of steps."""
    steps = operator.epilogue  # type: ignore[attr-defined]  # an operator that has one
    try:
        settled = require_steps_of(type(operator).__name__, "epilogue", steps)
    except EpilogueError as error:
        raise OperatorError(str(error)) from None
    object.__setattr__(operator, "epilogue", settled)


def is_number(value: object, least: int) -> bool:
    """Return whether ``value`` is a whole number from ``least``, of Python or numpy; True and False are none."""
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= least
