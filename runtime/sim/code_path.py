"""Which dot product unit a machine has, and what LLVM is told about the machine.

``Machine.host()`` looks at the processor; naming a lesser one runs its code path on a better host (tests and benchmarks
do). Tests: ``tests/runtime/sim/test_build.py``.
"""

import functools
from collections.abc import Mapping
from enum import Enum
from typing import Any

import llvmlite.binding as llvm

from isa.errors import VTAError
from runtime.sim.dot_unit import DotUnit
from runtime.sim.gemm_avx2 import Avx2Unit
from runtime.sim.gemm_generic import GenericUnit
from runtime.sim.gemm_vnni import VnniUnit

__all__ = ["Machine", "MachineError", "host_machine", "host_machines"]

_NEEDED = {"vnni": ("avx512vnni", "avx512vl", "avx512bw"), "avx2": ("avx2",), "generic": ()}
_FEWEST_LANES = {"vnni": 4, "avx2": 4, "generic": 1}


class MachineError(VTAError, ValueError):
    """A code path that this host cannot run."""


class Machine(Enum):
    """A class of processors, best first."""

    VNNI = "vnni"
    AVX2 = "avx2"
    GENERIC = "generic"

    def supported(self, features: Mapping[str, bool]) -> bool:
        """Return whether a processor with these LLVM features can run this path."""
        return all(features.get(name, False) for name in _NEEDED[self.value])

    def unit(self, block_out: int) -> DotUnit:
        """Return the dot product unit for accumulator rows of ``block_out`` lanes."""
        if block_out < _FEWEST_LANES[self.value]:
            return GenericUnit()
        match self:
            case Machine.VNNI:
                return VnniUnit()
            case Machine.AVX2:
                return Avx2Unit()
            case Machine.GENERIC:
                return GenericUnit()

    def target(self) -> tuple[str, str]:
        """Return LLVM's names of the processor and its features; raises ``MachineError`` if the host lacks them."""
        features = host_features()
        if not self.supported(features):
            needed = ", ".join(_NEEDED[self.value])
            raise MachineError(f"this processor cannot run the {self.value} kernels: they need {needed}")
        match self:
            case Machine.VNNI:
                return llvm.get_host_cpu_name(), _flatten(features)
            case Machine.AVX2:
                return llvm.get_host_cpu_name(), _flatten(_without_avx512(features))
            case Machine.GENERIC:
                return "", ""


def host_machines() -> tuple[Machine, ...]:
    """Return every machine that this processor can be, best first."""
    features = host_features()
    return tuple(machine for machine in Machine if machine.supported(features))


def host_machine() -> Machine:
    """Return the best machine that this processor is."""
    return host_machines()[0]


@functools.cache
def host_features() -> Mapping[str, bool]:
    """Return LLVM's features of this processor; none where LLVM cannot tell."""
    try:
        features: Any = llvm.get_host_cpu_features()
    except RuntimeError:
        return {}
    return dict(features)


def _without_avx512(features: Mapping[str, bool]) -> dict[str, bool]:
    return {name: on and not name.startswith("avx512") for name, on in features.items()}


def _flatten(features: Mapping[str, bool]) -> str:
    return ",".join(("+" if on else "-") + name for name, on in sorted(features.items()))
