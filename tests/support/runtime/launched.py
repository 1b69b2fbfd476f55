"""What an operator launches, without its data."""

from isa.program import MemoryImage, Program
from runtime.devices.idle import IdleDevice
from runtime.memory.array import DeviceArray
from runtime.memory.device_memory import DeviceMemory
from runtime.session import Session
from vta.environment import Environment
from vta.topi.core.operator import Operator, compile  # noqa: A004
from vta.topi.core.sizes import sizes

__all__ = ["program_of"]


def program_of(operator: Operator, env: Environment, tiles: object = None) -> Program:
    """Return the one launch of ``operator`` with ``tiles``, or with those that its search picks."""
    compiled = compile(operator, env, tiles)
    session = Session(env.config, IdleDevice(env.config, DeviceMemory()), record=True)
    compiled.module(*(DeviceArray(session, sizes(t), str(t.dtype)) for t in compiled.scheduled.args))
    [launch] = session.queue.launcher.launches
    return launch.program_with(MemoryImage())
