"""The error of a hybrid script. Tests: tests/vta/te/hybrid/test_parser.py."""

from isa.errors import VTAError

__all__ = ["HybridError"]


class HybridError(VTAError, ValueError):
    """A function that is no hybrid script, with the line of its text."""
