"""What a layer's schedule keeps on the chip while tiles change. Tests: tests/vta/topi/core/test_layer_schedule.py."""

from enum import StrEnum

__all__ = ["Resident"]


class Resident(StrEnum):
    """What stays on the chip while tiles change."""

    NONE = "none"
    DATA = "data"
    """The data of a tile's places, while output channels change."""
    KERNEL = "kernel"
    """The weights of a tile's output channels, while places change."""
