"""Which nodes of a directed graph lie on cycles. Tests: ``tests/hw/sim/netlist/test_order.py``."""

from collections.abc import Callable, Iterable

__all__ = ["cyclic_components"]


def cyclic_components(nodes: Iterable[int], edges: Callable[[int], list[int]]) -> set[int]:
    """Return every node that can reach itself (Tarjan's algorithm, without recursion)."""
    number: dict[int, int] = {}
    low: dict[int, int] = {}
    on_path: dict[int, None] = {}
    cyclic: set[int] = set()
    for root in nodes:
        if root in number:
            continue
        work = [(root, iter(edges(root)))]
        number[root] = low[root] = len(number)
        on_path[root] = None
        while work:
            node, targets = work[-1]
            target = next(targets, None)
            if target is None:
                work.pop()
                if work:
                    parent = work[-1][0]
                    low[parent] = min(low[parent], low[node])
                if low[node] == number[node]:
                    _close(node, on_path, cyclic)
            elif target not in number:
                number[target] = low[target] = len(number)
                on_path[target] = None
                work.append((target, iter(edges(target))))
            elif target in on_path:
                low[node] = min(low[node], number[target])
                if target == node:
                    cyclic.add(node)
    return cyclic


def _close(root: int, on_path: dict[int, None], cyclic: set[int]) -> None:
    """Take the component of ``root`` off the path; more than one node means that all of them lie on a cycle."""
    members = []
    while True:
        member, _ = on_path.popitem()
        members.append(member)
        if member == root:
            break
    if len(members) > 1:
        cyclic.update(members)
