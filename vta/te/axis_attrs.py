"""What a schedule says about the loop of one axis, and how a script that knows TVM's objects sees it.

Tests: tests/vta/te/test_axis_attrs.py.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from vta.te.tensorize.intrin import TensorIntrin
from vta.tir.expr import Expr, IterKind, IterVar, StringImm
from vta.tir.stmt import ForKind

__all__ = ["ITERATION_TYPES", "AxisAttrs", "AxisView"]

ITERATION_TYPES = {
    "DataPar": 0, "ThreadIndex": 1, "CommReduce": 2, "Ordered": 3, "Opaque": 4, "Unrolled": 5, "Vectorized": 6,
    "Parallelized": 7, "Tensorized": 8,
}  # fmt: skip
"""TVM's numbers of how an axis is walked over."""

_OF_KIND = {ForKind.UNROLLED: "Unrolled", ForKind.VECTORIZED: "Vectorized", ForKind.PARALLEL: "Parallelized"}


@dataclass(slots=True)
class AxisAttrs:
    """How the loop of one axis runs."""

    kind: ForKind | None = None
    pragmas: list[tuple[str, Expr]] = field(default_factory=list)
    thread: IterVar | None = None
    intrinsic: TensorIntrin | None = None
    align: tuple[int, int] | None = None

    @property
    def runs(self) -> str:
        """How its iterations run ("" if nothing was said)."""
        if self.thread is not None:
            return f"a binding to thread axis {self.thread.name!r}"
        if self.intrinsic is not None:
            return f"tensor intrinsic {self.intrinsic.name!r}"
        return "" if self.kind is None else f"{self.kind.value!r}"

    @property
    def said(self) -> str:
        """What was said about the loop, pragmas included ("" if nothing)."""
        return f"pragma {self.pragmas[0][0]!r}" if self.pragmas else self.runs


@dataclass(frozen=True, slots=True)
class AxisView:
    """The same with TVM's attributes: ``s[T].iter_var_attrs[axis].iter_type``."""

    axis: IterVar
    attrs: AxisAttrs

    @property
    def iter_type(self) -> int:
        """How the axis is walked over."""
        if self.attrs.intrinsic is not None:
            return ITERATION_TYPES["Tensorized"]
        if self.attrs.kind in _OF_KIND:
            return ITERATION_TYPES[_OF_KIND[self.attrs.kind]]
        return ITERATION_TYPES[str(self.axis.kind if self.axis.kind in ITERATION_TYPES else IterKind.OPAQUE)]

    @property
    def bind_thread(self) -> IterVar | None:
        """The thread axis that the loop is bound to."""
        return self.attrs.thread

    @property
    def tensor_intrin(self) -> TensorIntrin | None:
        """The intrinsic that replaces the loop."""
        return self.attrs.intrinsic

    @property
    def pragma_keys(self) -> list[StringImm]:
        """The names of its pragmas."""
        return [StringImm(key) for key, _ in self.attrs.pragmas]

    @property
    def pragma_values(self) -> list[Expr]:
        """The values of its pragmas."""
        return [value for _, value in self.attrs.pragmas]
