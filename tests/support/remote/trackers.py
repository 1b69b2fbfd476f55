"""Trackers for tests, in a thread of this process, and servers that report to them; all on loopback."""

import asyncio
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.support.configs import CONFIGS
from tests.support.remote.servers import KEY, STOP_AFTER, Running, running_server
from vta.rpc.channel import Address
from vta.rpc.serving.reporting import report_for_ever
from vta.rpc.serving.tracker import Tracker, TrackerLimits
from vta.rpc.tracker_client import TrackerSession

QUICK = 0.1
"""Seconds between reports."""


@contextmanager
def running_tracker(
    limits: TrackerLimits | None = None, *, certificate: str | None = None, private_key: str | None = None
) -> Iterator[tuple[Tracker, TrackerSession]]:
    """Run a tracker in a thread, and return it with its client."""
    tracker = Tracker(KEY, limits=limits, certificate=certificate, private_key=private_key)
    ready, loops, found = threading.Event(), [], []
    stop: list[asyncio.Event] = []

    async def run() -> None:
        stop.append(asyncio.Event())
        loops.append(asyncio.get_running_loop())
        _, taken = await tracker.start("127.0.0.1", 0)
        tracker._ready = time.monotonic() + 3 * QUICK
        watching = asyncio.ensure_future(tracker.watch())
        found.append(taken)
        ready.set()
        try:
            async with asyncio.timeout(STOP_AFTER):
                await stop[0].wait()
        finally:
            watching.cancel()
            await tracker.stop()

    thread = threading.Thread(target=asyncio.run, args=(run(),))
    thread.start()
    ready.wait()
    try:
        yield tracker, TrackerSession(Address("127.0.0.1", found[0], KEY, certificate), certificate)
    finally:
        loops[0].call_soon_threadsafe(stop[0].set)
        thread.join()


@contextmanager
def tracked_server(
    client: TrackerSession, config: str = "default", targets: tuple[str, ...] = ("reference",), **more: Any
) -> Iterator[Running]:
    """Run a server that reports to a tracker."""
    with running_server(CONFIGS[config], targets, leases_only=True, **more) as server:
        reports = report_for_ever(server.server, client.address, host="127.0.0.1", port=server.port, seconds=QUICK)
        task = asyncio.run_coroutine_threadsafe(reports, server.loop)
        try:
            yield server
        finally:
            task.cancel()
