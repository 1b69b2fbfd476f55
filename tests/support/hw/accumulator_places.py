"""Where tiles of the accumulator lie, found out apart from the hardware."""

__all__ = ["bank", "place"]


def place(address: int, width: int) -> int:
    """Return the place of a tile whose address has ``width`` bits, and, the other way round, the tile at a place."""
    parity = (address & 0b1_1111_0000).bit_count() % 2
    return address ^ parity << 1


def bank(at: int, width: int) -> int:
    """Return the bank of a place."""
    return at & (1 << min(2, width)) - 1
