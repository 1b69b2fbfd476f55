"""LLVM assembly to machine code: optimise, and write an object file or the machine's assembly.

Tests: tests/runtime/native/test_compiling.py.
"""

from enum import Enum
from typing import Any, assert_never

from llvmlite import binding as llvm
from llvmlite.binding.newpassmanagers import ModulePassManager, NewPassManager

from runtime.native.target import CodeTarget, NativeError, host_triple, target_machine

__all__ = ["Passes", "assembly_of", "compile_object"]


class Passes(Enum):
    """What is done to a program before its code is written.

    ``LEVEL``: LLVM's own pipeline for the target's level.

    ``SERIAL``: the same without its loop vectoriser, whose analysis of indices that wrap is not to be trusted
    (``vta/codegen/wrapping_indices.py`` has the story).

    ``TIDY``: only what makes plain code of an emitter's. That is for text in which whatever is worth vectorising,
    unrolling or keeping in registers is written that way already: the whole pipeline takes ten times as long there and
    gains nothing.
    """

    LEVEL = "level"
    SERIAL = "serial"
    TIDY = "tidy"


def compile_object(source: str, target: CodeTarget, passes: Passes = Passes.LEVEL) -> bytes:
    """Return the object file of a program in LLVM assembly; ``NativeError`` if LLVM refuses it or the target."""
    machine = target_machine(target)
    return bytes(machine.emit_object(_optimised(source, target, machine, passes)))


def assembly_of(source: str, target: CodeTarget, passes: Passes = Passes.LEVEL) -> str:
    """Return the machine's assembly text of a program in LLVM assembly; errors as ``compile_object``."""
    machine = target_machine(target)
    return str(machine.emit_assembly(_optimised(source, target, machine, passes)))


def _optimised(source: str, target: CodeTarget, machine: Any, passes: Passes) -> Any:
    """Return LLVM's module of a program after ``passes``."""
    try:
        module = llvm.parse_assembly(source)
        module.verify()
    except RuntimeError as error:
        raise NativeError(f"LLVM refused the program: {error}") from None
    module.triple = target.triple or host_triple()
    module.data_layout = str(machine.target_data)
    tuning = llvm.create_pipeline_tuning_options(speed_level=target.level)
    tuning.loop_vectorization = target.level >= 2 and passes is Passes.LEVEL
    tuning.slp_vectorization = target.level >= 2
    builder = llvm.create_pass_builder(machine, tuning)
    match passes:
        case Passes.LEVEL | Passes.SERIAL:
            manager = builder.getModulePassManager()
        case Passes.TIDY:
            manager = llvm.create_new_module_pass_manager()
            manager.add_sroa_pass()
            manager.add_instruction_combine_pass()
            manager.add_simplify_cfg_pass()
        case _:
            assert_never(passes)
    manager.run(module, builder)
    _free(manager)
    return module


def _free(manager: ModulePassManager) -> None:
    """Free a pass manager: llvmlite does not, since the empty ``_dispose`` of its first base hides the other one."""
    NewPassManager._dispose(manager)
    manager.detach()
