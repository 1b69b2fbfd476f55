"""What code is made for: a computer, a processor, features and a level of optimisation; and what this computer is.

Tests: tests/runtime/native/test_target.py.
"""

import functools
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import llvmlite
from llvmlite import binding as llvm

from isa.errors import VTAError

__all__ = [
    "CodeTarget", "NativeError", "feature_text", "host_cpu", "host_features", "host_key", "host_triple",
    "target_machine", "without_avx512",
]  # fmt: skip


class NativeError(VTAError, RuntimeError):
    """LLVM refused a program, a target or an object."""


@dataclass(frozen=True, slots=True)
class CodeTarget:
    """What code is made for.

    Empty ``triple``: this computer. ``cpu`` "native": with everything that this processor has; empty or "generic": any
    of its kind. ``features`` are LLVM's, each with a sign, between commas. ``level`` 0 to 3 is that of optimisation.
    """

    triple: str = ""
    cpu: str = "native"
    features: str = ""
    level: int = 2


def host_triple() -> str:
    """Return LLVM's name of this computer."""
    return str(llvm.get_process_triple())


def host_cpu() -> str:
    """Return LLVM's name of this processor."""
    return str(llvm.get_host_cpu_name())


@functools.cache
def host_features() -> Mapping[str, bool]:
    """Return LLVM's features of this processor, and whether it has each; none where LLVM cannot tell."""
    try:
        return dict(llvm.get_host_cpu_features())
    except RuntimeError:
        return {}


def feature_text(features: Mapping[str, bool]) -> str:
    """Return features as a ``CodeTarget`` has them."""
    return ",".join(("+" if on else "-") + name for name, on in sorted(features.items()))


def without_avx512(features: Mapping[str, bool]) -> dict[str, bool]:
    """Return features without AVX-512 and whatever includes it."""
    return {name: on and not name.startswith(("avx512", "avx10", "amx-avx512")) for name, on in features.items()}


def host_key() -> str:
    """Return what object code for this processor depends on besides its source: LLVM, processor and features."""
    return f"{llvmlite.__version__} {llvm.llvm_version_info} {host_cpu()} {feature_text(host_features())}"


def target_machine(target: CodeTarget) -> Any:
    """Return LLVM's target machine; raises ``NativeError`` for a name that LLVM does not know."""
    if target.triple in ("", host_triple()):
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
    else:
        llvm.initialize_all_targets()
        llvm.initialize_all_asmprinters()
    try:
        made_for = llvm.Target.from_triple(target.triple or host_triple())
    except RuntimeError as error:
        raise NativeError(f"target triple {target.triple!r} is not one that LLVM knows: {error}") from None
    _check_names(target)
    cpu, features = target.cpu, target.features
    if cpu == "native":
        cpu, features = host_cpu(), features or feature_text(host_features())
    if _is_x86(target.triple or host_triple()):
        features = f"{_WIDE},{features}" if features else _WIDE
    return made_for.create_target_machine(
        cpu="" if cpu == "generic" else cpu, features=features, opt=target.level, reloc="pic", codemodel="default"
    )


_WIDE = "-prefer-256-bit"
"""Loops that LLVM makes vectors of get as wide ones as the processor has, as those that schedules ask for.

LLVM halves them for processors whose clock was thought to suffer; it stands first, so features of a target overrule it.
"""


def _is_x86(triple: str) -> bool:
    """Return whether a triple is that of an x86 processor, of 32 or 64 bits."""
    return re.match(r"(x86_64|amd64|i[3-6]86)-", triple) is not None


_PROBE = """
import sys
home, triple, cpu, features = sys.argv[1:]
sys.path.append(home)
from llvmlite import binding as llvm
llvm.initialize_all_targets()
llvm.Target.from_triple(triple).create_target_machine(cpu=cpu, features=features)
"""
"""Makes LLVM say what it does not know, in a process of its own: it prints that, and later ends the process.

The process is isolated: it imports what Python's own installation has, and the llvmlite that this process uses.
"""

_GENERAL = ("", "generic", "native")
_OWN_FEATURES = {"f16c"}


def _check_names(target: CodeTarget) -> None:
    """Refuse a processor or a feature that LLVM does not know, which it would ignore or die of."""
    features = [feature for feature in target.features.split(",") if feature]
    for feature in features:
        if feature[0] not in "+-":
            raise NativeError(f"processor feature {feature!r}: expected a sign before it, '+{feature}' or '-{feature}'")
    for_host = target.triple in ("", host_triple())
    names = _OWN_FEATURES | host_features().keys() if for_host else _OWN_FEATURES
    cpus = (*_GENERAL, host_cpu()) if for_host else _GENERAL
    if target.cpu in cpus and all(feature[1:] in names for feature in features):
        return
    triple, cpu = target.triple or host_triple(), "" if target.cpu in _GENERAL else target.cpu
    home = str(Path(llvmlite.__file__).resolve().parents[1])
    command = [sys.executable, "-I", "-c", _PROBE, home, triple, cpu, target.features]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    unknown = re.search(r"'(\S+)' is not a recognized (processor|feature)", done.stderr)
    if unknown is not None:
        name, kind = unknown.groups()
        option = "-mcpu" if kind == "processor" else "-mattr"
        raise NativeError(f"{kind} {name!r} is not one that LLVM knows for {triple}; {option} names it")
