"""Whether a statement may write its result over one of its operands.

Tests: tests/vta/passes/storage/test_in_place.py and the rest of tests/vta/passes/storage.
"""

from collections.abc import Iterator

from vta.arith.linear import detect_linear_equation
from vta.tir.expr import BufferLoad, Expr, IntImm, Var, same
from vta.tir.stmt import BufferStore, For, Stmt, While
from vta.tir.traverse import children, walk

__all__ = ["can_run_in_place", "is_injective"]


def can_run_in_place(stmt: Stmt, dst: Var, src: Var) -> bool:
    """Whether ``stmt`` computes the same if ``dst`` is the memory of ``src``, which nobody reads afterwards.

    It must be ``dst[i] = f(src[i])`` under any loops and conditions: a single store to ``dst``, which no value and no
    index reads and no intrinsic touches; ``src`` read nowhere but in that store's value, at the index of the store
    and with its type; no element stored twice (a loop that repeats the store would apply ``f`` again).
    """
    found = list(_stores(stmt, ()))
    to_dst = [(store, loops) for store, loops in found if store.buffer.data is dst]
    if len(to_dst) != 1 or any(store.buffer.data is src for store, _ in found):
        return False
    store, loops = to_dst[0]
    allowed = {id(node) for node in walk(store.value) if isinstance(node, BufferLoad) and _matches(node, store)}
    for node in walk(stmt):
        match node:
            case While():
                return False
            case Var() if node is dst or node is src:
                return False
            case BufferLoad() if node.buffer.data is dst or any(_loads(index) for index in node.indices):
                return False
            case BufferLoad() if node.buffer.data is src and id(node) not in allowed:
                return False
            case _:
                continue
    return not any(_loads(index) for index in store.indices) and is_injective(store.indices, loops)


def _matches(load: BufferLoad, store: BufferStore) -> bool:
    return load.dtype == store.value.dtype and same(load.indices, store.indices)


def _loads(expr: Expr) -> bool:
    return any(isinstance(node, BufferLoad) for node in walk(expr))


def _stores(stmt: Stmt, loops: tuple[For, ...]) -> Iterator[tuple[BufferStore, tuple[For, ...]]]:
    """Yield every store with the loops around it, outermost first."""
    work = [(stmt, loops)]
    while work:
        node, around = work.pop()
        if isinstance(node, BufferStore):
            yield node, around
            continue
        inside = (*around, node) if isinstance(node, For) else around
        work += [(child, inside) for child in reversed(children(node)) if isinstance(child, Stmt)]


def is_injective(indices: tuple[Expr, ...], loops: tuple[For, ...]) -> bool:
    """Whether every iteration of ``loops`` has an index of its own: provably, by a linear index with growing steps."""
    if not loops:
        return True
    if len(indices) != 1:
        return False
    coefficients = detect_linear_equation(indices[0], [loop.loop_var for loop in loops])
    if coefficients is None:
        return False
    steps: list[tuple[int, int]] = []
    for loop, step in zip(loops, coefficients, strict=False):
        if not isinstance(loop.extent, IntImm) or not isinstance(step, IntImm):
            return False
        if loop.extent.value > 1:
            steps.append((abs(step.value), loop.extent.value))
    reach = 0
    for step_value, extent in sorted(steps):
        if step_value <= reach:
            return False
        reach += step_value * (extent - 1)
    return True
