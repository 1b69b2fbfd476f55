"""An operator of the library as launches without addresses, kept on disk by content.

What a compiled function asks of the runtime depends on sizes alone, so it is asked once, of a device that runs nothing,
and what it asked is kept. A kept file is found by the operator, its tiles if they were tuned, the configuration, the
memory port, and the sources of the compiler; one that is damaged, or whose checks fail, counts as missing.
Tests: tests/vta/relay/backend/test_lower.py.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from isa.errors import VTAError
from runtime.executor.container import ContainerError, network_from_bytes, network_to_bytes
from runtime.executor.network import DeviceStep, Home, Network, Tensor
from runtime.executor.recorded import idle_session, recorded_launches
from runtime.executor.stored_launch import StoredLaunch
from runtime.memory.array import DeviceArray
from runtime.native.cache import cached
from vta.environment import Environment
from vta.relay.backend.workers import in_workers
from vta.sources import compiler_digest
from vta.topi.core.memory_port import bus_of
from vta.topi.core.operator import Operator
from vta.topi.core.operator import compile as compile_operator
from vta.topi.core.sizes import sizes
from vta.topi.core.tuned import tuned_tiles

__all__ = ["Lowered", "lowered", "lowered_here"]

_KIND = "networks"
_ALIGNMENT = 4096


@dataclass(frozen=True, slots=True, eq=False)
class Lowered:
    """The launches of an operator, and what its function takes: packed shapes and types, the result last."""

    launches: tuple[StoredLaunch, ...]
    arguments: tuple[tuple[tuple[int, ...], str], ...]


def lowered_here(operator: Operator, env: Environment, tiles: object = None) -> Lowered:
    """Return ``operator`` compiled for ``env``, in this process; raises what the library says if it cannot be.

    Without ``tiles``, the library's search chooses them.
    """
    compiled = compile_operator(operator, env, tiles)
    session = idle_session(env.config)
    kinds = tuple((sizes(t), str(t.dtype)) for t in compiled.scheduled.args)
    arrays = [DeviceArray(session, shape, dtype) for shape, dtype in kinds]
    return Lowered(recorded_launches(compiled.module, session, arrays), kinds)


def lowered(
    operators: Sequence[Operator],
    env: Environment,
    *,
    jobs: int = 1,
    progress: Callable[[int], object] | None = None,
    cache: bool = True,
) -> list[Lowered | str]:
    """Return every operator compiled, or the sentence that says why it cannot be; equal ones are compiled once.

    Tiles are those that were tuned, where there are any. ``jobs`` processes work at a time; ``progress`` hears how many
    of the different operators are done.
    """
    requests = {operator: _Request(operator, env, tuned_tiles(operator, env)) for operator in operators}
    found: dict[Operator, Lowered | str] = {}
    for operator, request in requests.items() if cache else []:
        kept = _kept(request)
        if kept is not None:
            found[operator] = kept
    missing = [request for operator, request in requests.items() if operator not in found]
    for request, result in zip(missing, _compiled(missing, jobs), strict=True):
        found[request.operator] = result
        if progress is not None:
            progress(len(found))
        if cache and isinstance(result, Lowered):
            _keep(request, result)
    return [found[operator] for operator in operators]


@dataclass(frozen=True, slots=True)
class _Request:
    """What is compiled: an operator, for which environment, and the tiles that were tuned, None for a search's."""

    operator: Operator
    env: Environment
    tiles: object

    @property
    def key(self) -> str:
        """What decides the launches."""
        return f"{self.operator!r}\n{self.env.config.digest}\n{bus_of(self.env)}\n{self.tiles!r}\n{compiler_digest()}"


def _compiled(requests: Sequence[_Request], jobs: int) -> Iterator[Lowered | str]:
    """Yield the operators compiled, in their order, each as soon as it and those before it are."""
    if jobs < 2 or len(requests) < 2:
        return map(_tried, requests)
    return in_workers(_tried, requests, jobs)


def _tried(request: _Request) -> Lowered | str:
    try:
        return lowered_here(request.operator, request.env, request.tiles)
    except VTAError as error:
        return str(error)


# --- on disk --------------------------------------------------------------------------------------------------------


class _NotKeptError(VTAError):
    """Nothing is kept."""


def _kept(request: _Request) -> Lowered | None:
    """Return what is kept of an operator, after the checks of a network's file."""

    def missing() -> bytes:
        raise _NotKeptError

    try:
        network = network_from_bytes(cached(_KIND, request.key, missing))
    except (_NotKeptError, ContainerError):
        return None
    [step] = network.steps
    assert isinstance(step, DeviceStep)
    kinds = tuple((network.tensor(name).shape, network.tensor(name).dtype) for name in step.tensors)
    return Lowered(step.launches, kinds)


def _keep(request: _Request, made: Lowered) -> None:
    """Keep launches as a network of one step."""
    tensors, at = [], 0
    for number, (shape, dtype) in enumerate(made.arguments):
        tensors.append(Tensor(str(number), shape, dtype, Home.ARENA, at))
        at += -(-tensors[-1].nbytes // _ALIGNMENT) * _ALIGNMENT
    names = tuple(tensor.name for tensor in tensors)
    network = Network(
        config=request.env.config, tensors={tensor.name: tensor for tensor in tensors},
        inputs=names[:-1], outputs=names[-1:],
        steps=(DeviceStep("kernel", made.launches, names),), arena_bytes=at, constants=np.zeros(0, np.uint8),
        host_constants={},
    )  # fmt: skip
    cached(_KIND, request.key, lambda: network_to_bytes(network))
