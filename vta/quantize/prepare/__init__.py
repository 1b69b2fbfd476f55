"""Making a float model ready: one operator version, no constant arithmetic, batch norms and factors folded into layers.

What changes no number of the model's outputs (beyond float rounding) belongs here; ranges and scales do not.
"""

from vta.quantize.prepare.prepare import prepared

__all__ = ["prepared"]
