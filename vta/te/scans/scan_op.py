"""The operation that ``te.scan`` makes. Tests: tests/vta/te/test_scan.py."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from isa.origin import Origin
from vta.te.tensor import Tensor
from vta.tir.expr import ExprLike, IterVar, Range, Var, const

__all__ = ["ScanOp"]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ScanOp:
    """Rows ``init``, then one row of ``update`` after the other, which reads rows before through ``state``.

    Init, update, state and output of one place share memory. ``scan_axis`` walks over the rows of the update.
    """

    name: str
    tag: str
    attrs: Mapping[str, ExprLike]
    scan_axis: IterVar
    init: tuple[Tensor, ...]
    update: tuple[Tensor, ...]
    state: tuple[Tensor, ...]
    origin: Origin | None = None
    outputs: tuple[Tensor, ...] = field(init=False, default=())
    spatial_axis_: tuple[IterVar, ...] = field(init=False, default=())
    """The axes within a row, of each state in turn, under TVM's name."""

    def __post_init__(self) -> None:
        made = tuple(Tensor(self, i, t.shape, t.dtype) for i, t in enumerate(self.state))
        object.__setattr__(self, "outputs", made)
        within = [(i, dim, size) for i, t in enumerate(self.state) for dim, size in enumerate(t.shape) if dim]
        axes = (IterVar(Range(const(0), size), Var(f"{self.name}.out{i}.i{dim}")) for i, dim, size in within)
        object.__setattr__(self, "spatial_axis_", tuple(axes))

    @property
    def num_outputs(self) -> int:
        """How many tensors it computes."""
        return len(self.state)

    @property
    def input_tensors(self) -> tuple[Tensor, ...]:
        """What it reads: first rows and updates."""
        return (*self.init, *self.update)

    @property
    def axis(self) -> tuple[IterVar, ...]:
        """The axis of its loop over rows; those within a row are the update's."""
        return (self.scan_axis,)

    @property
    def reduce_axis(self) -> tuple[IterVar, ...]:
        """None."""
        return ()

    def output(self, index: int) -> Tensor:
        """Return output ``index``."""
        return self.outputs[index]

    def __repr__(self) -> str:
        return f"scan({self.name})"

    def __hash__(self) -> int:
        return id(self)
