"""What an emitter writes, compiled and run."""

import ctypes
from collections.abc import Callable
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir

from runtime.sim.emit import Emitter, Num

__all__ = ["run_emitted"]


def run_emitted(write: Callable[[Emitter], Num | int], **arguments: int) -> int:
    """Compile a function whose body is ``write`` and whose parameters are ``arguments``; return what it gives."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    module = ir.Module()
    emit = Emitter(module, "f", tuple(arguments), returns=True, exported=True)
    emit.finish(write(emit))
    parsed = llvm.parse_assembly(str(module))
    parsed.verify()
    machine = llvm.Target.from_default_triple().create_target_machine()
    engine: Any = llvm.create_mcjit_compiler(parsed, machine)
    engine.finalize_object()
    kind = ctypes.CFUNCTYPE(ctypes.c_uint64, *[ctypes.c_uint64] * len(arguments))
    result: int = kind(engine.get_function_address("f"))(*arguments.values())
    return result
