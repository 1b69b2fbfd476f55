"""``predict``: the cycles of an operator or a program on given hardware, and what keeps which part of it busy.

The models of operators choose the library's tiles, too; programs are followed by ``runtime.timing``. How far they are
from the hardware: ``python -m bench.cost_model``. Tests: tests/vta/cost/test_prediction.py.
"""

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from isa.errors import VTAError
from isa.machine.hardware_config import HardwareConfig
from isa.program import MemoryImage, Program
from runtime.devices.device import HardwareSetup
from runtime.devices.hardware_settings import hardware_setup
from runtime.devices.idle import IdleDevice
from runtime.memory.array import DeviceArray
from runtime.memory.device_memory import DeviceMemory
from runtime.session import Session
from runtime.timing import Unit, tasks_of, time_tasks
from vta.environment import Environment, get_env
from vta.topi.core.operator import Compiled, Operator
from vta.topi.core.sizes import sizes

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
    operator: Operator | Compiled | Program,
    hardware: Hardware | None = None,
    *,
    tiles: object = None,
    env: Environment | None = None,
) -> Prediction:
    """Return what ``operator`` takes on ``hardware``, with ``tiles`` or with those that its search finds for it.

    An operator is priced by the model of its search, which knows the sizes of its tiles; of one that is compiled, and
    of a program, the instructions themselves are followed, which is more precise, and takes longer. A compiled operator
    has its tiles and its environment, and a program its configuration. ``hardware`` is left out for that of the
    environment, and ``env`` for the current one. Raises ``CostError`` for anything else, ``HardwareConfigError`` for
    hardware that cannot be, what ``schedule`` raises for tiles that cannot be, and ``TimingError`` for a program that
    never ends.
    """
    if isinstance(operator, Compiled | Program) and (tiles is not None or env is not None):
        kind = "a program has its configuration" if isinstance(operator, Program) else _COMPILED
        raise CostError(f"predict: {kind}; leave tiles and env out")
    match operator:
        case Program():
            return _followed([operator], _on(Environment(operator.config, hardware=get_env().hardware), hardware))
        case Compiled():
            return _followed(_programs(operator), _on(operator.env, hardware))
        case Operator():
            price = operator.price(_on(env or get_env(), hardware), tiles)
            return Prediction(cycles=price.cycles, load=price.load, gemm=price.gemm, alu=price.alu, store=price.store)
        case _:
            raise CostError(
                "predict takes an operator, such as vta.topi.Conv2d(...), a compiled one, or a program, not "
                f"{type(operator).__name__}"
            )


_COMPILED = "a compiled operator has its tiles and its environment"


def _programs(compiled: Compiled) -> list[Program]:
    """Return what a call launches, without the contents of its buffers."""
    session = Session(compiled.env.config, IdleDevice(compiled.env.config, DeviceMemory()), record=True)
    compiled.module(*(DeviceArray(session, sizes(t), str(t.dtype)) for t in compiled.scheduled.args))
    return [launch.program_with(MemoryImage()) for launch in session.queue.launcher.launches]


def _followed(programs: Sequence[Program], env: Environment) -> Prediction:
    setup = env.hardware or HardwareSetup()
    busy = dict.fromkeys(Unit, 0)
    cycles = 0
    for program in programs:
        uops = np.array(program.uops, np.uint32)
        tasks = tasks_of(program.instructions, uops, program.uop_base, program.config, setup.hardware)
        for task in tasks:
            busy[task.unit] += task.work
        config = program.config
        times = time_tasks(
            tasks,
            setup.hardware,
            latency=setup.latency,
            block_in=config.block_in,
            fused_alu=bool(config.fused_alu),
        )
        cycles += times.cycles
    return Prediction(
        cycles=cycles,
        load=busy[Unit.LOAD] + busy[Unit.ACC],
        gemm=busy[Unit.GEMM],
        alu=busy[Unit.ALU],
        store=busy[Unit.STORE],
    )


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
