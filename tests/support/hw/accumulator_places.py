"""Where tiles of the accumulator lie, found out apart from the hardware."""

__all__ = ["bank", "place"]


def place(address: int, width: int) -> int:
    """Return the place of a tile whose address has ``width`` bits, and, the other way round, the tile at a place."""
    mask = (1 << min(2, width)) - 1
    mixed = address ^ address >> 4 ^ address >> 6 ^ address >> 8
    return address & ~mask | mixed & mask


def bank(at: int, width: int) -> int:
    """Return the bank of a place."""
    return at & (1 << min(2, width)) - 1
