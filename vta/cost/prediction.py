"""``predict``: the cycles of an operator with its tiles on given hardware, and what keeps which part of it busy.

The same models choose the library's tiles. How far they are from the hardware: ``python -m bench.cost_model``.
Tests: tests/vta/cost/test_prediction.py.
"""

import enum
from collections.abc import Mapping
from dataclasses import dataclass

from isa.errors import VTAError
from isa.machine.hardware_config import HardwareConfig
from runtime.devices.device import HardwareSetup
from runtime.devices.hardware_settings import hardware_setup
from vta.environment import Environment, get_env
from vta.topi.core.operator import Compiled, Operator

__all__ = ["CostError", "Hardware", "Part", "Prediction", "predict"]

Hardware = HardwareSetup | HardwareConfig | Mapping[str, object]
"""What says which hardware: a setup, its sizes alone, or keys such as ``{"data_width": 128, "memory_latency": 64}``."""


class CostError(VTAError, TypeError):
    """What has no prediction."""


class Part(enum.Enum):
    """A part of the hardware that can be busy."""

    LOAD = "load"
    GEMM = "gemm"
    ALU = "alu"
    STORE = "store"


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """What a launch takes: ``cycles``, and for how many of them each part of the hardware is busy.

    ``load`` and ``store`` are beats read and written, ``gemm`` and ``alu`` operations, one a cycle each.
    """

    cycles: int
    load: int
    gemm: int
    alu: int
    store: int

    @property
    def bound(self) -> Part:
        """The busiest part: the launch cannot take fewer cycles than that one."""
        return max(Part, key=lambda part: self.of(part))

    @property
    def share(self) -> float:
        """The part of the cycles that the busiest part works: 1.0 if nothing ever keeps it waiting."""
        return self.of(self.bound) / self.cycles

    def of(self, part: Part) -> int:
        """Return the cycles that ``part`` is busy."""
        return {Part.LOAD: self.load, Part.GEMM: self.gemm, Part.ALU: self.alu, Part.STORE: self.store}[part]


def predict(
    operator: Operator | Compiled,
    hardware: Hardware | None = None,
    *,
    tiles: object = None,
    env: Environment | None = None,
) -> Prediction:
    """Return what ``operator`` takes on ``hardware``, with ``tiles`` or with those that its search finds for it.

    A compiled operator has its tiles and its environment. ``hardware`` is left out for that of the environment, and
    ``env`` for the current one. Raises ``CostError`` for anything else, ``HardwareConfigError`` for hardware that
    cannot be, and what ``schedule`` raises for tiles that cannot be.
    """
    if isinstance(operator, Compiled):
        if tiles is not None or env is not None:
            raise CostError("predict: a compiled operator has its tiles and its environment; leave tiles and env out")
        compiled = operator
        operator, tiles, env = compiled.operator, compiled.scheduled.tiles, compiled.env
    if not isinstance(operator, Operator):
        raise CostError(
            f"predict takes an operator, such as vta.topi.Conv2d(...), or a compiled one, not {type(operator).__name__}"
        )
    price = operator.price(_on(env or get_env(), hardware), tiles)
    return Prediction(cycles=price.cycles, load=price.load, gemm=price.gemm, alu=price.alu, store=price.store)


def _on(env: Environment, hardware: Hardware | None) -> Environment:
    """Return ``env`` with other hardware."""
    match hardware:
        case None:
            return env
        case HardwareSetup():
            setup = hardware
        case HardwareConfig():
            setup = HardwareSetup(hardware=hardware)
        case Mapping():
            setup = hardware_setup(hardware)
        case _:
            raise CostError(
                "predict: hardware is a HardwareSetup, a HardwareConfig or a mapping such as "
                f"{{'data_width': 128}}, not {type(hardware).__name__}"
            )
    return Environment(env.config, mock_mode=env.mock_mode, hardware=setup)
