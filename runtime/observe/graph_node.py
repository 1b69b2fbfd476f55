"""The node of a graph that launches are run for: ``with graph_node("layer1/conv"):`` around the calls that run it.

An instruction is for the node in force when the runtime is asked for it, so one launch may be for several. A program
that runs again without its host code is for the one in force then: what was compiled once may run for many nodes. Each
thread (each context) has its own. Tests: ``tests/runtime/observe/test_graph_node.py``.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace

from isa.errors import VTAError
from isa.origin import Origin

__all__ = ["GraphNodeError", "current_node", "graph_node", "nodes_of", "with_node"]

_NODE: ContextVar[str] = ContextVar("graph node", default="")


class GraphNodeError(VTAError, ValueError):
    """A name that cannot be a node's."""


@contextmanager
def graph_node(name: str) -> Iterator[str]:
    """Let the calls inside be for node ``name``, in an outer node for ``outer/name``; yield the whole name.

    Raises ``GraphNodeError`` unless ``name`` is a text of one line that is not empty.
    """
    if not isinstance(name, str) or not name.strip() or not name.isprintable():
        raise GraphNodeError(f"the name of a graph node is {name!r}, and it must be a text of one line, as 'conv1'")
    outer = _NODE.get()
    token = _NODE.set(f"{outer}/{name}" if outer else name)
    try:
        yield _NODE.get()
    finally:
        _NODE.reset(token)


def current_node() -> str:
    """Return the name of the node in force here, empty if there is none."""
    return _NODE.get()


def nodes_of(origins: Iterable[Origin | None]) -> tuple[str, ...]:
    """Return the nodes that ``origins`` name, each once, in order; an empty text stands for none."""
    return tuple(dict.fromkeys("" if origin is None else origin.node for origin in origins))


def with_node(origins: Sequence[Origin | None], node: str) -> tuple[Origin | None, ...]:
    """Return ``origins`` with ``node`` in each, an empty one in none; what then says nothing is None."""
    made: dict[Origin | None, Origin | None] = {}
    for origin in origins:
        if origin not in made:
            named = Origin("", node=node) if origin is None else replace(origin, node=node)
            made[origin] = named if str(named) else None
    return tuple(made[origin] for origin in origins)
