"""Why a model cannot be quantised. Tests: tests/vta/quantize."""

from isa.errors import VTAError

__all__ = ["CalibrationError", "CalibrationWarning", "QuantizeError"]


class QuantizeError(VTAError, ValueError):
    """A model or option that cannot be quantised or followed."""


class CalibrationError(QuantizeError):
    """Data that do not fit the model, or that make a layer collapse."""


class CalibrationWarning(UserWarning):
    """Data that are likely too few."""
