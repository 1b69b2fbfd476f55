"""One file with all that a run depends on, and what came of it: to replay, to reduce.

Tests: tests/vta/inspect/capsule.
"""

from vta.inspect.capsule.capture import Capture
from vta.inspect.capsule.file import load_capsule, save_capsule
from vta.inspect.capsule.model import Capsule, CapsuleError, DeviceSpec, Outcome
from vta.inspect.capsule.reduce import reduce_capsule
from vta.inspect.capsule.replay import replay, run_launches

__all__ = [
    "Capsule",
    "CapsuleError",
    "Capture",
    "DeviceSpec",
    "Outcome",
    "load_capsule",
    "reduce_capsule",
    "replay",
    "run_launches",
    "save_capsule",
]
