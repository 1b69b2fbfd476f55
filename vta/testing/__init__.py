"""Running things on whatever the environment targets, and the simulator's counters. Tests: tests/vta/front."""

from vta.testing import simulator
from vta.testing.runner import run

__all__ = ["run", "simulator"]
