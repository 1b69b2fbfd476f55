"""One LLVM module with all kernels of a configuration, compiled for this host.

``compile_kernels`` is cached for the process. Tests: ``tests/runtime/sim/test_build.py``.
"""

import ctypes
import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir

from isa.config import VTAConfig
from runtime.sim.alu import emit_alu
from runtime.sim.code_path import Machine
from runtime.sim.decode import emit_is_illegal, emit_module_of
from runtime.sim.gemm import emit_gemm
from runtime.sim.geometry import Geometry
from runtime.sim.launch_loop import FETCH, RUN, emit_fetch, emit_run
from runtime.sim.memory_ops import emit_load, emit_store

__all__ = ["Kernels", "compile_kernels", "module_text"]

_ADDRESS = ctypes.c_uint64


@dataclass(frozen=True, slots=True)
class Kernels:
    """The native entry points; ``engine`` owns the code."""

    geometry: Geometry
    machine: Machine
    fetch: Callable[[int, int], int]
    run: Callable[[int], int]
    engine: Any


@functools.lru_cache(maxsize=64)
def compile_kernels(config: VTAConfig, machine: Machine) -> Kernels:
    """Return the kernels of ``config`` for a ``machine`` that this host must be able to run."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    cpu, features = machine.target()
    target = llvm.Target.from_default_triple()
    options = target.create_target_machine(cpu=cpu, features=features, opt=1)
    module = llvm.parse_assembly(module_text(config, machine))
    module.verify()
    _optimise(module, options)
    engine = llvm.create_mcjit_compiler(module, options, use_lmm=True)
    engine.finalize_object()
    fetch = ctypes.CFUNCTYPE(_ADDRESS, _ADDRESS, _ADDRESS)(engine.get_function_address(FETCH))
    run = ctypes.CFUNCTYPE(_ADDRESS, _ADDRESS)(engine.get_function_address(RUN))
    return Kernels(Geometry(config, machine.unit(config.block_out)), machine, fetch, run, engine)


def _optimise(module: Any, options: Any) -> None:
    """Clean the module up.

    What is worth vectorising, unrolling or keeping in registers is written that way, so LLVM's full pipeline takes ten
    times as long and gains nothing.
    """
    builder = llvm.create_pass_builder(options, llvm.create_pipeline_tuning_options(speed_level=1))
    passes = llvm.create_new_module_pass_manager()
    passes.add_sroa_pass()
    passes.add_instruction_combine_pass()
    passes.add_simplify_cfg_pass()
    passes.run(module, builder)


def module_text(config: VTAConfig, machine: Machine) -> str:
    """Return the LLVM IR of all kernels, before optimisation."""
    geometry = Geometry(config, machine.unit(config.block_out))
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
