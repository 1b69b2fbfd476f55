"""Modules of TVM's in which names stand once more: ``tvm.tir.expr.Call``, ``tvm.ir.module.IRModule``, and the like.

Tests: tests/vta/compat/test_rooms.py.
"""

from enum import IntEnum
from functools import partial
from types import ModuleType

from vta import te
from vta.compat.answer import Tree
from vta.target import Target
from vta.tir import buffer, expr, func, ops, stmt

__all__ = ["CallingConv", "gpu_targets", "te_rooms", "tir_rooms"]


class CallingConv(IntEnum):
    """How a function is called: the values of the attribute ``calling_conv``."""

    DEFAULT = 0
    C_PACKED_FUNC = 1
    DEVICE_KERNEL_LAUNCH = 2


def _names(module: ModuleType) -> dict[str, object]:
    return {name: getattr(module, name) for name in module.__all__}


def tir_rooms(nodes: Tree) -> dict[str, object]:
    """Return the modules below ``tvm.tir`` that name the nodes and functions of ``tvm.tir`` again."""
    return {
        "expr": {**_names(expr), "PrimExpr": expr.Node, "EqualOp": expr.Equality, "IterVar": nodes["IterVar"]},
        "stmt": _names(stmt),
        "op": {name: value for name, value in nodes.items() if callable(value) and name in _functions()},
        "function": {"PrimFunc": func.PrimFunc, "TensorIntrin": nodes["TensorIntrin"]},
        "buffer": {**_names(buffer), "Buffer": buffer.Buffer, "decl_buffer": buffer.decl_buffer},
        "ceildiv": _ceildiv,
    }


def _functions() -> set[str]:
    from vta.tir import calls, math_ops  # what is a function, and no node

    return {name for module in (ops, math_ops, calls) for name in module.__all__} | {"indexdiv", "indexmod", "div"}


def _ceildiv(lhs: expr.ExprLike, rhs: expr.ExprLike) -> expr.Expr:
    """Return the quotient of integers rounded up."""
    a, b = expr.match_types(lhs, rhs)
    return ops.floordiv(a + b - 1, b)


def te_rooms() -> dict[str, object]:
    """Return the modules below ``tvm.te`` that name its things again."""
    operations = ("compute", "extern", "placeholder", "reduce_axis", "scan", "thread_axis", "var", "size_var")
    kinds = ("ComputeOp", "ExternOp", "HybridOp", "Operation", "PlaceholderOp", "ScanOp")
    return {
        "operation": {name: getattr(te, name) for name in (*operations, *kinds)},
        "tag": {"tag_scope": te.tag_scope},
        "tensor_intrin": {name: getattr(te, name) for name in ("TensorIntrin", "decl_tensor_intrin")},
        "autodiff": {"gradient": te.gradient},
    }


def gpu_targets() -> dict[str, object]:
    """Return what makes the targets of GPUs, by their names."""
    return {kind: partial(_gpu_target, kind) for kind in ("cuda", "rocm")}


def _gpu_target(kind: str, model: str = "unknown", **options: object) -> Target:
    given = "".join(f" -{name}={value}" for name, value in options.items() if value is not None)
    return Target(f"{kind} -model={model}{given}")
