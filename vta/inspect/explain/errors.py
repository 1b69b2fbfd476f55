"""The error of explanations. Tests: tests/vta/inspect/explain/test_run_model.py."""

from isa.errors import VTAError

__all__ = ["ExplainError"]


class ExplainError(VTAError, ValueError):
    """A launch that cannot be explained: it failed, or its device has no clock."""
