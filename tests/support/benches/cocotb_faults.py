"""A memory of cocotbext-axi whose answers are errors where they should be, and which notes what it was asked for."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from cocotbext.axi import AxiRam, AxiResp

__all__ = ["Burst", "FaultyMemory", "good"]


@dataclass(frozen=True, slots=True)
class Burst:
    """What was asked for with one address."""

    address: int
    beats: int


def good(_burst: Burst, _beat: int) -> AxiResp:
    """Answer that all is well."""
    return AxiResp.OKAY


class FaultyMemory:
    """Decides what each beat of a read (``read``) and each response to a write (``write``, with beat 0) says.

    ``reads`` and ``writes`` are the bursts of which something was answered, in order.
    """

    def __init__(self, memory: AxiRam) -> None:
        self.read: Callable[[Burst, int], AxiResp] = good
        self.write: Callable[[Burst, int], AxiResp] = good
        self.reads: list[Burst] = []
        self.writes: list[Burst] = []
        self._reading = (Burst(0, 0), 0)
        self._hear(memory.read_if.ar_channel, "ar", self._read_begins)
        self._change(memory.read_if.r_channel, self._read_beat)
        self._hear(memory.write_if.aw_channel, "aw", self._write_begins)
        self._change(memory.write_if.b_channel, self._write_ends)

    def forget(self) -> None:
        """Answer well from now on, and forget what was asked for."""
        self.read = self.write = good
        self.reads.clear()
        self.writes.clear()

    def _read_begins(self, burst: Burst) -> None:
        self.reads.append(burst)
        self._reading = (burst, 0)

    def _read_beat(self, transfer: Any) -> None:
        burst, beat = self._reading
        transfer.rresp = self.read(burst, beat)
        self._reading = (burst, beat + 1)

    def _write_begins(self, burst: Burst) -> None:
        self.writes.append(burst)

    def _write_ends(self, transfer: Any) -> None:
        transfer.bresp = self.write(self.writes[-1], 0)

    @staticmethod
    def _hear(channel: Any, prefix: str, tell: Callable[[Burst], None]) -> None:
        """Tell of each address that the memory takes up; it takes them one after the other."""
        receive = channel.recv

        async def heard() -> Any:
            transfer = await receive()
            tell(Burst(int(getattr(transfer, f"{prefix}addr")), int(getattr(transfer, f"{prefix}len")) + 1))
            return transfer

        channel.recv = heard

    @staticmethod
    def _change(channel: Any, change: Callable[[Any], None]) -> None:
        """Let ``change`` see each transfer before it is sent."""
        send = channel.send

        async def changed(transfer: Any) -> None:
            change(transfer)
            await send(transfer)

        channel.send = changed
