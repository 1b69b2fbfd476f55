"""The operation that ``te.scan`` makes. Tests: tests/vta/te/test_scan.py."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from isa.origin import Origin
from vta.te.tensor import Tensor
from vta.tir.expr import ExprLike, IterVar

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

    def __post_init__(self) -> None:
        made = tuple(Tensor(self, i, t.shape, t.dtype) for i, t in enumerate(self.state))
        object.__setattr__(self, "outputs", made)

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
