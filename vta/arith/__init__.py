"""Arithmetic on index expressions: bounds, simplification, linear forms, regions."""

from vta.arith.bounds import ConstInterval, Interval, const_bounds, eval_interval
from vta.arith.linear import detect_clip_bound, detect_linear_equation
from vta.arith.simplify import Analyzer, simplify

__all__ = [
    "Analyzer",
    "ConstInterval",
    "Interval",
    "const_bounds",
    "detect_clip_bound",
    "detect_linear_equation",
    "eval_interval",
    "simplify",
]
