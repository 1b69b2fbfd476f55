"""Code of others in a host program: the LLVM assembly or bitcode that the pragma ``import_llvm`` brings along.

The other way, ``bitcode_of`` gives a program as bitcode to others.

A tensor intrinsic may call a function that a compiler of C made (``clang -S -emit-llvm``); the pragma on a loop of the
stage has its text, or the path of a ``.ll`` or ``.bc`` file. It becomes part of the module, and is optimised with it.
Tests: tests/vta/codegen/test_imported_code.py.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from llvmlite import binding as llvm

from vta.codegen.llvm_types import CodegenError
from vta.tir.expr import StringImm
from vta.tir.func import PrimFunc
from vta.tir.stmt import PRAGMA_PREFIX, AttrStmt
from vta.tir.traverse import walk

__all__ = ["bitcode_of", "imported_code", "with_imported_code"]

_PRAGMA = f"{PRAGMA_PREFIX}import_llvm"


@dataclass(frozen=True, slots=True)
class _Import:
    """What a pragma has, and where it stands."""

    where: str
    code: str


def imported_code(functions: Sequence[PrimFunc]) -> list[_Import]:
    """Return what the pragmas of functions import, each once; raises ``CodegenError`` for one without code."""
    found: dict[str, _Import] = {}
    for function in functions:
        for node in walk(function.body):
            if not isinstance(node, AttrStmt) or node.key != _PRAGMA:
                continue
            where = f"function {function.name!r}" + (f", {node.origin}" if node.origin is not None else "")
            if not isinstance(node.value, StringImm):
                raise CodegenError(f"{where}: the pragma import_llvm takes LLVM assembly or the path of a file")
            found.setdefault(node.value.value, _Import(where, node.value.value))
    return list(found.values())


def with_imported_code(source: str, imports: Sequence[_Import]) -> str:
    """Return a program in LLVM assembly with what it imports; raises ``CodegenError`` for what does not go together."""
    if not imports:
        return source
    program = llvm.parse_assembly(source)
    called = {function.name: _type(function) for function in program.functions if function.is_declaration}
    for each in imports:
        module = _parsed(each)
        for function in module.functions:
            if function.is_declaration:
                continue
            wanted = called.get(function.name)
            if wanted is not None and wanted != _type(function):
                raise CodegenError(
                    f"{each.where}: {function.name!r} is called as {wanted}, and import_llvm has {_type(function)}"
                )
        module.triple, module.data_layout = program.triple, program.data_layout
        try:
            program.link_in(module)
        except RuntimeError as error:
            raise CodegenError(
                f"{each.where}: import_llvm does not go with the program: {str(error).strip()}"
            ) from None
    return str(program)


def _parsed(each: _Import) -> Any:
    try:
        if each.code.endswith(".bc"):
            return llvm.parse_bitcode(Path(each.code).read_bytes())
        text = Path(each.code).read_text(encoding="utf-8") if each.code.endswith(".ll") else each.code
        module = llvm.parse_assembly(text)
        module.verify()
    except OSError as error:
        raise CodegenError(f"{each.where}: import_llvm: {each.code}: {error.strerror}") from None
    except RuntimeError as error:
        version = ".".join(map(str, llvm.llvm_version_info))
        raise CodegenError(
            f"{each.where}: import_llvm: LLVM {version} does not read this code ({_in_one_line(error)}); make it with "
            "clang of the same version"
        ) from None
    return module


def _in_one_line(error: RuntimeError) -> str:
    return " ".join(str(error).split())


def _type(function: Any) -> str:
    return str(function.global_value_type)


def bitcode_of(source: str) -> bytes:
    """Return LLVM assembly as bitcode."""
    return bytes(llvm.parse_assembly(source, context=llvm.create_context()).as_bitcode())
