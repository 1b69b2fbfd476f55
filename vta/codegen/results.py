"""What a function gives, ``tir.ret``: stored where the caller says, and the function ends.

Tests: tests/vta/codegen/test_results.py.
"""

import ctypes
from typing import Any

from vta.codegen.expressions import emit_expr
from vta.codegen.llvm_types import I8, CodegenError
from vta.codegen.metadata import RESULT_TYPES
from vta.codegen.scope import FunctionScope
from vta.tir.dtype import BOOL, INT32, DType
from vta.tir.expr import Builtin, Call, Expr
from vta.tir.func import PrimFunc
from vta.tir.traverse import walk

__all__ = ["emit_return", "result_slot", "result_type"]


def result_type(function: PrimFunc) -> DType | None:
    """Return the type of what ``function`` gives, None if it gives nothing, as a packed one does: a status alone."""
    if function.is_packed:
        return None
    found = [node for node in walk(function.body) if isinstance(node, Call) and node.op is Builtin.RET]
    kinds = list(dict.fromkeys(arg.dtype for call in found for arg in call.args))
    if not found:
        return None
    if len(kinds) != 1 or any(len(call.args) != 1 for call in found):
        raise CodegenError(
            f"function {function.name!r} gives {' and '.join(map(str, kinds)) or 'nothing'}; {Builtin.RET} takes one "
            "number, of one type throughout a function"
        )
    if kinds[0] not in RESULT_TYPES:
        raise CodegenError(f"function {function.name!r} gives {kinds[0]}; results are {', '.join(RESULT_TYPES)}")
    return kinds[0]


def emit_return(scope: FunctionScope, value: Expr) -> None:
    """Write the end of the function, with ``value`` as what it gives."""
    if scope.packed:
        if value.dtype != INT32:
            raise CodegenError(f"{scope.where}: a packed function ends with an int32, its status, not {value.dtype}")
        scope.leave(emit_expr(scope, value))
        return
    if scope.result is None:
        raise CodegenError(f"{scope.where}: {Builtin.RET} stands in a kernel of the accelerator, which gives nothing")
    computed = emit_expr(scope, value)
    scope.builder.store(scope.builder.zext(computed, I8) if value.dtype == BOOL else computed, scope.result)
    scope.leave()


_SLOTS: dict[str, Any] = {
    "bool": ctypes.c_bool, "int8": ctypes.c_int8, "int16": ctypes.c_int16, "int32": ctypes.c_int32,
    "int64": ctypes.c_int64, "uint8": ctypes.c_uint8, "uint16": ctypes.c_uint16, "uint32": ctypes.c_uint32,
    "uint64": ctypes.c_uint64, "float32": ctypes.c_float, "float64": ctypes.c_double,
}  # fmt: skip


def result_slot(result: str) -> Any:
    """Return memory for what a function gives: 0 at first, which is what one gives that ends without ``tir.ret``."""
    return _SLOTS[result]()
