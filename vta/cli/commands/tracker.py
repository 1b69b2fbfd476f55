"""``vta tracker``: shares out the devices of servers. Tests: tests/vta/rpc/test_tracker.py."""

import asyncio
from typing import Annotated

import typer

from vta.cli.commands.serve import (
    CertificateOption,
    KeyFileOption,
    LogOption,
    PrivateKeyOption,
    StopAfterOption,
    journal_file,
    text_of,
    until_stopped,
)
from vta.cli.reporting import reported
from vta.cli.style import say
from vta.rpc.messages.key import read_key, users_key
from vta.rpc.serving.journal import Journal
from vta.rpc.serving.metrics import serve_metrics
from vta.rpc.serving.tracker import Tracker, TrackerLimits

__all__ = ["tracker"]

DEFAULT_PORT = 9190


def tracker(
    host: Annotated[str, typer.Option("--host", help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="Port; 0 takes a free one.")] = DEFAULT_PORT,
    key_file: KeyFileOption = None,
    certificate: CertificateOption = None,
    private_key: PrivateKeyOption = None,
    lease_seconds: Annotated[float, typer.Option("--lease-seconds", min=1, help="The longest lease.")] = 3600.0,
    metrics: Annotated[
        int | None, typer.Option("--metrics", metavar="PORT", help="Counters for Prometheus, on a port of loopback.")
    ] = None,
    log: LogOption = None,
    stop_after: StopAfterOption = None,
) -> None:
    """Share out the devices of servers (`vta serve --tracker HOST:PORT`) among clients that wait for them."""
    with reported():
        key = users_key() if key_file is None else read_key(key_file)
        with journal_file(log) as file:
            made = Tracker(
                key, limits=TrackerLimits(lease_seconds=lease_seconds), journal=Journal(file, "tracker"),
                certificate=text_of(certificate), private_key=text_of(private_key),
            )  # fmt: skip
            page = None if metrics is None else serve_metrics(made.metrics, metrics)
            try:
                asyncio.run(_run(made, host, port, stop_after))
            finally:
                if page is not None:
                    page.shutdown()


async def _run(made: Tracker, host: str, port: int, seconds: float | None) -> None:
    where, taken = await made.start(host, port)
    say(f"tracking on {where}:{taken}")
    watching = asyncio.ensure_future(made.watch())
    try:
        await until_stopped(seconds)
    finally:
        watching.cancel()
        await made.stop()
