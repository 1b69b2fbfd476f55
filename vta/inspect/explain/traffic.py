"""Which instructions the bursts of a recorded launch are for, and how late the memory answered.

Tests: tests/vta/inspect/explain/test_memory_bus.py.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from isa.encoding import INSTRUCTION_BYTES
from isa.extents import moved_elements, row_starts
from isa.instructions import Load, Store
from runtime.observe.timeline import client_of
from vta.inspect.trace import Recorded

__all__ = ["Transfer", "latency_of", "transfers_of"]


@dataclass(frozen=True, slots=True)
class Transfer:
    """A burst of ``client``: for the instruction ``owner``, or instructions that are fetched, ``brings[0]`` to
    ``brings[1]`` without that; ``asked`` and ``ended`` are the times that were measured, ``nbytes`` what it moved.

    It is asked for after the completion of ``held`` (-1: of none) and ``wait`` cycles longer than anything else
    explains; its beats take ``stall`` cycles longer.
    """

    client: str
    owner: int
    brings: tuple[int, int]
    nbytes: int
    asked: int
    ended: int
    held: int = -1
    wait: int = 0
    stall: int = 0

    @property
    def writes(self) -> bool:
        """Whether it goes to memory."""
        return self.client == "store"


def latency_of(launch: Recorded, beat_bytes: int) -> int:
    """Return the latency of the memory: what the fastest of all reads waited for its first beat."""
    bursts = launch.timeline.bursts
    reads = bursts.client != bursts.clients.index("store")
    waits = bursts.end[reads] - bursts.begin[reads] - bursts.nbytes[reads] // beat_bytes
    return int(waits.min(initial=1 << 30)) + 1 if reads.any() else 1


def transfers_of(launch: Recorded, beat_bytes: int) -> tuple[Transfer, ...]:
    """Return the bursts of a launch in the order of their addresses.

    Each client moves what its instructions need in order, a row after the other, whole beats.
    """
    owed = {client: _Owed(launch, client, beat_bytes) for client in ("uop", "acc", "load", "store")}
    bursts, fetched, found = launch.timeline.bursts, 0, []
    columns = (bursts.client, bursts.begin, bursts.end, bursts.nbytes)
    for number, asked, ended, nbytes in zip(*(column.tolist() for column in columns), strict=True):
        client, owner, brings = bursts.clients[number], -1, (0, 0)
        if client == "fetch":
            last = min(fetched + nbytes, len(launch) * INSTRUCTION_BYTES)
            brings = (-(-(fetched + 1) // INSTRUCTION_BYTES) - 1, last // INSTRUCTION_BYTES)
            fetched = last
        else:
            owner = owed[client].take(nbytes // beat_bytes)
        found.append(Transfer(client, owner, brings, nbytes, asked, ended))
    return tuple(found)


class _Owed:
    """The beats that the instructions of a client need, in order."""

    def __init__(self, launch: Recorded, client: str, beat_bytes: int) -> None:
        self._left = deque(_beats_of(launch, client, beat_bytes))

    def take(self, beats: int) -> int:
        """Return whose beats come next, and count them."""
        owner, left = self._left.popleft()
        if left > beats:
            self._left.appendleft((owner, left - beats))
        return owner


def _beats_of(launch: Recorded, client: str, beat_bytes: int) -> Iterator[tuple[int, int]]:
    """Return each instruction of a client that moves anything, and its beats."""
    for index, instruction in enumerate(launch.instructions):
        if not isinstance(instruction, Load | Store) or not moved_elements(instruction):
            continue
        if client_of(instruction.memory) == client:
            size = launch.config.elem_bytes(instruction.memory)
            row = instruction.x_size * size
            yield index, sum(-(-(start * size % beat_bytes + row) // beat_bytes) for start in row_starts(instruction))
