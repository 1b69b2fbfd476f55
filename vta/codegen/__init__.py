"""TIR to native host code: LLVM programs, object files, callable modules. Tests: tests/vta/codegen."""

from vta.codegen.arguments import ArgumentError
from vta.codegen.host import HostProgram, emit_host
from vta.codegen.llvm_types import CodegenError
from vta.codegen.module import Function, HostCodeError, Module, ModuleError, load_module
from vta.codegen.native import Machine, NativeError

__all__ = [
    "ArgumentError", "CodegenError", "Function", "HostCodeError", "HostProgram", "Machine", "Module", "ModuleError",
    "NativeError", "emit_host", "load_module",
]  # fmt: skip
