"""What the host computes of a network, by our own compiler where that pays.

Tests: tests/vta/relay/backend/test_host_functions.py.
"""

import os
from collections.abc import Sequence

from runtime.executor.fused import FusedSteps
from runtime.executor.network import Network
from vta.relay.backend.workers import in_workers
from vta.relay.host.functions import compiled, functions
from vta.relay.host.groups import PAYS, groups
from vta.relay.host.recipe import Recipe
from vta.sources import compiler_digest

__all__ = ["host_functions"]

_ALONE = 12
"""Recipes that are compiled sooner than processes for it have started."""


def host_functions(
    network: Network, *, jobs: int | None = None, cache: bool = True, pays: int = PAYS
) -> list[FusedSteps]:
    """Return functions for steps of the host, compiled by ``jobs`` processes (as many as processors) or kept on disk.

    They give the numbers of the operators in numpy. ``pays`` is what a group of steps must save to be compiled.
    """
    found = groups(network, pays=pays)
    if not found:
        return []
    number = jobs if jobs is not None else os.cpu_count() or 1

    def compile_all(recipes: Sequence[Recipe]) -> Sequence[bytes]:
        if number < 2 or len(recipes) < _ALONE:
            return [*map(compiled, recipes)]
        return [*in_workers(compiled, recipes, number)]

    return functions(found, compiler_digest(), cache=cache, compile_all=compile_all)
