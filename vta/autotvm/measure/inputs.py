"""What is measured and what comes of it. Tests: tests/vta/autotvm/measure/test_inputs.py."""

import enum
from dataclasses import dataclass

from vta.autotvm.space import ConfigEntity
from vta.autotvm.workload import Value
from vta.environment import Environment
from vta.target import Target

__all__ = ["Hardware", "MeasureErrorNo", "MeasureInput", "MeasureResult", "hardware_of", "sizes_of"]

Hardware = tuple[int, int]
"""Bits of the memory port, and latency of the memory in cycles."""


class MeasureErrorNo(enum.IntEnum):
    """How a measurement ended, with the numbers of TVM's records."""

    NO_ERROR = 0
    INSTANTIATION_ERROR = 1
    """The template makes no schedule of the choice."""
    COMPILE_HOST = 2
    """The schedule cannot be built."""
    RUNTIME_DEVICE = 4
    """It cannot be run."""
    WRONG_ANSWER = 5
    """Its results are not those of numpy."""
    BUILD_TIMEOUT = 6
    """It takes too long to be built."""
    RUN_TIMEOUT = 7
    """It takes too long to be run."""
    UNKNOWN_ERROR = 8
    """The process that measured it is gone."""


@dataclass(frozen=True, slots=True)
class MeasureInput:
    """A choice of a task: ``workload`` is the template's name and arguments, ``hardware`` None if nobody said."""

    target: str
    workload: tuple[Value, ...]
    config: ConfigEntity
    hardware: Hardware | None = None


@dataclass(frozen=True, slots=True)
class MeasureResult:
    """Seconds that the runs of a choice took, or the ``error``; ``all_cost`` and ``timestamp`` are wall-clock time."""

    costs: tuple[float, ...]
    error_no: MeasureErrorNo = MeasureErrorNo.NO_ERROR
    error: str = ""
    all_cost: float = 0.0
    timestamp: float = 0.0

    @property
    def cost(self) -> float:
        """Seconds of a run, the average; infinite for an error."""
        return float("inf") if self.error_no else sum(self.costs) / len(self.costs)


def hardware_of(env: Environment) -> Hardware | None:
    """Return the hardware that ``env`` names."""
    setup = env.hardware
    return None if setup is None else (setup.hardware.data_width, setup.latency)


def sizes_of(target: str) -> str:
    """Return what a target says of the accelerator's sizes, the name of the device in front left out."""
    return Target(target).model.partition("_")[2]
