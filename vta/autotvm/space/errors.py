"""The error of config spaces. Tests: tests/vta/autotvm/space/test_config_space.py."""

from isa.errors import VTAError

__all__ = ["SpaceError"]


class SpaceError(VTAError, ValueError):
    """A knob that cannot be, or a choice that a config space does not have."""
