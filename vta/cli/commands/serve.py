"""``vta serve``: devices of this machine for whoever has the key.

Tests: tests/vta/rpc/test_server.py.
"""

import asyncio
import re
import signal
import sys
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from typing import Annotated, TextIO

import typer

from runtime.session import DEVICE_NAMES
from vta.cli.options import ConfigOption
from vta.cli.reporting import counted, reported
from vta.cli.runs.boards import BoardOption, SerialOption, chosen_board, config_for
from vta.cli.style import say
from vta.rpc.channel import Address, is_loopback
from vta.rpc.messages.key import Key, read_key, users_key, write_key
from vta.rpc.serving.journal import Journal
from vta.rpc.serving.limits import ServerLimits
from vta.rpc.serving.metrics import serve_metrics
from vta.rpc.serving.reporting import report_for_ever
from vta.rpc.serving.server import Server
from vta.rpc.serving.tracker import REPORT_SECONDS

__all__ = [
    "CertificateOption", "KeyFileOption", "LogOption", "PrivateKeyOption", "StopAfterOption", "address_of",
    "journal_file", "serve", "text_of", "until_stopped",
]  # fmt: skip

DEFAULT_PORT = 9091

KeyFileOption = Annotated[
    Path | None,
    typer.Option("--key-file", metavar="FILE", help="The shared key (default: $VTA_RPC_KEY_FILE, or your own)."),
]
CertificateOption = Annotated[
    Path | None, typer.Option("--certificate", metavar="FILE", help="TLS: the server's certificate (PEM).")
]
PrivateKeyOption = Annotated[
    Path | None, typer.Option("--private-key", metavar="FILE", help="TLS: the certificate's key, if not in it.")
]
LogOption = Annotated[
    Path | None, typer.Option("--log", metavar="FILE", help="Append events here, as JSON (default: stderr).")
]
StopAfterOption = Annotated[
    float | None, typer.Option("--stop-after", metavar="SECONDS", help="Stop by itself after this time.")
]


def _devices(text: str) -> list[str]:
    """Return the kinds of devices that ``sim:4,tsim`` names."""
    found = []
    for part in text.split(","):
        match = re.fullmatch(r"([a-z]+)(?::([0-9]{1,3}))?", part.strip())
        if match is None or match[1] not in DEVICE_NAMES or not 1 <= int(match[2] or 1) <= 256:
            raise typer.BadParameter(f"{part!r} is no device such as sim, sim:4 or tsim:2 ({', '.join(DEVICE_NAMES)})")
        found += [match[1]] * int(match[2] or 1)
    return found


def serve(
    devices: Annotated[
        str | None,
        typer.Option(
            "--devices", metavar="KIND[:N],..", help="Devices: sim:4,tsim:2 (default: sim; with --board, none)."
        ),
    ] = None,
    board: BoardOption = None,
    serial: SerialOption = None,
    host: Annotated[str, typer.Option("--host", help="Address to listen on; others than loopback are reached.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="Port; 0 takes a free one.")] = DEFAULT_PORT,
    config: ConfigOption = None,
    key_file: KeyFileOption = None,
    new_key: Annotated[
        Path | None, typer.Option("--new-key", metavar="FILE", help="Write a new key to a new file, and stop.")
    ] = None,
    certificate: CertificateOption = None,
    private_key: PrivateKeyOption = None,
    metrics: Annotated[
        int | None, typer.Option("--metrics", metavar="PORT", help="Counters for Prometheus, on a port of loopback.")
    ] = None,
    log: LogOption = None,
    memory: Annotated[int, typer.Option("--memory", metavar="MIB", min=64, help="Memory of a session.")] = 2048,
    files: Annotated[int, typer.Option("--files", metavar="MIB", min=1, help="Files of a session.")] = 1024,
    call_seconds: Annotated[float, typer.Option("--call-seconds", min=0.1, help="Time of one call.")] = 600.0,
    session_seconds: Annotated[float, typer.Option("--session-seconds", min=1, help="Time of a session.")] = 3600.0,
    linger_seconds: Annotated[
        float, typer.Option("--linger-seconds", min=0, help="How long a session waits for a client that was cut off.")
    ] = 10.0,
    tracker: Annotated[
        str | None, typer.Option("--tracker", metavar="HOST:PORT", help="Serve those alone whom this tracker sends.")
    ] = None,
    tracker_certificate: Annotated[
        Path | None, typer.Option("--tracker-certificate", metavar="FILE", help="TLS: what the tracker must show.")
    ] = None,
    stop_after: StopAfterOption = None,
) -> None:
    """Let others use devices of this machine: only with the key, and from this machine alone unless told otherwise."""
    with reported():
        if new_key is not None:
            write_key(new_key)
            say(f"{new_key}: a new key; give it to those who may use the server, and to nobody else")
            return
        chosen = chosen_board(board, serial, None)
        kinds = [] if devices is None and chosen is not None else _devices(devices or "sim")
        key = users_key() if key_file is None else read_key(key_file)
        place = None if tracker is None else address_of(tracker, key, text_of(tracker_certificate))
        limits = ServerLimits(
            memory=memory << 20, file_bytes=files << 20, call_seconds=call_seconds, session_seconds=session_seconds,
            linger_seconds=linger_seconds,
        )  # fmt: skip
        if chosen is not None:
            with chosen.session():
                pass  # what is in the way is told now, and not to the first client
        with journal_file(log) as file:
            server = Server(
                config_for(chosen, config, None), kinds, key, board=chosen, limits=limits,
                journal=Journal(file, "server"), certificate=text_of(certificate),
                private_key=text_of(private_key), leases_only=tracker is not None,
            )  # fmt: skip
            page = None if metrics is None else serve_metrics(server.metrics, metrics)
            try:
                asyncio.run(_run(server, host, port, place, REPORT_SECONDS, stop_after))
            finally:
                if page is not None:
                    page.shutdown()


def text_of(path: Path | None) -> str | None:
    """Return a path as text, None for none."""
    return None if path is None else str(path)


async def _run(
    server: Server, host: str, port: int, tracker: Address | None, report_seconds: float, seconds: float | None
) -> None:
    """Serve until a signal to end, or until time is up."""
    tasks: list[asyncio.Task[None]] = []
    try:
        where, taken = await server.start(host, port)
        say(f"serving {counted(len(server.pool.slots), 'device')} of {server.pool.config.bitstream} on {where}:{taken}")
        if not is_loopback(where):
            say("whoever has the key can run native code with the rights of this account", err=True)
        tasks.append(asyncio.ensure_future(server.watch()))
        if tracker is not None:
            told = "" if where in ("0.0.0.0", "::") else where  # the tracker sees where reports come from
            reports = report_for_ever(server, tracker, host=told, port=taken, seconds=report_seconds)
            tasks.append(asyncio.ensure_future(reports))
        await until_stopped(seconds)
    finally:
        for task in tasks:
            task.cancel()
        await server.stop()


async def until_stopped(seconds: float | None) -> None:
    """Wait for SIGINT or SIGTERM, for ``seconds`` at most."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await stop.wait()


def address_of(text: str, key: Key, certificate: str | None = None) -> Address:
    """Return the address that ``HOST:PORT`` names."""
    host, _, port = text.rpartition(":")
    if not host or not (port.isascii() and port.isdigit() and int(port) < 1 << 16):
        raise typer.BadParameter(f"{text!r} is no HOST:PORT")
    return Address(host.strip("[]"), int(port), key, certificate)


def journal_file(log: Path | None) -> AbstractContextManager[TextIO]:
    """Return where events go."""
    return nullcontext(sys.stderr) if log is None else open(log, "a", encoding="utf-8")
