"""What scripts ask of compilers by TVM's names: ``tvm.contrib.clang``, ``cc``, ``nvcc``, LLVM's intrinsics by number.

Tests: tests/vta/compat/test_llvm_names.py.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from isa.errors import VTAError
from vta.compat.answer import Tree

__all__ = [
    "CompilerError", "compiler_rooms", "create_llvm", "find_clang", "llvm_get_intrinsic_name",
    "llvm_lookup_intrinsic_id",
]  # fmt: skip

_CLANGS = ("clang", *(f"clang-{version}" for version in range(20, 8, -1)))
_CCS = ("cc", "gcc", "clang")


class CompilerError(VTAError, RuntimeError):
    """A compiler that is not installed, or that refuses what it was given."""


def llvm_lookup_intrinsic_id(name: str) -> int:
    """Return a number for an intrinsic of LLVM's: the name's characters. Whether LLVM has it shows when it is used."""
    return int.from_bytes(name.encode(), "big") if name.startswith("llvm.") else 0


def llvm_get_intrinsic_name(intrin_id: int) -> str:
    """Return the name behind a number of ``llvm_lookup_intrinsic_id``."""
    name = intrin_id.to_bytes((intrin_id.bit_length() + 7) // 8, "big").decode(errors="replace")
    if not name.startswith("llvm."):
        raise CompilerError(f"{intrin_id} is no number of llvm_lookup_intrinsic_id")
    return name


def find_clang(required: bool = True) -> list[str]:
    """Return the clang compilers that are installed; raises ``CompilerError`` for none if one is ``required``."""
    found = [path for name in _CLANGS if (path := shutil.which(name))]
    if required and not found:
        raise CompilerError("clang is not installed; it compiles C to LLVM's assembly here, and nothing else needs it")
    return found


def create_llvm(
    inputs: str | Sequence[str],
    output: str | None = None,
    options: Sequence[str] | None = None,
    cc: str | None = None,
) -> str:
    """Return the LLVM assembly of C code, or of a file with it, by clang; also write it to ``output``."""
    compiler = cc if cc is not None else find_clang()[0]
    [given] = [inputs] if isinstance(inputs, str) else list(inputs)
    with tempfile.TemporaryDirectory() as folder:
        source = Path(given) if given.endswith((".c", ".cc", ".cpp")) else Path(folder, "input.cc")
        if source.parent == Path(folder):
            source.write_text(given)
        made = Path(folder, "output.ll")
        command = [compiler, "-O3", "-emit-llvm", "-S", *(options or ()), "-o", str(made), str(source)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise CompilerError(f"{compiler}: {done.stderr.strip()}")
        text = made.read_text()
    if output is not None:
        Path(output).write_text(text)
    return text


def _get_cc() -> str | None:
    """Return the C compiler of the system; None if there is none."""
    return next((path for name in _CCS if (path := shutil.which(name))), None)


def _parse_compute_version(compute_version: str) -> tuple[int, int]:
    """Return the two numbers of a GPU's compute version."""
    major, _, minor = compute_version.partition(".")
    return int(major), int(minor or 0)


def compiler_rooms() -> Tree:
    """Return the modules below ``tvm.contrib`` that are about compilers."""

    def since(major: int, minor: int) -> object:
        return lambda compute_version: _parse_compute_version(compute_version) >= (major, minor)

    return {
        "clang": {"find_clang": find_clang, "create_llvm": create_llvm},
        "cc": {"get_cc": _get_cc},
        "nvcc": {
            "parse_compute_version": _parse_compute_version,
            "have_fp16": since(5, 3),
            "have_int8": since(6, 1),
            "have_tensorcore": since(7, 0),
        },
    }
