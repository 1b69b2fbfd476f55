"""TIR to native host code: LLVM programs, object files, callable modules. Tests: tests/vta/codegen."""

from runtime.native.target import CodeTarget, NativeError
from vta.codegen.arguments import ArgumentError
from vta.codegen.host import HostProgram, emit_host
from vta.codegen.llvm_types import CodegenError
from vta.codegen.module import Function, HostCodeError, Module, ModuleError, load_module

__all__ = [
    "ArgumentError", "CodeTarget", "CodegenError", "Function", "HostCodeError", "HostProgram", "Module", "ModuleError",
    "NativeError", "emit_host", "load_module",
]  # fmt: skip
