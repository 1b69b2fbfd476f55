"""Lowered functions of the host as C99, for computers without LLVM and without Python. Tests: tests/vta/codegen/c."""

from vta.codegen.c.function import PRELUDE, CFunction, emit_c

__all__ = ["PRELUDE", "CFunction", "emit_c"]
