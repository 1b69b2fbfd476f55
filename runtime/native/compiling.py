"""LLVM assembly to machine code: optimise, and write an object file or the machine's assembly.

Tests: tests/runtime/native/test_compiling.py.
"""

import re
from enum import Enum
from typing import Any, assert_never

from llvmlite import binding as llvm
from llvmlite.binding.newpassmanagers import ModulePassManager, NewPassManager

from runtime.native.target import CodeTarget, NativeError, host_features, host_triple, target_machine

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
    _check_instructions(source, target)
    machine = target_machine(target)
    return bytes(machine.emit_object(_optimised(source, target, machine, passes)))


def assembly_of(source: str, target: CodeTarget, passes: Passes = Passes.LEVEL) -> str:
    """Return the machine's assembly text of a program in LLVM assembly; errors as ``compile_object``."""
    _check_instructions(source, target)
    machine = target_machine(target)
    return str(machine.emit_assembly(_optimised(source, target, machine, passes)))


_INSTRUCTIONS = {
    "llvm.x86.avx512.vpdp": "avx512vnni", "llvm.x86.avx512.": "avx512f", "llvm.x86.avx2.": "avx2",
}  # fmt: skip
"""How names of a processor's own instructions begin, and the feature that they need; the first one counts."""


def _check_instructions(source: str, target: CodeTarget) -> None:
    """Refuse instructions that the target is known to lack: LLVM would end the process."""
    if target.cpu not in ("", "generic", "native"):
        return
    words = [word for word in target.features.split(",") if word]
    there = {word[1:] for word in words if word.startswith("+")}
    if target.cpu == "native" and not words:
        there = {name for name, has in host_features().items() if has}
    for name in re.findall(r"@\"?(llvm\.x86\.[\w.]+)", source):
        needed = next((feature for begin, feature in _INSTRUCTIONS.items() if name.startswith(begin)), None)
        if needed is not None and needed not in there:
            raise NativeError(
                f"the program uses {name}, for which a processor needs {needed}; the target has it not: name a "
                f"processor that does (-mcpu), or the feature (-mattr=+{needed})"
            )


def _optimised(source: str, target: CodeTarget, machine: Any, passes: Passes) -> Any:
    """Return LLVM's module of a program after ``passes``.

    LLVM's vectoriser of straight code may leave an operand behind its use (llvm/llvm-project#128770 and others like
    it; in LLVM 22 where loads at a stride become masked ones). Making code of that would end the process, or give wrong
    numbers. So what comes out is checked, and made again without that vectoriser if it is no program any more.
    """
    for straight in (True, False):
        module = _parsed(source, target, machine)
        _run_passes(module, target, machine, passes, straight=straight)
        try:
            module.verify()
        except RuntimeError as error:
            wrong = str(error).strip()
        else:
            return module
    raise NativeError(f"LLVM's passes of level {target.level} made an invalid program ({wrong}); take a lower level")


def _parsed(source: str, target: CodeTarget, machine: Any) -> Any:
    try:
        module = llvm.parse_assembly(source)
        module.verify()
    except RuntimeError as error:
        raise NativeError(f"LLVM refused the program: {error}") from None
    module.triple = target.triple or host_triple()
    module.data_layout = str(machine.target_data)
    return module


def _run_passes(module: Any, target: CodeTarget, machine: Any, passes: Passes, *, straight: bool) -> None:
    """Optimise ``module``; ``straight``: straight code may become vectors, at the levels at which it does."""
    tuning = llvm.create_pipeline_tuning_options(speed_level=target.level)
    tuning.loop_vectorization = target.level >= 2 and passes is Passes.LEVEL
    tuning.slp_vectorization = target.level >= 2 and straight
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


def _free(manager: ModulePassManager) -> None:
    """Free a pass manager: llvmlite does not, since the empty ``_dispose`` of its first base hides the other one."""
    NewPassManager._dispose(manager)
    manager.detach()
