"""What an operator is: its inputs, attributes, type relation, fusion pattern and meaning.

Tests: tests/vta/relay/ops/test_call.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Generic, Protocol, TypeAlias, TypeVar

import numpy as np

from runtime.executor.operators.attributes import Attrs
from runtime.executor.operators.names import Op
from runtime.executor.operators.types import Array, RelayError, TensorType, Type

__all__ = ["Definition", "Operator", "Pattern", "Results", "Rows", "Types", "define"]

_A = TypeVar("_A", bound=Attrs)
Types: TypeAlias = Sequence[TensorType]
Results: TypeAlias = Array | tuple[Array, ...]
Relation: TypeAlias = Callable[[Types, _A], Type]
Meaning: TypeAlias = Callable[[Sequence[Array], _A], Results]


class Pattern(IntEnum):
    """How an operator may be fused with others, from what fuses most easily."""

    ELEMWISE = 0
    """Every result depends on the elements at its own place."""
    BROADCAST = 1
    """The same, after broadcasting."""
    INJECTIVE = 2
    """Every result depends on one element of each input, at another place."""
    COMM_REDUCE = 3
    """A sum, a maximum, ... over axes."""
    OUT_ELEMWISE_FUSABLE = 4
    """A large computation whose result element-wise operators may follow in the same kernel: a convolution."""
    TUPLE = 7
    """No computation: several values as one."""
    OPAQUE = 8
    """Is never fused."""


class Operator(Protocol):
    """An operator, whatever the class of its attributes; ``Definition`` is the implementation."""

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names of the inputs; ``*`` before the only name: any number of them from one."""

    @property
    def pattern(self) -> Pattern:
        """How it may be fused."""

    @property
    def attrs_type(self) -> type[Attrs]:
        """The class of its attributes."""

    def infer(self, types: Types, attrs: Attrs) -> Type:
        """Return the type of the result; raises ``RelayError``, which does not name the operator."""

    def evaluate(self, arrays: Sequence[Array], attrs: Attrs) -> Results:
        """Return the result for ``arrays`` of types that ``infer`` accepts."""


@dataclass(frozen=True, slots=True)
class Definition(Generic[_A]):
    """A row of the table of operators; ``evaluate`` gives arrays of the inferred type.

    ``optional`` is how many of the last inputs may be left out.
    """

    inputs: tuple[str, ...]
    attrs_type: type[_A]
    relation: Relation[_A]
    meaning: Meaning[_A]
    pattern: Pattern
    optional: int = 0

    def infer(self, types: Types, attrs: Attrs) -> Type:
        """See ``Operator``."""
        self._count(len(types))
        return self.relation(types, self._own(attrs))

    def evaluate(self, arrays: Sequence[Array], attrs: Attrs) -> Results:
        """See ``Operator``."""
        result = self.meaning(arrays, self._own(attrs))
        return tuple([np.asarray(each) for each in result]) if isinstance(result, tuple) else np.asarray(result)

    def _own(self, attrs: Attrs) -> _A:
        if not isinstance(attrs, self.attrs_type):
            raise RelayError(f"expected attributes {self.attrs_type.__name__}, got {type(attrs).__name__}")
        return attrs

    def _count(self, given: int) -> None:
        if self.inputs[0].startswith("*"):
            if given == 0:
                raise RelayError("expected at least one input, got none")
        elif not len(self.inputs) - self.optional <= given <= len(self.inputs):
            names = ", ".join(self.inputs[: len(self.inputs) - self.optional])
            spare = f" and perhaps {', '.join(self.inputs[-self.optional :])}" if self.optional else ""
            raise RelayError(f"expected {names}{spare}, got {given} inputs")


def define(
    inputs: tuple[str, ...],
    attrs_type: type[_A],
    relation: Relation[_A],
    meaning: Meaning[_A],
    pattern: Pattern,
    *,
    optional: int = 0,
) -> Operator:
    """Return a row of the table of operators, see ``Definition``."""
    return Definition(inputs, attrs_type, relation, meaning, pattern, optional)


Rows: TypeAlias = Mapping[Op, Operator]
"""A part of the table of operators."""
