"""Which operators of the library a graph's layers are, without compiling any.

Tests: tests/vta/relay/backend/test_layers.py.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from vta.environment import Environment
from vta.relay.backend.joins import with_parts_apart
from vta.relay.backend.kernel import Kernel
from vta.relay.backend.recognise import placed
from vta.relay.integer import integer_network
from vta.relay.ir.nodes import Function
from vta.relay.transform.pipeline import NamedPass
from vta.topi.core.operator import Operator

__all__ = ["Layer", "layers"]


@dataclass(frozen=True, slots=True)
class Layer:
    """An operator, and the names of the nodes that have it."""

    operator: Operator
    names: tuple[str, ...]


def layers(function: Function, env: Environment, *, passes: Sequence[NamedPass] | None = None) -> list[Layer]:
    """Return the layers that the accelerator of ``env`` computes of ``function``, each different operator once.

    A layer that turns out to have no tiles, and would stay with the host, is among them.
    """
    integers = with_parts_apart(integer_network(function, passes=passes), env)
    found: dict[Operator, list[str]] = {}
    for item in placed(integers, env):
        if isinstance(item, Kernel):
            found.setdefault(item.operator, []).append(item.name)
    return [Layer(operator, tuple(names)) for operator, names in found.items()]
