"""Which dot product unit the functional simulator uses, and what code is made for.

``host_code_path()`` looks at the processor; naming a lesser one runs its kernels on a better host (tests and benchmarks
do). Tests: ``tests/runtime/sim/test_code_path.py``.
"""

from collections.abc import Mapping
from enum import Enum
from typing import assert_never

from isa.errors import VTAError
from runtime.native.target import CodeTarget, feature_text, host_cpu, host_features, without_avx512
from runtime.sim.dot_unit import DotUnit
from runtime.sim.gemm_avx2 import Avx2Unit
from runtime.sim.gemm_generic import GenericUnit
from runtime.sim.gemm_vnni import VnniUnit

__all__ = ["CodePath", "CodePathError", "host_code_path", "host_code_paths"]

_NEEDED = {"vnni": ("avx512vnni", "avx512vl", "avx512bw"), "avx2": ("avx2",), "generic": ()}
_FEWEST_LANES = {"vnni": 4, "avx2": 4, "generic": 1}


class CodePathError(VTAError, ValueError):
    """A code path that this host cannot run."""


class CodePath(Enum):
    """The kernels for a class of processors, best first."""

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
            case CodePath.VNNI:
                return VnniUnit()
            case CodePath.AVX2:
                return Avx2Unit()
            case CodePath.GENERIC:
                return GenericUnit()
            case _:
                assert_never(self)

    def target(self) -> CodeTarget:
        """Return what LLVM makes the kernels for; raises ``CodePathError`` if the host cannot run them."""
        features = host_features()
        if not self.supported(features):
            needed = ", ".join(_NEEDED[self.value])
            raise CodePathError(f"this processor cannot run the {self.value} kernels: they need {needed}")
        match self:
            case CodePath.VNNI:
                return CodeTarget(cpu=host_cpu(), features=feature_text(features), level=1)
            case CodePath.AVX2:
                return CodeTarget(cpu=host_cpu(), features=feature_text(without_avx512(features)), level=1)
            case CodePath.GENERIC:
                return CodeTarget(cpu="generic", level=1)
            case _:
                assert_never(self)


def host_code_paths() -> tuple[CodePath, ...]:
    """Return every path that this processor can run, best first."""
    features = host_features()
    return tuple(path for path in CodePath if path.supported(features))


def host_code_path() -> CodePath:
    """Return the best path that this processor can run."""
    return host_code_paths()[0]
