"""What a network needs of the device's memory, laid out once: words, micro-ops, constants, then the arena.

Addresses in words count from the beginning, which every base register is set to; so nothing is patched when a network
is loaded, wherever its memory is. Tests: tests/vta/relay/c/test_memory_image.py.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from isa.encoding import INSTRUCTION_BYTES
from isa.instructions import MemoryId
from runtime.executor.network import DeviceStep, Home, Network
from runtime.executor.stored_launch import StoredLaunch, TensorPlace, zero_bytes
from runtime.memory.device_memory import Allocation
from runtime.queue.launch import LaunchAddresses

__all__ = ["MemoryImage", "PlacedLaunch"]

PAGE = 4096


@dataclass(frozen=True, slots=True)
class PlacedLaunch:
    """``count`` instructions at byte ``offset`` of the memory."""

    offset: int
    count: int


@dataclass(frozen=True, slots=True, eq=False)
class MemoryImage:
    """The bytes that memory begins with, all bytes, the launches of every step, and where tensors lie."""

    data: npt.NDArray[np.uint8]
    nbytes: int
    launches: Mapping[int, tuple[PlacedLaunch, ...]]
    offsets: Mapping[str, int]

    @classmethod
    def of(cls, network: Network) -> "MemoryImage":
        """Lay out a network's memory."""
        config = network.config
        unit = max([PAGE, *(config.elem_bytes(memory) for memory in MemoryId)])
        steps = {number: step for number, step in enumerate(network.steps) if isinstance(step, DeviceStep)}
        words = _Area(0)
        # Steps may have one launch among them: each runs it on tensors of its own, so each has words of its own.
        launches = {
            number: tuple(PlacedLaunch(words.take(len(each) * INSTRUCTION_BYTES), len(each)) for each in step.launches)
            for number, step in steps.items()
        }
        uops = _Area(_up(words.end, unit))
        kernels = dict.fromkeys(launch.uops.tobytes() for step in steps.values() for launch in step.launches)
        at_uops = {data: uops.take(len(data)) for data in kernels}
        constants = _up(uops.end, unit)
        zeros = _up(constants + len(network.constants), unit)
        arena = _up(zeros + zero_bytes(config), unit)
        whole = Allocation(0, arena + network.arena_bytes)
        begins = {Home.CONSTANT: constants, Home.ARENA: arena}
        offsets = {t.name: begins[t.home] + t.offset for t in network.tensors.values() if t.home in begins}
        data = np.zeros(zeros + zero_bytes(config), np.uint8)
        data[constants : constants + len(network.constants)] = network.constants
        for kernel, begin in at_uops.items():
            data[begin : begin + len(kernel)] = np.frombuffer(kernel, np.uint8)
        for number, step in steps.items():
            places = [TensorPlace(whole, offsets[name]) for name in step.tensors]
            for at, launch in zip(launches[number], step.launches, strict=True):
                data[at.offset : at.offset + at.count * INSTRUCTION_BYTES] = _words(
                    network, launch, places, Allocation(zeros, zero_bytes(config)), at_uops[launch.uops.tobytes()]
                )
        return cls(data, whole.nbytes, launches, offsets)


class _Area:
    """Bytes given out one behind the other."""

    def __init__(self, begin: int) -> None:
        self.end = begin

    def take(self, nbytes: int) -> int:
        """Return where the next ``nbytes`` bytes are; beats of any bus begin there."""
        begin = _up(self.end, 64)
        self.end = begin + nbytes
        return begin


def _up(value: int, unit: int) -> int:
    return -(-value // unit) * unit


def _words(
    network: Network, launch: StoredLaunch, places: list[TensorPlace], zeros: Allocation, uops: int
) -> npt.NDArray[np.uint8]:
    """Return the words of a launch with all addresses in them, as bytes."""
    placed = launch.placed(network.config, places, zeros, LaunchAddresses(instructions=0, uops=uops))
    return np.ascontiguousarray(placed.array.astype("<u8")).view(np.uint8).reshape(-1)
