"""What is known of a value of a float graph in integers. Tests: tests/vta/relay/integer/test_convert.py."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from math import inf

import numpy as np
import numpy.typing as npt

from vta.relay.ir.nodes import Expr, Var
from vta.relay.ir.origin import Origin

__all__ = ["Cells", "Gated", "Ints", "Leaky", "Moved", "Sums", "Table", "Term", "Value"]

Reals = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """Real numbers ``(expr - zero) * scale``; ``expr`` is int8."""

    expr: Expr
    scale: float
    zero: int

    @property
    def reach(self) -> int:
        """The largest magnitude of ``expr - zero``."""
        return max(127 - self.zero, self.zero + 128)


@dataclass(frozen=True, slots=True, eq=False)
class Ints:
    """An integer tensor of the model, ``expr + offset``: int8, and 128 where the model has uint8."""

    expr: Expr
    offset: int


@dataclass(frozen=True, slots=True, eq=False)
class Term:
    """Real numbers ``expr * scale``, of sums in int32; ``scale`` is one number, or one for each channel."""

    expr: Expr
    scale: Reals


@dataclass(frozen=True, slots=True, eq=False)
class Sums:
    """``clip(term + cells + offset, low, high)``; term or cells may be missing, the offset goes along ``axis``.

    ``origins`` are the nodes of the model that became part of it and have no call of their own.
    """

    term: Term | None
    cells: tuple[Cells, ...]
    axis: int
    offset: Reals = field(default_factory=lambda: np.zeros(1))
    low: float = -inf
    high: float = inf
    origins: tuple[Origin, ...] = ()

    @property
    def is_limited(self) -> bool:
        """Whether it has limits that matter."""
        return (self.low, self.high) != (-inf, inf)


@dataclass(frozen=True, slots=True, eq=False)
class Leaky:
    """``sums`` where they are positive, and ``sums * slopes`` elsewhere; one slope, or one for each channel."""

    sums: Sums
    slopes: Reals


@dataclass(frozen=True, slots=True, eq=False)
class Gated:
    """``sums * clip(sums * slope + offset, 0, top) * factor``, of a positive slope: a hard swish."""

    sums: Sums
    slope: float
    offset: float
    top: float
    factor: float = 1.0


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """A function of one tensor of cells: ``expr`` of ``var``, which are the 256 numbers that a cell can stand for.

    ``var`` is (1, 256); ``expr`` is that or (C, 256), a function for each channel. ``origins`` are the nodes of the
    model that it is made of.
    """

    cells: Cells
    var: Var
    expr: Expr
    origins: tuple[Origin, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Moved:
    """Another value whose elements have been moved, or the largest of them taken: cells of any scale may be as well.

    ``move`` does that to cells; it gets the nodes of the model that ask for them.
    """

    source: "Value"
    move: Callable[[Expr, tuple[Origin, ...]], Expr]


@dataclass(eq=False)
class Value:
    """A value of the graph: its expression, made when it is asked for, and what is known of it in integers."""

    make: Callable[[], Expr]
    cells: Cells | None = None
    sums: Sums | None = None
    table: Table | None = None
    bent: Leaky | Gated | None = None
    ints: Ints | None = None
    parts: tuple["Value", ...] | None = None
    """Of a tuple, or of a concatenation along ``axis``."""
    axis: int | None = None
    moved: "Moved | None" = None

    @cached_property
    def expr(self) -> Expr:
        """The value itself."""
        return self.make()
