"""What was decided for every layer, and what it costs: rows for tables, JSON and pictures.

Tests: tests/vta/quantize/test_picture.py.
"""

import json
import math
from dataclasses import asdict, dataclass

from vta.quantize.score import Score

__all__ = ["LayerReport", "Report"]


@dataclass(frozen=True, slots=True)
class LayerReport:
    """One tensor that became int8, and the weights of the layer that makes it.

    ``clipped`` is the share of its numbers beyond the range; ``sqnr_db`` is the tensor's alone, ``weight_sqnr_db`` the
    weights'; ``error_share`` is its part of the errors that the layers make at the outputs, each alone.
    """

    name: str
    tensor: str
    nodes: tuple[str, ...]
    method: str
    low: float
    high: float
    scale: float
    zero: int
    sqnr_db: float
    clipped: float
    weight_sqnr_db: float | None
    error_share: float


@dataclass(frozen=True, slots=True)
class Report:
    """The layers in the graph's order, what stays float, which changes were kept, and how the outputs compare."""

    layers: tuple[LayerReport, ...]
    kept_float: tuple[str, ...]
    improvements: tuple[str, ...]
    score: Score
    samples: int

    def to_json(self) -> str:
        """Return all of it as JSON; what is infinite is null."""
        return json.dumps(_finite(asdict(self)), indent=1) + "\n"


def _finite(value: object) -> object:
    match value:
        case dict():
            return {key: _finite(each) for key, each in value.items()}
        case list() | tuple():
            return [_finite(each) for each in value]
        case float():
            return value if math.isfinite(value) else None
        case _:
            return value
