"""Object code from LLVM text for this host, and entry points from object code.

Tests: ``tests/hw/sim/run/test_far_memory.py``.
"""

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import llvmlite
import llvmlite.binding as llvm

__all__ = ["Native", "compile_object", "host_key", "load_object"]

_ADDRESS = ctypes.c_uint64


@dataclass(frozen=True, slots=True)
class Native:
    """``settle(buffer)`` and ``run(buffer, cycles)``; ``library`` owns the code."""

    settle: Callable[[int], None]
    run: Callable[[int, int], int]
    library: Any


def host_key() -> str:
    """Return what object code depends on beside its source: LLVM, processor and features."""
    features = llvm.get_host_cpu_features().flatten()
    return f"{llvmlite.__version__} {llvm.llvm_version_info} {llvm.get_host_cpu_name()} {features}"


def compile_object(text: str) -> bytes:
    """Return the optimised object code of an LLVM module for this processor."""
    machine = _target_machine()
    module = llvm.parse_assembly(text)
    module.triple = machine.triple
    module.data_layout = str(machine.target_data)
    tuning = llvm.create_pipeline_tuning_options(speed_level=2)
    tuning.slp_vectorization = True
    builder = llvm.create_pass_builder(machine, tuning)
    builder.getModulePassManager().run(module, builder)
    return bytes(machine.emit_object(module))


def load_object(code: bytes) -> Native:
    """Return the entry points of object code that ``compile_object`` made."""
    jit = llvm.create_lljit_compiler(_target_machine(jit=True), use_jit_link=True, suppress_errors=True)
    library = (
        llvm.JITLibraryBuilder()
        .add_object_img(code)
        .add_current_process()
        .export_symbol("settle")
        .export_symbol("run")
        .link(jit, "design")
    )
    settle = ctypes.CFUNCTYPE(None, _ADDRESS)(library["settle"])
    run = ctypes.CFUNCTYPE(_ADDRESS, _ADDRESS, _ADDRESS)(library["run"])
    return Native(settle, run, (jit, library))


def _target_machine(*, jit: bool = False) -> Any:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_triple(llvm.get_process_triple())
    return target.create_target_machine(
        cpu=llvm.get_host_cpu_name(),
        features=llvm.get_host_cpu_features().flatten(),
        opt=2,
        jit=jit,
        reloc="pic",
        codemodel="jitdefault" if jit else "default",
    )
