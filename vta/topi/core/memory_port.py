"""The memory port that an environment's hardware has, as the cost model sees it.

Tests: tests/vta/topi/core/test_memory_port.py.
"""

from vta.environment import Environment
from vta.topi.tiling import Bus

__all__ = ["bus_of"]


def bus_of(env: Environment) -> Bus:
    """Return the port of ``env.hardware``; the model's default where an environment does not say what it is."""
    setup = env.hardware
    return Bus() if setup is None else Bus(setup.hardware.beat_bytes, setup.latency, setup.hardware)
