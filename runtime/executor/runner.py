"""Runs a compiled network on a session: its memory, its launches, and the steps of the host between them.

Tests: tests/runtime/executor/test_runner.py.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import assert_never

import numpy as np
import numpy.typing as npt

from runtime.executor.fused import FusedSteps, last_steps, places
from runtime.executor.host_operators import Prepared, prepared
from runtime.executor.lifetimes import last_reads
from runtime.executor.network import DeviceStep, Home, HostStep, Network, NetworkError, Step, Tensor
from runtime.executor.stored_launch import TensorPlace
from runtime.memory.device_memory import Allocation
from runtime.observe.graph_node import graph_node
from runtime.observe.stats import LaunchStats
from runtime.queue.launch import Launch
from runtime.session import Session

__all__ = ["NetworkRunner", "NodeRun"]

Array = npt.NDArray[np.generic]


@dataclass(frozen=True, slots=True, eq=False)
class NodeRun:
    """What one step took: wall time, and on the device the launches' counters."""

    node: str
    on_device: bool
    seconds: float
    launches: tuple[LaunchStats, ...] = ()

    @property
    def cycles(self) -> int | None:
        """Cycles of its launches, where the device has a clock."""
        counted = [stats.cycles for stats in self.launches if stats.cycles is not None]
        return sum(counted) if counted else None


class NetworkRunner:
    """A network whose memory is allocated on ``session`` and whose constants lie there.

    ``close`` gives the memory back. One run at a time: two threads need a runner each. ``fused`` are functions that
    compute some of the host's steps; the others are operators in numpy.
    """

    def __init__(self, network: Network, session: Session, *, fused: Sequence[FusedSteps] = ()) -> None:
        session.require_config(network.config, "the network")
        self._fused = last_steps(network, fused)
        at = places(network, self._fused)
        self._elsewhere = frozenset(number for number, place in enumerate(at) if number != place)
        self._host_steps: list[Prepared | None] = [
            prepared(step, network) if isinstance(step, HostStep) else None for step in network.steps
        ]
        self.network = network
        self.session = session
        self._blocks: dict[Home, Allocation] = {}
        with ExitStack() as undo:
            for home, nbytes in ((Home.ARENA, network.arena_bytes), (Home.CONSTANT, len(network.constants))):
                self._blocks[home] = block = session.memory.alloc(max(nbytes, 1))
                undo.callback(session.memory.free, block)
            session.memory.view(self._blocks[Home.CONSTANT].address, len(network.constants))[:] = network.constants
            self._launches = [self._placed(step) for step in network.steps]
            self._undo = undo.pop_all()
        self._last_reads = last_reads(network, at)
        self.nodes: tuple[NodeRun, ...] = ()
        """What each step of the last run took."""

    def close(self) -> None:
        """Free the network's memory; it cannot be run afterwards."""
        self._undo.close()
        self._blocks.clear()

    def run(
        self,
        inputs: Mapping[str, npt.ArrayLike],
        *,
        progress: Callable[[int, str], object] | None = None,
        watch: Callable[[str, Array], object] | None = None,
    ) -> dict[str, Array]:
        """Return the outputs by name. ``NetworkError`` for inputs of other names, shapes or types.

        ``progress`` is told of each step before it begins: how many are done, and its node. ``watch`` gets a copy of
        every tensor when it has been made, those on the device in the device's layout; what a function keeps to itself
        is not made.
        """
        if not self._blocks:
            raise NetworkError("the network's memory was given back: it was closed")
        values = self._checked(inputs)
        done: list[NodeRun] = []
        for number, step in enumerate(self.network.steps):
            if progress is not None:
                progress(number, step.node)
            if number not in self._elsewhere:
                done.append(self._timed(number, step, values))
                if watch is not None:
                    self._show(number, step, values, watch)
            for name in self._last_reads[number]:
                values.pop(name, None)
        self.nodes = tuple(done)
        return {name: self._value(self.network.tensor(name), values).copy() for name in self.network.outputs}

    def _checked(self, inputs: Mapping[str, npt.ArrayLike]) -> dict[str, Array]:
        """Return the inputs as arrays of the host; those that live on the device are written there."""
        wanted = self.network.inputs
        if set(inputs) != set(wanted):
            raise NetworkError(
                f"the network takes inputs {', '.join(wanted)}, not {', '.join(map(str, inputs)) or 'none'}"
            )
        values: dict[str, Array] = dict(self.network.host_constants)
        for name in wanted:
            array, tensor = np.asarray(inputs[name]), self.network.tensor(name)
            if (array.shape, str(array.dtype)) != (tensor.shape, tensor.dtype):
                raise NetworkError(
                    f"input {name!r} is {tensor.dtype} of shape {tensor.shape}, "
                    f"not {array.dtype} of shape {array.shape}"
                )
            self._keep(tensor, array, values)
        return values

    def _timed(self, number: int, step: Step, values: dict[str, Array]) -> NodeRun:
        begin, fused = time.perf_counter(), self._fused.get(number)
        if fused is None:
            stats = self._do(number, step, values)
            return NodeRun(step.node, isinstance(step, DeviceStep), time.perf_counter() - begin, stats)
        made = fused.run([self._value(self.network.tensor(name), values) for name in fused.inputs])
        self._keep(self.network.tensor(fused.output), made, values)
        return NodeRun(fused.name(self.network), on_device=False, seconds=time.perf_counter() - begin)

    def _do(self, number: int, step: Step, values: dict[str, Array]) -> tuple[LaunchStats, ...]:
        match step:
            case DeviceStep():
                with graph_node(step.node):
                    return tuple(self._submit(launch) for launch in self._launches[number])
            case HostStep():
                read = [self._value(self.network.tensor(name), values) for name in step.inputs]
                run = self._host_steps[number]
                assert run is not None
                device = [array for name, array in zip(step.inputs, read, strict=True) if self._lives_there(name)]
                for name, array in zip(step.outputs, run(read), strict=True):
                    # An operator may return what it read, or a view: memory of the device is others' later.
                    is_theirs = any(np.may_share_memory(array, each) for each in device)
                    self._keep(self.network.tensor(name), array.copy() if is_theirs else array, values)
                return ()
            case _:
                assert_never(step)

    def _lives_there(self, name: str) -> bool:
        """Return whether a tensor is in the device's memory."""
        return self.network.tensor(name).on_device

    def _submit(self, launch: Launch) -> LaunchStats:
        return self.session.queue.launcher.submit(launch)

    def _value(self, tensor: Tensor, values: Mapping[str, Array]) -> Array:
        """Return a tensor's value; on the device a view of its memory."""
        if not tensor.on_device:
            return values[tensor.name]
        address = self._blocks[tensor.home].address + tensor.offset
        raw = self.session.memory.view(address, tensor.nbytes)
        return raw.view(tensor.dtype).reshape(tensor.shape)

    def _keep(self, tensor: Tensor, array: Array, values: dict[str, Array]) -> None:
        """Make ``array`` the value of ``tensor``; an operator that made something else is wrong."""
        if (array.shape, str(array.dtype)) != (tensor.shape, tensor.dtype):
            raise NetworkError(
                f"tensor {tensor.name!r} is {tensor.dtype} of shape {tensor.shape}, and its step made {array.dtype} of "
                f"shape {array.shape}"
            )
        if tensor.on_device:
            self._value(tensor, values)[...] = array
        else:
            values[tensor.name] = array

    def _show(
        self, number: int, step: Step, values: Mapping[str, Array], watch: Callable[[str, Array], object]
    ) -> None:
        made: Sequence[str]
        match step:
            case HostStep() if number in self._fused:
                made = (self._fused[number].output,)
            case HostStep():
                made = step.outputs
            case DeviceStep():
                made = [name for name in step.tensors if self.network.tensor(name).home is Home.ARENA]
            case _:
                assert_never(step)
        for name in made:
            watch(name, self._value(self.network.tensor(name), values).copy())

    def _placed(self, step: Step) -> tuple[Launch, ...]:
        """Return a step's launches with the addresses of this session's memory."""
        match step:
            case HostStep():
                return ()
            case DeviceStep():
                launcher = self.session.queue.launcher
                tensors = [self.network.tensor(name) for name in step.tensors]
                places = [TensorPlace(self._blocks[tensor.home], tensor.offset) for tensor in tensors]
                launches = (
                    launch.placed(self.network.config, places, launcher.zero_element, launcher.addresses)
                    for launch in step.launches
                )
                return tuple(launch.run_for(step.node) for launch in launches)
            case _:
                assert_never(step)


def cycles_by_node(runs: Sequence[NodeRun]) -> Iterator[tuple[str, int]]:
    """Yield the nodes that ran on the device with their cycles, in order."""
    yield from ((run.node, run.cycles) for run in runs if run.cycles is not None)
