"""An operator of the library as launches without addresses, kept on disk by content.

What a compiled function asks of the runtime depends on sizes alone, so it is asked once, of a device that runs nothing,
and what it asked is kept. A kept file is found by the operator, the configuration, and the sources of the compiler; one
that is damaged, or whose checks fail, counts as missing. Tests: tests/vta/relay/backend/test_lower.py.
"""

import functools
import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import isa
import runtime
import vta
from isa.config import VTAConfig
from isa.errors import VTAError
from runtime.devices.idle import IdleDevice
from runtime.executor.container import ContainerError, network_from_bytes, network_to_bytes
from runtime.executor.network import DeviceStep, Home, Network, Tensor
from runtime.executor.stored_launch import StoredLaunch
from runtime.memory.array import DeviceArray
from runtime.memory.device_memory import DeviceMemory
from runtime.native.cache import cached
from runtime.session import Session
from vta.environment import Environment
from vta.relay.backend.workers import in_workers
from vta.topi.core.operator import Operator
from vta.topi.core.operator import compile as compile_operator
from vta.topi.core.sizes import sizes

__all__ = ["Lowered", "lowered", "lowered_here", "sources_digest"]

_KIND = "networks"
_ALIGNMENT = 4096


@dataclass(frozen=True, slots=True, eq=False)
class Lowered:
    """The launches of an operator, and what its function takes: packed shapes and types, the result last."""

    launches: tuple[StoredLaunch, ...]
    arguments: tuple[tuple[tuple[int, ...], str], ...]


def lowered_here(operator: Operator, config: VTAConfig) -> Lowered:
    """Return ``operator`` compiled for ``config``, in this process; raises what the library says if it cannot be."""
    env = Environment(config)
    compiled = compile_operator(operator, env)
    session = Session(config, IdleDevice(config, DeviceMemory()), record=True)
    kinds = tuple((sizes(t), str(t.dtype)) for t in compiled.scheduled.args)
    arrays = [DeviceArray(session, shape, dtype) for shape, dtype in kinds]
    compiled.module(*arrays)
    numbers = {array.allocation: number for number, array in enumerate(arrays)}
    launcher = session.queue.launcher
    launches = tuple(StoredLaunch.of(launch, numbers, launcher.zero_element) for launch in launcher.launches)
    return Lowered(launches, kinds)


def lowered(
    operators: Sequence[Operator],
    config: VTAConfig,
    *,
    jobs: int = 1,
    progress: Callable[[int], object] | None = None,
    cache: bool = True,
) -> list[Lowered | str]:
    """Return every operator compiled, or the sentence that says why it cannot be; equal ones are compiled once.

    ``jobs`` processes work at a time; ``progress`` hears how many of the different operators are done.
    """
    different = list(dict.fromkeys(operators))
    found: dict[Operator, Lowered | str] = {}
    for operator in different if cache else []:
        kept = _kept(operator, config)
        if kept is not None:
            found[operator] = kept
    missing = [operator for operator in different if operator not in found]
    for operator, result in zip(missing, _compiled(missing, config, jobs), strict=True):
        found[operator] = result
        if progress is not None:
            progress(len(found))
        if cache and isinstance(result, Lowered):
            _keep(operator, result, config)
    return [found[operator] for operator in operators]


def _compiled(operators: Sequence[Operator], config: VTAConfig, jobs: int) -> Iterator[Lowered | str]:
    """Yield the operators compiled, in their order, each as soon as it and those before it are."""
    requests = [(operator, config) for operator in operators]
    if jobs < 2 or len(operators) < 2:
        return map(_tried, requests)
    return in_workers(_tried, requests, jobs)


def _tried(request: tuple[Operator, VTAConfig]) -> Lowered | str:
    try:
        return lowered_here(*request)
    except VTAError as error:
        return str(error)


# --- on disk --------------------------------------------------------------------------------------------------------


class _NotKeptError(VTAError):
    """Nothing is kept."""


def _key(operator: Operator, config: VTAConfig) -> str:
    return f"{operator!r}\n{config.digest}\n{sources_digest()}"


@functools.cache
def sources_digest() -> str:
    """Return a digest of the Python files that decide what an operator becomes."""
    digest = hashlib.sha256()
    for package in (isa, runtime, vta):
        folder = Path(package.__path__[0])
        for path in sorted(folder.rglob("*.py")):
            digest.update(f"{path.relative_to(folder)}\n".encode() + path.read_bytes())
    return digest.hexdigest()


def _kept(operator: Operator, config: VTAConfig) -> Lowered | None:
    """Return what is kept of an operator, after the checks of a network's file."""

    def missing() -> bytes:
        raise _NotKeptError

    try:
        network = network_from_bytes(cached(_KIND, _key(operator, config), missing))
    except (_NotKeptError, ContainerError):
        return None
    [step] = network.steps
    assert isinstance(step, DeviceStep)
    kinds = tuple((network.tensor(name).shape, network.tensor(name).dtype) for name in step.tensors)
    return Lowered(step.launches, kinds)


def _keep(operator: Operator, made: Lowered, config: VTAConfig) -> None:
    """Keep launches as a network of one step."""
    tensors, at = [], 0
    for number, (shape, dtype) in enumerate(made.arguments):
        tensors.append(Tensor(str(number), shape, dtype, Home.ARENA, at))
        at += -(-tensors[-1].nbytes // _ALIGNMENT) * _ALIGNMENT
    names = tuple(tensor.name for tensor in tensors)
    network = Network(
        config=config, tensors={tensor.name: tensor for tensor in tensors}, inputs=names[:-1], outputs=names[-1:],
        steps=(DeviceStep("kernel", made.launches, names),), arena_bytes=at, constants=np.zeros(0, np.uint8),
        host_constants={},
    )  # fmt: skip
    cached(_KIND, _key(operator, config), lambda: network_to_bytes(network))
