"""What a choice of tiles takes of each scratchpad, and the refusal of what does not fit.

Tests: tests/vta/topi/tiling/test_footprint.py.
"""

from dataclasses import dataclass
from typing import Self

from isa.config import VTAConfig
from isa.errors import VTAError

__all__ = ["Footprint", "TilingError", "require_fit"]


class TilingError(VTAError, ValueError):
    """Tiles that do not fit the scratchpads, or an operator for which none do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Footprint:
    """Elements of the scratchpads (and micro-ops) that are in use at once, all copies included."""

    inp: int = 0
    wgt: int = 0
    acc: int = 0
    uops: int = 0

    @classmethod
    def capacity(cls, config: VTAConfig) -> Self:
        """Return what there is."""
        return cls(inp=config.inp_depth, wgt=config.wgt_depth, acc=config.acc_depth, uops=config.uop_depth)

    def fits(self, capacity: "Footprint") -> bool:
        """Return whether all of it is there."""
        return (
            self.acc <= capacity.acc
            and self.inp <= capacity.inp
            and self.wgt <= capacity.wgt
            and self.uops <= capacity.uops
        )

    def excess(self, config: VTAConfig) -> list[str]:
        """Return a part of a sentence for each buffer that is too small: its need and its limit."""
        capacity = self.capacity(config)
        uses = (
            ("input", self.inp, capacity.inp, config.inp_elem_bytes),
            ("weight", self.wgt, capacity.wgt, config.wgt_elem_bytes),
            ("accumulator", self.acc, capacity.acc, config.acc_elem_bytes),
            ("micro-op", self.uops, capacity.uops, config.uop_elem_bytes),
        )
        return [
            f"the {name} buffer would need {need} elements and has {depth} ({size} bytes each)"
            for name, need, depth, size in uses
            if need > depth
        ]


def require_fit(footprint: Footprint, config: VTAConfig, what: str) -> None:
    """Raise ``TilingError`` about ``what``, naming each buffer that is too small, its need and its limit."""
    if excess := footprint.excess(config):
        raise TilingError(f"{what}: {'; '.join(excess)}; take smaller tiles or fewer copies")
