"""What may be chosen in quantising. Tests: tests/vta/quantize/test_quantise.py."""

from dataclasses import dataclass
from enum import StrEnum

from vta.quantize.errors import QuantizeError

__all__ = ["Method", "Options"]


class Method(StrEnum):
    """How a range is found."""

    MIN_MAX = "min-max"
    """The smallest and the largest number that was seen."""
    PERCENTILE = "percentile"
    """What leaves out a small share at either end."""
    MSE = "mse"
    """What makes the mean squared error least."""
    KL = "kl"
    """What keeps the distribution: least relative entropy between it and its int8 form."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Choices; the defaults are what loses least at little cost on the accelerator.

    ``methods`` are the ways to find ranges; each tensor takes the one that loses least. ``floor`` is the smallest
    cosine between int8 and float outputs: until it is reached, the layers that cost most stay float. ``keep`` names
    nodes that stay float in any case. ``symmetric`` says whether zero is cell 0 everywhere (True), wherever that comes
    (False), or, by default, everywhere but where a zero point costs the accelerator nothing or brings the outputs
    clearly closer.
    """

    methods: tuple[Method, ...] = tuple(Method)
    per_channel: bool = True
    symmetric: bool | None = None
    power_of_two: bool = False
    equalise: bool = True
    correct_bias: bool = True
    optimise_rounding: bool = True
    percentile: float = 99.99
    floor: float | None = None
    keep: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.methods:
            raise QuantizeError(f"no method to find ranges; give some of {', '.join(Method)}")
        if not 50 < self.percentile <= 100:
            raise QuantizeError(f"percentile must be above 50 and at most 100, not {self.percentile:g}")
        if self.floor is not None and not 0 < self.floor < 1:
            raise QuantizeError(f"floor is a cosine between 0 and 1, not {self.floor:g}")
