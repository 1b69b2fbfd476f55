"""The error of components that cannot be built. Tests: the test file of the component that raises it."""

from isa.errors import VTAError

__all__ = ["ComponentError"]


class ComponentError(VTAError, ValueError):
    """A component of the hardware that was asked for with sizes that it cannot have."""
