"""A server's reports to its tracker: what it has, and which leases are in use. Tests: tests/vta/rpc/test_tracker.py."""

import asyncio
import time
from collections import Counter
from contextlib import suppress

from isa.errors import VTAError
from vta.rpc.channel import Address, Channel
from vta.rpc.errors import RpcError
from vta.rpc.messages.fields import Fields
from vta.rpc.messages.wire import body_of
from vta.rpc.serving.server import Server

__all__ = ["report_for_ever"]

_ANSWER_SECONDS = 5.0


class _Reporter:
    """The connection to the tracker, made again where need be."""

    def __init__(self, tracker: Address) -> None:
        self._tracker = tracker
        self._channel: Channel | None = None
        self._ended = False

    def tell(self, body: bytes) -> float:
        """Send a report and return the tracker's time when it arrived; raises what is in the way."""
        try:
            if self._channel is None:
                self._channel = Channel(self._tracker)
                self._channel.wait_seconds(_ANSWER_SECONDS)
            self._channel.send(body)
            answer = Fields.of(self._channel.receive())
            if answer.has("error"):
                raise RpcError(f"the tracker refuses the report: {answer.text('text')}")
            if self._ended:
                self.close()
            return answer.real("now", high=1e12)
        except BaseException:
            self.close()
            raise

    def end(self) -> None:
        """End the connection, and the one that is just being made."""
        self._ended = True
        self.close()

    def close(self) -> None:
        """End the connection."""
        if self._channel is not None:
            self._channel.close()
            self._channel = None


async def report_for_ever(server: Server, tracker: Address, *, host: str, port: int, seconds: float) -> None:
    """Report every ``seconds``, and as soon as a session begins or ends."""
    reporter = _Reporter(tracker)
    told = ""
    while True:
        server.changed.clear()
        telling = asyncio.ensure_future(asyncio.to_thread(reporter.tell, _report(server, host, port)))
        try:
            server.tracker_ahead = await asyncio.shield(telling) - time.time()
            told = ""
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await server.changed.wait()
        except asyncio.CancelledError:
            try:
                await asyncio.wait([telling])
            finally:
                reporter.end()
            raise
        except (VTAError, OSError) as error:
            if str(error) != told:
                told = str(error)
                server.journal.note("tracker lost", reason=told)
            await asyncio.sleep(seconds)


def _report(server: Server, host: str, port: int) -> bytes:
    config, slots = server.pool.config, server.pool.slots
    return body_of(
        {
            "op": "report", "server": server.name, "host": host, "port": port, "digest": config.digest,
            "bitstream": config.bitstream, "targets": [slot.target for slot in slots],
            "busy": dict(Counter(slot.target for slot in slots if slot.busy)),
            "leases": [session.lease for session in server.sessions.values() if session.lease],
        }
    )  # fmt: skip
