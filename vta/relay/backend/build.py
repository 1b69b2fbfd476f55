"""From a model to a compiled network. Tests: tests/vta/relay/backend/test_build.py."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from runtime.executor.network import Network
from vta.environment import Environment
from vta.relay.backend.assemble import assembled
from vta.relay.backend.joins import with_parts_apart
from vta.relay.backend.kernel import HostCall, Item, Kernel
from vta.relay.backend.lower import Lowered, lowered
from vta.relay.backend.recognise import Refusals, placed
from vta.relay.integer import integer_network
from vta.relay.ir.nodes import Call, Function
from vta.relay.ir.traverse import calls
from vta.relay.transform.pipeline import NamedPass

__all__ = ["Built", "Progress", "build_network"]

Progress: TypeAlias = Callable[[str, int, int], object]
"""Called with what is being done, how much of it is done, and how much there is."""


@dataclass(frozen=True, slots=True, eq=False)
class Built:
    """A compiled network, the integer graph that is its meaning, and who computes what.

    ``results`` says which of the network's tensors hold the result of which call.
    """

    network: Network
    function: Function
    items: tuple[Item, ...]
    results: Mapping[str, Call]

    @property
    def macs(self) -> int:
        """Multiplications with an addition that the accelerator does."""
        return sum(item.macs for item in self.items if isinstance(item, Kernel))


def build_network(
    function: Function,
    env: Environment,
    *,
    jobs: int | None = None,
    progress: Progress | None = None,
    cache: bool = True,
    origin: Mapping[str, str] | None = None,
    outputs: Sequence[str] = (),
    passes: Sequence[NamedPass] | None = None,
    accelerator: bool = True,
) -> Built:
    """Return ``function``, a graph of float operators between integers, compiled for ``env``.

    Layers are compiled by ``jobs`` processes (as many as there are processors, if left out) and kept on disk. What the
    library turns out to have no tiles for stays with the host. ``passes`` are some of ``passes_for(function)``; without
    ``accelerator``, the host computes everything.
    """
    integers = integer_network(function, passes=passes)
    if accelerator:
        integers = with_parts_apart(integers, env)
    refusals = Refusals()
    while True:
        items = placed(integers, env, refusals) if accelerator else _on_the_host(integers)
        kernels = [item for item in items if isinstance(item, Kernel)]
        made = lowered(
            [kernel.operator for kernel in kernels],
            env,
            jobs=jobs if jobs is not None else os.cpu_count() or 1,
            progress=None if progress is None else _told(progress, len(kernels)),
            cache=cache,
        )
        found: dict[Kernel, Lowered] = {}
        for kernel, result in zip(kernels, made, strict=True):
            if isinstance(result, Lowered):
                found[kernel] = result
            else:
                refusals.note(kernel, result)
        if len(found) == len(kernels):
            whole = assembled(integers, items, found, env, origin=origin or {}, outputs=outputs)
            return Built(whole.network, integers, tuple(items), whole.results)


def _on_the_host(function: Function) -> list[Item]:
    return [HostCall(each, "the target is the host") for each in calls(function)]


def _told(progress: Progress, total: int) -> Callable[[int], object]:
    return lambda done: progress("layers", done, total)


def host_reasons(built: Built) -> dict[str, str]:
    """Return, for each call of the host, why it is there."""
    return {item.name: item.reason for item in built.items if isinstance(item, HostCall)}
