"""Shorter forms than the normal one: rules on sums, extremes, comparisons and choices (``rules``), on vectors."""

from vta.arith.rewrites.rules import Rewriter

__all__ = ["Rewriter"]
