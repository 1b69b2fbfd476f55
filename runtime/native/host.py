"""LLVM assembly to machine code: optimise, write an object file, link one into this process.

The functions that an object needs are given by address when it is linked, so nothing is registered for the whole
process. Tests: tests/runtime/native/test_host.py.
"""

import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from llvmlite import binding as llvm

from isa.errors import VTAError

__all__ = ["LinkedObject", "Machine", "NativeError", "assembly_of", "compile_object", "host_triple", "link", "optimise"]


class NativeError(VTAError, RuntimeError):
    """LLVM refused a program, a machine or an object."""


@dataclass(frozen=True, slots=True)
class Machine:
    """What code is made for. Empty ``triple``: this computer; ``cpu`` "native": with everything this processor has."""

    triple: str = ""
    cpu: str = "native"
    features: str = ""
    level: int = 2


def host_triple() -> str:
    """Return LLVM's name of this computer."""
    return str(llvm.get_process_triple())


def _target_machine(machine: Machine) -> Any:
    if machine.triple in ("", host_triple()):
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
    else:
        llvm.initialize_all_targets()
        llvm.initialize_all_asmprinters()
    try:
        target = llvm.Target.from_triple(machine.triple or host_triple())
    except RuntimeError as error:
        raise NativeError(f"target triple {machine.triple!r} is not one that LLVM knows: {error}") from None
    _check_processor(machine)
    cpu, features = machine.cpu, machine.features
    if cpu == "native":
        cpu, features = llvm.get_host_cpu_name(), features or llvm.get_host_cpu_features().flatten()
    return target.create_target_machine(
        cpu="" if cpu == "generic" else cpu, features=features, opt=machine.level, reloc="pic", codemodel="default"
    )


_PROBE = """
import sys
from llvmlite import binding as llvm
llvm.initialize_all_targets()
triple, cpu, features = sys.argv[1:]
llvm.Target.from_triple(triple).create_target_machine(cpu=cpu, features=features)
"""
"""Makes LLVM say what it does not know, in a process of its own: it prints that, and later ends the process."""

_CHECKED = ("", "generic", "native")
_OWN_FEATURES = ("", "+f16c")


def _check_processor(machine: Machine) -> None:
    """Refuse a processor or a feature that LLVM does not know, which it would pass over or die of."""
    if machine.cpu in _CHECKED and machine.features in _OWN_FEATURES:
        return
    for feature in filter(None, machine.features.split(",")):
        if feature[0] not in "+-":
            raise NativeError(f"processor feature {feature!r}: expected a sign before it, '+{feature}' or '-{feature}'")
    triple, cpu = machine.triple or host_triple(), "" if machine.cpu in _CHECKED else machine.cpu
    done = subprocess.run(
        [sys.executable, "-c", _PROBE, triple, cpu, machine.features], capture_output=True, text=True, check=False
    )
    unknown = re.search(r"'(\S+)' is not a recognized (processor|feature)", done.stderr)
    if unknown is not None:
        name, kind = unknown.groups()
        option = "-mcpu" if kind == "processor" else "-mattr"
        raise NativeError(f"{kind} {name!r} is not one that LLVM knows for {triple}; {option} names it")


def optimise(source: str, machine: Machine) -> tuple[Any, Any]:
    """Parse and optimise LLVM assembly; return the module and the target machine."""
    target_machine = _target_machine(machine)
    try:
        module = llvm.parse_assembly(source)
        module.verify()
    except RuntimeError as error:
        raise NativeError(f"LLVM refused the host program: {error}") from None
    module.triple = machine.triple or host_triple()
    module.data_layout = str(target_machine.target_data)
    tuning = llvm.create_pipeline_tuning_options(speed_level=machine.level)
    tuning.loop_vectorization = machine.level >= 2
    tuning.slp_vectorization = machine.level >= 2
    builder = llvm.create_pass_builder(target_machine, tuning)
    builder.getModulePassManager().run(module, builder)
    return module, target_machine


def compile_object(source: str, machine: Machine) -> bytes:
    """Return the object file of a program in LLVM assembly."""
    module, target_machine = optimise(source, machine)
    return bytes(target_machine.emit_object(module))


def assembly_of(source: str, machine: Machine) -> str:
    """Return the machine's assembly text of a program in LLVM assembly."""
    module, target_machine = optimise(source, machine)
    return str(target_machine.emit_assembly(module))


class LinkedObject:
    """An object in this process; ``address[name]`` of what was asked for. Code lives as long as this Python object."""

    __slots__ = ("_jit", "_tracker", "address")

    def __init__(self, jit: Any, tracker: Any, address: Mapping[str, int]) -> None:
        self._jit = jit
        self._tracker = tracker
        self.address = address


def link(data: bytes, symbols: Mapping[str, int], exports: Sequence[str], *, where: str) -> LinkedObject:
    """Link an object: undefined symbols come from ``symbols``, then from this process; look up ``exports``.

    ``where`` names the object in a ``NativeError``.
    """
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_triple(host_triple())
    jit = llvm.create_lljit_compiler(target.create_target_machine(jit=True), use_jit_link=True, suppress_errors=True)
    library = llvm.JITLibraryBuilder().add_object_img(data)
    for name, address in symbols.items():
        library.import_symbol(name, address)
    for name in exports:
        library.export_symbol(name)
    try:
        tracker = library.add_current_process().link(jit, "host")
    except RuntimeError as error:
        text = str(error).strip()
        if "materialize" in text:  # LLVM does not say which symbol it missed
            text = "a function that it calls is neither the runtime's nor in this process"
        raise NativeError(f"{where}: cannot be linked: {text}") from None
    return LinkedObject(jit, tracker, {name: tracker[name] for name in exports})
