"""Questions about programs under TVM's names: ``tir.analysis.verify_ssa``, ``expr_deep_equal``, ...

Tests: tests/vta/tir/test_analysis.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from vta.tir.buffer import is_global
from vta.tir.effects import has_effect
from vta.tir.expr import BufferLoad, Expr, IntImm, Let, Reduce, Var, same
from vta.tir.func import PrimFunc
from vta.tir.stmt import Allocate, AttrKey, AttrStmt, BufferStore, For, ForKind, LetStmt, Stmt
from vta.tir.traverse import TirNode, children, free_vars, walk
from vta.tir.verify import VerifyError, verify

__all__ = [
    "calculate_workspace_bytes", "expr_deep_equal", "has_side_effect", "undefined_vars", "verify_memory", "verify_ssa",
    "verify_well_formed",
]  # fmt: skip


def expr_deep_equal(lhs: Expr, rhs: Expr) -> bool:
    """Whether two expressions are the same node for node, variables by identity."""
    return same(lhs, rhs)


def verify_ssa(func: PrimFunc) -> bool:
    """Whether every variable of the function is defined at one place alone."""
    seen = set(func.params)
    for node in walk(func.body):
        for var in _defined(node):
            if var in seen:
                return False
            seen.add(var)
    return True


def _defined(node: TirNode) -> Iterator[Var]:
    match node:
        case For():
            yield node.loop_var
        case LetStmt() | Let():
            yield node.var
        case Allocate():
            yield node.buffer_var
        case Reduce():
            yield from (axis.var for axis in node.axis)
        case _:
            return


def verify_well_formed(func: PrimFunc) -> bool:
    """Whether the function keeps the rules of ``vta.tir.verify``, which says what is wrong otherwise."""
    try:
        verify(func)
    except VerifyError:
        return False
    return True


def verify_memory(func: PrimFunc) -> bool:
    """Whether the host touches its own memory alone: a buffer on the accelerator only in a scope of the accelerator.

    In a function whose attribute ``target`` is a GPU, no memory is the host's: all is touched in threads.
    """
    kind = str(getattr(func.attrs.get("target"), "kind", ""))
    return all(ok for ok in _host_accesses(func.body, of_gpu=kind in _GPUS))


_GPUS = frozenset(("cuda", "rocm", "opencl", "metal", "vulkan"))


def _host_accesses(stmt: Stmt, *, of_gpu: bool) -> Iterator[bool]:
    stack: list[tuple[TirNode, bool]] = [(stmt, False)]
    while stack:
        node, inside = stack.pop()
        match node:
            case BufferStore() | BufferLoad():
                of_host = is_global(node.buffer.scope) or "." not in node.buffer.scope
                yield inside or (of_host and not of_gpu)
            case AttrStmt(key=AttrKey.COPROC_SCOPE | AttrKey.COPROC_UOP_SCOPE | AttrKey.THREAD_EXTENT):
                inside = True
            case For(kind=ForKind.THREAD_BINDING):
                inside = True
            case _:
                pass
        stack.extend((child, inside) for child in children(node))


def calculate_workspace_bytes(func: PrimFunc, workspace_byte_alignment: int = 1) -> int:
    """Return the most bytes that constant allocations in DRAM hold at any one time, each rounded up."""
    most = 0
    stack: list[tuple[TirNode, int]] = [(func.body, 0)]
    while stack:
        node, held = stack.pop()
        if isinstance(node, Allocate) and is_global(node.scope):
            held += _bytes(node, workspace_byte_alignment)
            most = max(most, held)
        stack.extend((child, held) for child in children(node))
    return most


def _bytes(node: Allocate, alignment: int) -> int:
    sizes = [extent.value for extent in node.extents if isinstance(extent, IntImm)]
    if len(sizes) != len(node.extents):
        return 0
    size = -(-prod(sizes) * node.dtype.bits * node.dtype.lanes // 8)
    return -(-size // alignment) * alignment


def undefined_vars(node: TirNode, defs: list[Var] | tuple[Var, ...] = ()) -> list[Var]:
    """Return the variables that ``node`` uses and neither it nor ``defs`` defines, in order of first use."""
    return [var for var in free_vars(node) if var not in defs]


def has_side_effect(expr: Expr) -> bool:
    """Whether computing ``expr`` does something, or may do something, beside giving a value."""
    return has_effect(expr)
