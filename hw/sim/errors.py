"""The errors of the hardware simulator. Tests: the test file of the module that raises them."""

from isa.errors import VTAError

__all__ = ["AxiError", "PropertyError", "SimulatorError"]


class SimulatorError(VTAError):
    """A design, a name or a call that the simulator refuses; the text names the place and what to do."""


class PropertyError(SimulatorError):
    """An ``Assert`` or ``Assume`` of the design did not hold; the text names its source line and the cycle."""


class AxiError(SimulatorError):
    """A master broke the AXI4 protocol or left its memory; the text names the channel, the cycle and the address."""
