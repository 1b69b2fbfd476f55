"""A server's devices: a process for each, made ahead, and whoever waits for one served in order.

Tests: tests/vta/rpc/test_server.py.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass

from isa.config import VTAConfig
from runtime.drivers.built_board import BuiltBoard
from vta.rpc.errors import RpcError
from vta.rpc.serving.device_link import DeviceLink
from vta.rpc.serving.limits import ServerLimits
from vta.rpc.serving.listener import first_of
from vta.rpc.serving.session_maker import BOARD

__all__ = ["DevicePool", "Slot"]


@dataclass(slots=True, eq=False)
class Slot:
    """One device of a server: its kind, and the process that stands for it."""

    target: str
    link: DeviceLink | None = None
    busy: bool = False


@dataclass(slots=True, eq=False)
class _Waiter:
    target: str
    place: asyncio.Future[Slot]


class DevicePool:
    """Devices of the kinds ``targets``, all of one configuration; ``board`` is the one of the kind ``BOARD``."""

    def __init__(
        self, config: VTAConfig, targets: list[str], limits: ServerLimits, board: BuiltBoard | None = None
    ) -> None:
        self.config = config
        self._board = board
        self.slots = [Slot(target) for target in targets]
        self._limits = limits
        self._waiters: deque[_Waiter] = deque()

    @property
    def free(self) -> int:
        """Devices that nobody has."""
        return sum(not slot.busy for slot in self.slots)

    @property
    def waiting(self) -> int:
        """Clients that wait for one."""
        return len(self._waiters)

    def start(self) -> None:
        """Start a process for every device that has none."""
        for slot in self.slots:
            self.link_of(slot)

    def link_of(self, slot: Slot) -> DeviceLink:
        """Return the process of a device, started if there is none; raises ``RpcError`` if it cannot be started."""
        if slot.link is None:
            try:
                board = self._board if slot.target == BOARD else None
                slot.link = DeviceLink(self._limits.memory, self._limits.file_bytes, board)
            except OSError as error:
                raise RpcError(f"no process for the device can be started: {error.strerror or error}") from None
        return slot.link

    async def take(self, target: str, leaving: Callable[[], Coroutine[None, None, None]]) -> Slot:
        """Return a device of a kind (any kind for ""), after those who came before.

        Raises ``RpcError`` if there is none of the kind or too many wait, ``LostError`` once ``leaving()`` has ended.
        """
        kinds = sorted({slot.target for slot in self.slots})
        if target and target not in kinds:
            raise RpcError(f"the server has no device {target!r}; it has {', '.join(kinds)}")
        for slot in self.slots:
            if not slot.busy and target in ("", slot.target):
                slot.busy = True
                return slot
        if len(self._waiters) >= self._limits.waiting:
            raise RpcError(f"all {len(self.slots)} devices are busy and {len(self._waiters)} clients wait; try later")
        waiter = _Waiter(target, asyncio.get_running_loop().create_future())
        self._waiters.append(waiter)
        try:
            await first_of(waiter.place, leaving())
            return waiter.place.result()
        except BaseException:
            if waiter.place.done() and not waiter.place.cancelled():
                self.give(waiter.place.result())
            raise
        finally:
            if waiter in self._waiters:
                self._waiters.remove(waiter)

    def give(self, slot: Slot) -> None:
        """Take a device back; the first who waits for its kind gets it. A process that was used up is replaced."""
        if slot.link is not None and slot.link.used:
            slot.link.end()
            slot.link = None
        with suppress(RpcError):  # for now: who takes the device next starts its process, or is told
            self.link_of(slot)
        slot.busy = False
        for waiter in self._waiters:
            if waiter.target in ("", slot.target) and not waiter.place.done():
                slot.busy = True
                waiter.place.set_result(slot)
                self._waiters.remove(waiter)
                return

    def close(self) -> None:
        """End all processes."""
        for waiter in self._waiters:
            waiter.place.cancel()
        for slot in self.slots:
            if slot.link is not None:
                slot.link.end()
                slot.link = None
