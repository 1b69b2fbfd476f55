"""The error of tuning. Tests: tests/vta/autotvm/test_task.py."""

from isa.errors import VTAError

__all__ = ["TuningError", "TuningWarning"]


class TuningError(VTAError, ValueError):
    """A task, a record or a request to the tuner that cannot be."""


class TuningWarning(UserWarning):
    """What a user of tuning should know though work goes on."""
