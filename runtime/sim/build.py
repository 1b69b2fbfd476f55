"""One LLVM module with all kernels of a configuration, compiled for this host.

``compile_kernels`` is cached for the process. Tests: ``tests/runtime/sim/test_build.py``.
"""

import ctypes
import functools
from collections.abc import Callable
from dataclasses import dataclass

from llvmlite import ir

from isa.config import VTAConfig
from runtime.native.compiling import Passes, compile_object
from runtime.native.linking import LinkedObject, link
from runtime.sim.alu import emit_alu
from runtime.sim.code_path import CodePath
from runtime.sim.decode import emit_is_illegal, emit_module_of
from runtime.sim.gemm import emit_gemm
from runtime.sim.geometry import Geometry
from runtime.sim.launch_loop import FETCH, RUN, emit_fetch, emit_run
from runtime.sim.memory_ops import emit_load, emit_store

__all__ = ["Kernels", "compile_kernels", "module_text"]

_ADDRESS = ctypes.c_uint64


@dataclass(frozen=True, slots=True)
class Kernels:
    """The native entry points; ``code`` owns the machine code."""

    geometry: Geometry
    path: CodePath
    fetch: Callable[[int, int], int]
    run: Callable[[int], int]
    code: LinkedObject


@functools.lru_cache(maxsize=64)
def compile_kernels(config: VTAConfig, path: CodePath) -> Kernels:
    """Return the kernels of ``config`` on a ``path`` that this host must be able to run."""
    code = compile_object(module_text(config, path), path.target(), Passes.TIDY)
    linked = link(code, {}, [FETCH, RUN], where="the functional simulator")
    fetch = ctypes.CFUNCTYPE(_ADDRESS, _ADDRESS, _ADDRESS)(linked.address[FETCH])
    run = ctypes.CFUNCTYPE(_ADDRESS, _ADDRESS)(linked.address[RUN])
    return Kernels(Geometry(config, path.unit(config.block_out)), path, fetch, run, linked)


def module_text(config: VTAConfig, path: CodePath) -> str:
    """Return the LLVM IR of all kernels, before optimisation."""
    geometry = Geometry(config, path.unit(config.block_out))
    module = ir.Module(name=f"vta_{config.digest}")
    functions = {
        "is_illegal": emit_is_illegal(module, config),
        "module_of": emit_module_of(module, config),
        "LOAD": emit_load(module, geometry),
        "STORE": emit_store(module, geometry),
        "GEMM": emit_gemm(module, geometry),
        "ALU": emit_alu(module, geometry),
    }
    emit_fetch(module, geometry, functions)
    emit_run(module, geometry, functions)
    return str(module)
