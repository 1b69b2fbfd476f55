"""When everything happened in a launch: instructions, what each module waited for, and transfers on the memory bus.

One model for every device. With a clock, times are cycles of the launch, counted from 0; without one they are places in
the order of execution. Tests: ``tests/runtime/observe/test_timeline.py``.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import assert_never

import numpy as np
import numpy.typing as npt

from isa.bulk import decode_fields
from isa.config import VTAConfig
from isa.extents import TransferColumns, all_row_starts, by_memory
from isa.instructions import MemoryId
from isa.origin import Origin
from isa.tokens import TokenQueue
from runtime.observe.accounting import CycleAccount

__all__ = ["NEVER", "Bursts", "States", "Timeline", "TimelineHook", "client_of", "order_timeline", "timed"]

Column = npt.NDArray[np.int64]

NEVER = -1
"""The time of what did not happen: the launch failed before it."""


@dataclass(frozen=True, slots=True, eq=False)
class States:
    """What one module did: ``causes[i]`` (``work`` or what it waited for) from time ``begins[i]`` to the next one.

    The last state lasts until the launch ends.
    """

    begins: Column
    causes: tuple[str, ...]

    def durations(self, end: int) -> Column:
        """Return how long each state lasted in a launch that ended at ``end``."""
        return np.diff(self.begins, append=end)


@dataclass(frozen=True, slots=True, eq=False)
class Bursts:
    """Transfers between DRAM and a client, as columns of one length.

    ``begin`` is when the address was taken, ``end`` when the last beat came or the write was answered (``NEVER`` if it
    was not); ``address`` and ``nbytes`` say where. ``client`` indexes ``clients``; those in ``writers`` write.
    """

    begin: Column
    end: Column
    address: Column
    nbytes: Column
    client: Column
    clients: tuple[str, ...]
    writers: frozenset[str] = field(default=frozenset({"store"}))

    def __len__(self) -> int:
        return len(self.begin)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Timeline:
    """A launch on ``device``: its words (shape (n, 2)), where they came from, and the times of each instruction.

    ``issued`` is when an instruction reached its module's queue (None without a clock), ``begun`` when it started (its
    tokens popped), ``ended`` when it completed; ``NEVER`` where that did not happen. ``settled`` is when its module
    went past it (None: at ``ended``), which for resets of the accumulator is before they have completed; ``pushed``
    says which of the two sends a token. ``duration`` is the launch's length: ``cycles`` if there is a clock. ``error``
    says how it failed, if it did.
    """

    device: str
    config: VTAConfig
    array: npt.NDArray[np.uint64]
    origins: tuple[Origin | None, ...]
    duration: int
    begun: Column
    ended: Column
    issued: Column | None = None
    settled: Column | None = None
    states: Mapping[str, States] = field(default_factory=dict)
    bursts: Bursts
    account: CycleAccount | None = None
    error: str | None = None

    @property
    def cycles(self) -> int | None:
        """The cycles that the launch took; None without a clock."""
        return None if self.account is None else self.duration

    def pushed(self, queue: TokenQueue) -> Column:
        """Return when each instruction that pushes to ``queue`` does so: loads need not wait for resets."""
        return self.ended if self.settled is None or queue is not TokenQueue.COMPUTE_TO_LOAD else self.settled


TimelineHook = Callable[[Timeline], None]
"""Called at the end of each launch, also of one that fails."""


def order_timeline(
    *,
    device: str,
    config: VTAConfig,
    array: npt.NDArray[np.uint64],
    executed: Sequence[int],
    origins: Sequence[Origin | None] | None,
    error: str | None,
) -> Timeline:
    """Return the timeline of a device without a clock, which executed the instructions ``executed`` one by one."""
    begun = np.full(len(array), NEVER, np.int64)
    begun[list(executed)] = np.arange(len(executed))
    legal = np.sort(np.array(executed, np.int64))
    return Timeline(
        device=device,
        config=config,
        array=array,
        origins=tuple(origins) if origins is not None else (None,) * len(array),
        duration=len(executed),
        begun=begun,
        ended=begun,
        bursts=_transfers(array, legal, begun, config),
        error=error,
    )


@contextmanager
def timed(
    hook: TimelineHook | None,
    device: str,
    config: VTAConfig,
    array: npt.NDArray[np.uint64],
    origins: Sequence[Origin | None] | None,
) -> Iterator[list[int]]:
    """Call ``hook``, if there is one, at the end of a launch on a device without a clock.

    The device appends the places of the instructions that it executed to the list.
    """
    executed: list[int] = []
    error = None
    try:
        yield executed
    except BaseException as failure:
        error = str(failure) or type(failure).__name__  # an interrupt says nothing
        raise
    finally:
        if hook is not None:
            hook(
                order_timeline(
                    device=device, config=config, array=array, executed=executed, origins=origins, error=error
                )
            )


_CLIENT_NAMES = ("uop", "acc", "load", "store")


def client_of(memory: MemoryId) -> str:
    """Return the client of the memory bus that loads ``memory``, or stores it."""
    match memory:
        case MemoryId.UOP:
            return "uop"
        case MemoryId.ACC | MemoryId.ACC_8BIT:
            return "acc"
        case MemoryId.INP | MemoryId.WGT:
            return "load"
        case MemoryId.OUT:
            return "store"
        case _:
            assert_never(memory)


def _transfers(array: npt.NDArray[np.uint64], executed: Column, begun: Column, config: VTAConfig) -> Bursts:
    """Return a transfer for each row that the executed loads and stores moved."""
    parts = []
    tables = decode_fields(array[executed], config)
    for table in (tables[name] for name in ("LOAD", "STORE") if name in tables):
        transfers = TransferColumns.of(table.columns)
        which, element = all_row_starts(transfers)
        unit = by_memory(transfers.memory[which], config.elem_bytes)
        client = by_memory(transfers.memory[which], lambda memory: _CLIENT_NAMES.index(client_of(memory)))
        time = begun[executed[table.index[which]]]
        parts.append(np.stack([time, element * unit, transfers.x_size[which] * unit, client]))
    moved = np.concatenate(parts, axis=1) if parts else np.zeros((4, 0), np.int64)
    time, address, nbytes, number = moved[:, np.argsort(moved[0], kind="stable")]
    return Bursts(begin=time, end=time, address=address, nbytes=nbytes, client=number, clients=_CLIENT_NAMES)
