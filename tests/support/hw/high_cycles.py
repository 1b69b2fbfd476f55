"""How often a signal of a compiled design is high."""

from hw.sim import CompiledDesign

__all__ = ["cycles_high"]


def cycles_high(design: CompiledDesign, name: str, cycles: int) -> int:
    """Return in how many of the next cycles a signal is high."""
    count = 0
    for _ in range(cycles):
        count += design.peek(name)
        design.step()
    return count
