"""What a compiled network consists of: tensors with a home, and steps of the device and of the host.

Every tensor has a name. Those of the device lie in one arena, whose offsets the compiler has planned, or in one image
of constants; those of the host are arrays that live from the step that makes them to the last one that reads them.
Tests: tests/runtime/executor/test_network.py.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeAlias, assert_never

import numpy as np
import numpy.typing as npt

from isa.config import VTAConfig
from isa.errors import VTAError
from runtime.executor.operators.attribute_values import Plain
from runtime.executor.operators.types import ElementType
from runtime.executor.stored_launch import StoredLaunch

__all__ = ["DeviceStep", "Home", "HostStep", "Network", "NetworkError", "Step", "Tensor"]


class NetworkError(VTAError, ValueError):
    """A network that cannot be run, or inputs that do not fit it."""


class Home(Enum):
    """Where a tensor lies."""

    HOST = "host"
    """In an array, while it is needed."""
    HOST_CONSTANT = "host constant"
    """In an array that the network brings along."""
    ARENA = "arena"
    """In the device's arena at ``offset``."""
    CONSTANT = "constant"
    """In the device's image of constants at ``offset``."""


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor of a network; ``offset`` counts bytes in the arena or in the image of constants."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    home: Home = Home.HOST
    offset: int = 0

    def __post_init__(self) -> None:
        if self.dtype not in tuple(ElementType):
            raise NetworkError(f"tensor {self.name!r}: dtype is one of {', '.join(ElementType)}, not {self.dtype!r}")
        if any(extent < 0 for extent in self.shape) or self.offset < 0:
            raise NetworkError(f"tensor {self.name!r}: shape {self.shape} and offset {self.offset} are not below zero")

    @property
    def nbytes(self) -> int:
        """Bytes of its elements."""
        return math.prod(self.shape) * np.dtype(self.dtype).itemsize

    @property
    def on_device(self) -> bool:
        """Whether it lies in the device's memory."""
        return self.home in (Home.ARENA, Home.CONSTANT)


@dataclass(frozen=True, slots=True, eq=False)
class DeviceStep:
    """Launches on the accelerator for ``node``; ``tensors`` are what their addresses refer to, by number.

    ``macs`` are the multiplications with an addition that the node needs, for reports.
    """

    node: str
    launches: tuple[StoredLaunch, ...]
    tensors: tuple[str, ...]
    macs: int = 0


@dataclass(frozen=True, slots=True)
class HostStep:
    """An operator of the host, by its name in ``runtime.executor.host_operators``."""

    node: str
    operator: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Plain] = field(default_factory=dict)


Step: TypeAlias = DeviceStep | HostStep


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Network:
    """A compiled network: steps in their order; every name in them is a tensor's.

    ``constants`` is the device's image, ``host_constants`` has an array for every tensor of that home. ``origin`` says
    what it was made of and by what, for people.
    """

    config: VTAConfig
    tensors: Mapping[str, Tensor]
    steps: tuple[Step, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    arena_bytes: int
    constants: npt.NDArray[np.uint8]
    host_constants: Mapping[str, npt.NDArray[np.generic]]
    origin: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check that every step has its tensors, in memory that is there, made before they are read."""
        for name, tensor in self.tensors.items():
            self._check_tensor(name, tensor)
        made = {name for name, tensor in self.tensors.items() if tensor.home in (Home.CONSTANT, Home.HOST_CONSTANT)}
        made |= set(self._known("the inputs", self.inputs))
        for step in self.steps:
            made |= set(self._check_step(step, made))
        missing = [name for name in self._known("the outputs", self.outputs) if name not in made]
        if missing:
            raise NetworkError(f"output {missing[0]!r} is made by no step")

    def tensor(self, name: str) -> Tensor:
        """Return the tensor called ``name``."""
        return self.tensors[name]

    def reads(self, step: Step) -> Iterator[str]:
        """Yield the names of the host's tensors that a step reads."""
        match step:
            case HostStep():
                yield from (name for name in step.inputs if not self.tensors[name].on_device)
            case DeviceStep():
                pass
            case _:
                assert_never(step)

    def _check_tensor(self, name: str, tensor: Tensor) -> None:
        end = tensor.offset + tensor.nbytes
        limits = {Home.ARENA: self.arena_bytes, Home.CONSTANT: len(self.constants)}
        if name != tensor.name:
            raise NetworkError(f"tensor {name!r} calls itself {tensor.name!r}")
        if tensor.home in limits and end > limits[tensor.home]:
            raise NetworkError(
                f"tensor {name!r} ends at byte {end} of the {tensor.home.value}, which has {limits[tensor.home]}"
            )
        if tensor.home is Home.HOST_CONSTANT:
            value = self.host_constants.get(name)
            if value is None or (value.shape, str(value.dtype)) != (tensor.shape, tensor.dtype):
                raise NetworkError(f"tensor {name!r} is a constant of the host, and its array is missing or another")

    def _known(self, where: str, names: tuple[str, ...]) -> tuple[str, ...]:
        for name in names:
            if name not in self.tensors:
                raise NetworkError(f"{where} name tensor {name!r}, which the network does not have")
        return names

    def _is_made_of(self, name: str, made: set[str]) -> bool:
        """Return whether a tensor of the arena consists of others that have been made, as a concatenation does."""
        whole = self.tensors[name]
        if whole.home is not Home.ARENA:
            return False
        at, end = whole.offset, whole.offset + whole.nbytes
        parts = sorted(
            (part.offset, part.offset + part.nbytes)
            for part in (self.tensors[other] for other in made)
            if part.home is Home.ARENA and part.offset < end and part.offset + part.nbytes > at
        )
        for begin, beyond in parts:
            if begin > at:
                return False
            at = max(at, beyond)
        return at >= end

    def _check_step(self, step: Step, made: set[str]) -> tuple[str, ...]:
        """Check one step; return the tensors that it makes."""
        where = f"step {step.node!r}"
        match step:
            case HostStep():
                for name in self._known(where, step.inputs):
                    if name not in made and not self._is_made_of(name, made):
                        raise NetworkError(f"{where} reads tensor {name!r} before a step has made it")
                for name in self._known(where, step.outputs):
                    if self.tensors[name].home not in (Home.HOST, Home.ARENA):
                        raise NetworkError(f"{where} writes tensor {name!r}, which is a constant")
                return step.outputs
            case DeviceStep():
                for name in self._known(where, step.tensors):
                    if not self.tensors[name].on_device:
                        raise NetworkError(f"{where} runs on tensor {name!r}, which is not in the device's memory")
                for launch in step.launches:
                    launch.check(where, [self.tensors[name].nbytes for name in step.tensors], self.config)
                return step.tensors
            case _:
                assert_never(step)
