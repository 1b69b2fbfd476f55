"""Servers for tests: in a thread of this process, or in a process of their own that can be killed.

All listen on loopback and end by themselves.
"""

import asyncio
import io
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from isa.config import VTAConfig
from vta.rpc.messages.key import Key
from vta.rpc.serving.journal import Journal
from vta.rpc.serving.limits import ServerLimits
from vta.rpc.serving.server import Server

KEY = Key(bytes(range(32)))
STOP_AFTER = 600


@dataclass
class Running:
    """A server in a thread."""

    server: Server
    port: int
    loop: asyncio.AbstractEventLoop
    journal: io.StringIO

    def events(self) -> list[dict[str, object]]:
        """Return what it noted."""
        return [json.loads(line) for line in self.journal.getvalue().splitlines()]


@contextmanager
def running_server(
    config: VTAConfig | None = None,
    targets: Sequence[str] = ("sim",),
    *,
    limits: ServerLimits | None = None,
    **more: Any,
) -> Iterator[Running]:
    """Run a server in a thread."""
    journal = io.StringIO()
    ready = threading.Event()
    found: list[Running] = []
    failed: list[BaseException] = []
    stop: list[asyncio.Event] = []

    async def serve() -> None:
        server = Server(
            config or VTAConfig(), list(targets), KEY, limits=limits, journal=Journal(journal, "server"), **more
        )
        stop.append(asyncio.Event())
        watching = asyncio.ensure_future(server.watch())
        try:
            _, port = await server.start("127.0.0.1", 0)
            found.append(Running(server, port, asyncio.get_running_loop(), journal))
            ready.set()
            async with asyncio.timeout(STOP_AFTER):
                await stop[0].wait()
        finally:
            watching.cancel()
            await server.stop()

    def run() -> None:
        try:
            asyncio.run(serve())
        except BaseException as error:
            failed.append(error)
            ready.set()

    thread = threading.Thread(target=run)
    thread.start()
    ready.wait()
    if failed:
        raise failed[0]
    try:
        yield found[0]
    finally:
        found[0].loop.call_soon_threadsafe(stop[0].set)
        thread.join()
    if failed:
        raise failed[0]


@dataclass
class Process:
    """A command of ``vta`` that listens, in a process of its own."""

    process: subprocess.Popen[str]
    port: int

    def kill(self) -> None:
        """End it as a power cut would."""
        self.process.kill()
        self.process.wait()

    def terminate(self) -> int:
        """Ask it to end; return its exit status."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=STOP_AFTER)


@contextmanager
def process_of(folder: Path, *words: str, port: int = 0) -> Iterator[Process]:
    """Run ``vta WORDS --port ...`` with the tests' key until the end of the context."""
    key_file = folder / "key"
    if not key_file.exists():
        key_file.write_text(KEY.hex())
        key_file.chmod(0o600)
    log = folder / f"log{len(list(folder.glob('log*')))}"
    command = [
        sys.executable, "-m", "vta.cli", *words, "--port", str(port), "--key-file", str(key_file),
        "--log", str(log), "--stop-after", str(STOP_AFTER),
    ]  # fmt: skip
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "NO_COLOR": "1"})
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line, "the command ended at once"
        yield Process(process, int(line.rstrip().rpartition(":")[2]))
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()
