"""What is noted of a launch on the simulated core: instructions, what each module waited for, bursts on the bus.

Native logs of the simulation, read once at the end; they cost next to nothing while they are off. Tests:
``tests/runtime/observe/test_timeline.py``, ``tests/runtime/devices/tsim/test_device.py``.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from isa.instructions import Module
from runtime.observe.timeline import NEVER, Bursts, States

if TYPE_CHECKING:
    from hw.sim.logs.events import EventLog
    from hw.sim.logs.samples import SampleLog

__all__ = ["MODULES", "Notes", "RtlNotes"]

MODULES = ("fetch", "load", "compute", "store")
"""The modules whose cycles are accounted for."""

_STARTS = tuple(f"launch.{module.name.lower()}_start" for module in Module)
_ENDS = ("load.completes", "compute.window.retires", "store.completed")
_SETTLES = "compute.window.settles"
"""Signals of the core that are high where an instruction starts or completes; each module does its own in order.

``_SETTLES`` is high where the compute module goes past one, which may be a reset that is still in progress."""

_FETCHED = "fetch.dispatched"
_CAUSES = tuple(f"{name}_cause" for name in MODULES)
_READ_ADDRESS = ("axi__araddr", "axi__arlen")
_WRITE_ADDRESS = ("axi__awaddr", "axi__awlen")
_READ_CLIENT = "engine.error_reader"  # whose beat is on the bus

Column = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Notes:
    """Times of a launch, counted from its first cycle.

    ``starts`` and ``ends`` of the instructions of each module, in its order, and when the compute module went past its
    own (``settles``); ``issued`` when each instruction of the launch was put into a queue, as far as that happened.
    """

    starts: Mapping[Module, Column]
    ends: Mapping[Module, Column]
    settles: Column
    issued: Column
    states: Mapping[str, States]
    bursts: Bursts


class RtlNotes:
    """The logs; the simulation has to be made with ``hooks``.

    Parameters
    ----------
    causes : tuple of str
        What a value of a ``cause`` signal means.
    clients : tuple of str
        The readers of the memory engine, by number.
    beat_bytes : int
        Bytes of a beat on the bus.
    """

    def __init__(self, *, causes: tuple[str, ...], clients: tuple[str, ...], beat_bytes: int) -> None:
        from hw.sim.logs.events import EventLog
        from hw.sim.logs.samples import SampleLog

        self._causes = causes
        self._clients = (*clients, "store")
        self._beat_bytes = beat_bytes
        self._instructions = EventLog([*_STARTS, *_ENDS, _SETTLES])
        self._fetched = SampleLog([_FETCHED])
        self._states = {name: SampleLog([signal]) for name, signal in zip(MODULES, _CAUSES, strict=True)}
        self._reads = SampleLog(_READ_ADDRESS, when=["axi__arvalid", "axi__arready"])
        self._read_ends = SampleLog([_READ_CLIENT], when=["axi__rvalid", "axi__rready", "axi__rlast"])
        self._writes = SampleLog(_WRITE_ADDRESS, when=["axi__awvalid", "axi__awready"])
        self._write_ends = SampleLog(["axi__bready"], when=["axi__bvalid", "axi__bready"])

    @property
    def hooks(self) -> "tuple[EventLog | SampleLog, ...]":
        """What has to be part of the simulation."""
        buses = (self._reads, self._read_ends, self._writes, self._write_ends)
        return (self._instructions, self._fetched, *self._states.values(), *buses)

    def start(self) -> None:
        """Take notes from the next cycle on; what an earlier launch left is forgotten."""
        for log in self.hooks:
            log.clear()
            log.enabled = True

    def stop(self) -> None:
        """Take no more notes."""
        for log in self.hooks:
            log.enabled = False

    def read(self, begin: int, cycles: int) -> Notes:
        """Return the notes of a launch of ``cycles`` whose first one was ``begin``, counted from power-on."""
        cycle, bits = self._instructions.take_bits()
        times = [
            cycle[np.flatnonzero(bits & np.uint64(1 << number))].astype(np.int64) - begin
            for number in range(2 * len(Module) + 1)
        ]
        fetched = self._fetched.take()
        dispatched = np.diff(fetched.values[_FETCHED].astype(np.int64), prepend=0)
        return Notes(
            starts=dict(zip(Module, times[: len(Module)], strict=True)),
            ends=dict(zip(Module, times[len(Module) : -1], strict=True)),
            settles=times[-1],
            # The counter shows a dispatch in the cycle after it.
            issued=np.repeat(fetched.cycles.astype(np.int64) - begin - 1, np.maximum(dispatched, 0)),
            states={name: self._states_of(name, begin, cycles) for name in MODULES},
            bursts=self._bursts(begin),
        )

    def _states_of(self, name: str, begin: int, cycles: int) -> States:
        samples = self._states[name].take()
        [values] = samples.values.values()
        begins = samples.cycles.astype(np.int64) - begin
        within = begins < cycles  # after the end, queues are emptied and nothing is accounted for
        return States(begins[within], tuple(self._causes[value] for value in values[within].tolist()))

    def _bursts(self, begin: int) -> Bursts:
        """Return the bursts: addresses and ends of one direction come in the same order."""
        reads, read_ends = self._reads.take(), self._read_ends.take()
        writes, write_ends = self._writes.take(), self._write_ends.take()
        parts = []
        for addresses, (address, length), ends, clients in (
            (reads, _READ_ADDRESS, read_ends.cycles, read_ends.values[_READ_CLIENT]),
            (writes, _WRITE_ADDRESS, write_ends.cycles, np.full(len(write_ends.cycles), len(self._clients) - 1)),
        ):
            count = len(ends)
            if count != len(addresses.cycles):  # a launch that failed: what has not ended has no known client
                ends = np.append(ends.astype(np.int64), np.full(len(addresses.cycles) - count, begin + NEVER))
                clients = np.append(clients.astype(np.int64), np.full(len(addresses.cycles) - count, self._unknown))
            nbytes = (addresses.values[length].astype(np.int64) + 1) * self._beat_bytes
            columns = (addresses.cycles, ends, addresses.values[address], nbytes, clients)
            parts.append(np.stack([column.astype(np.int64) for column in columns]))
        rows = np.concatenate(parts, axis=1)
        started, ended, where, nbytes, client = rows[:, np.argsort(rows[0], kind="stable")]
        return Bursts(started - begin, ended - begin, where, nbytes, client, (*self._clients, "unknown"))

    @property
    def _unknown(self) -> int:
        return len(self._clients)
