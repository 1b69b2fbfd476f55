"""What being remote costs: a call, an upload, memory over minutes of load; on loopback, to a server in another process.

    python -m bench.remote
    python -m bench.remote --seconds 120 --devices 4 --clients 8

``call`` is a small launch on ``sim``, remote and local in turn, and the median of the differences; ``upload`` and
``download`` are 100 MB, the best of three, with the processor time of both processes (on a busy machine the wall tells
of its neighbours). ``load`` lets clients open sessions, upload and run modules and close, for ``--seconds``; every
number is checked, and the memory of the server and its devices is that after a tenth of the time and at the end.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

import vta
from bench.threads import add_seven
from runtime.session import Session
from vta.rpc.remote import RemoteSession, connect

CALLS = 300
UPLOAD = 100_000_000


@contextmanager
def server(folder: Path, devices: int, seconds: float) -> Iterator[tuple[int, int]]:
    """Run ``vta serve`` for ``seconds`` at most; yield its process and its port."""
    log = folder / "log"
    command = [
        sys.executable, "-m", "vta.cli", "serve", "--devices", f"sim:{devices}", "--port", "0", "--key-file",
        str(folder / "key"), "--log", str(log), "--stop-after", str(seconds), "--linger-seconds", "2",
    ]  # fmt: skip
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        while not (log.exists() and log.read_text().strip()):
            time.sleep(0.05)
        yield process.pid, int(json.loads(log.read_text().splitlines()[0])["port"])
    finally:
        process.terminate()
        process.wait()


def call_cost(session: RemoteSession, folder: Path, pid: int) -> tuple[float, float, float]:
    """Return the seconds of a small launch, remote and local (medians of calls that took turns), and those computed.

    What is computed for a remote call, by all processes together, does not depend on how busy the machine is.
    """
    module = add_seven()
    module.save(folder / "m.o")
    session.upload(folder / "m.o")
    there = session.load_module("m.o")
    numbers = np.arange(64 * 16, dtype=np.int32).reshape(64, 1, 16)
    local = Session(vta.get_env().config, "sim")
    pairs = [
        (vta.nd.array(numbers, place), vta.nd.empty(numbers.shape, "int8", place))
        for place in (session.ext_dev(0), vta.nd.Device(vta.nd.EXT_DEV, 0, local))
    ]
    times: list[list[float]] = [[], []]
    functions: tuple[Callable[..., object], ...] = (there, module)
    for _ in range(CALLS):
        for function, arguments, spent in zip(functions, pairs, times, strict=True):
            begin = time.perf_counter()
            function(*arguments)
            spent.append(time.perf_counter() - begin)
    before = busy_seconds(pid)
    for _ in range(CALLS):
        there(*pairs[0])
    computed = (busy_seconds(pid) - before) / CALLS
    for _, result in pairs:
        np.testing.assert_array_equal(result.numpy(), (numbers + 7).astype(np.int8))
    return statistics.median(times[0]), statistics.median(times[1]), computed


def transfer(session: RemoteSession, pid: int) -> None:
    """Print the speed of uploads and downloads."""
    data = np.random.default_rng(1).bytes(UPLOAD)
    for name, action in (
        ("upload", lambda: session.upload(data, "large")),
        ("download", lambda: session.download("large")),
    ):
        best, cpu = float("inf"), 0.0
        for _ in range(3):
            before, begin = busy_seconds(pid), time.perf_counter()
            action()
            wall = time.perf_counter() - begin
            if wall < best:
                best, cpu = wall, busy_seconds(pid) - before
        print(
            f"{name:9} {UPLOAD / best / 1e6:.0f} MB/s ({best:.2f} s of which both processes computed {cpu:.2f} s: "
            f"{UPLOAD / cpu / 1e6:.0f} MB/s of one processor)"
        )
    if bytes(session.download("large")) != data:
        raise AssertionError("other bytes came back")


def busy_seconds(pid: int) -> float:
    """Return the processor time of this process, of another one, and of those that it started."""
    mine = resource.getrusage(resource.RUSAGE_SELF)
    ticks = 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(path.parent.name) == pid or int(fields[1]) == pid:
            ticks += int(fields[11]) + int(fields[12])
    return mine.ru_utime + mine.ru_stime + ticks / os.sysconf("SC_CLK_TCK")


def memory_of(pid: int) -> int:
    """Return the bytes that a process and those that it started have in memory."""
    total = 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(path.parent.name) == pid or int(fields[1]) == pid:
            total += int(fields[21]) * os.sysconf("SC_PAGE_SIZE")
    return total


def load(port: int, pid: int, key_file: Path, folder: Path, *, clients: int, seconds: float) -> bool:
    """Let clients come and go; print what they did and what memory it took; return whether all was right."""
    add_seven().save(folder / "m.o")
    errors: list[str] = []
    sessions = [0] * clients
    end = time.monotonic() + seconds

    def client(number: int) -> None:
        rng = np.random.default_rng(number)
        try:
            while time.monotonic() < end and not errors:
                with connect("127.0.0.1", port, key_file=key_file) as session:
                    session.upload(folder / "m.o")
                    module = session.load_module("m.o")
                    for _ in range(20):
                        numbers = rng.integers(-(1 << 20), 1 << 20, (64, 1, 16)).astype(np.int32)
                        source = vta.nd.array(numbers, session.ext_dev(0))
                        target = vta.nd.empty(numbers.shape, "int8", session.ext_dev(0))
                        module(source, target)
                        if not np.array_equal(target.numpy(), (numbers + 7).astype(np.int8)):
                            raise AssertionError("wrong numbers")
                sessions[number] += 1
        except BaseException as error:
            errors.append(f"client {number}: {type(error).__name__}: {error}")

    threads = [threading.Thread(target=client, args=(number,)) for number in range(clients)]
    for thread in threads:
        thread.start()
    samples: list[int] = []
    own: list[int] = []
    while time.monotonic() < end and not errors:
        time.sleep(min(1.0, seconds / 20))
        samples.append(memory_of(pid))
        own.append(int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE"))
    for thread in threads:
        thread.join()
    tenth = max(1, len(samples) // 10)
    print(
        f"load      {sum(sessions)} sessions, {clients} clients, {seconds:g} s: {'; '.join(errors) or 'all right'}; "
        f"the server alone has {max(own[tenth : 2 * tenth]) >> 20} MiB after a tenth of the time and "
        f"{max(own[-tenth:]) >> 20} MiB at the end, with its devices {max(samples[tenth : 2 * tenth]) >> 20} and "
        f"{max(samples[-tenth:]) >> 20}"
    )
    return not errors


def main() -> int:
    """Measure, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=20, help="of load")
    parser.add_argument("--devices", type=int, default=2)
    parser.add_argument("--clients", type=int, default=4)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "key").write_text(os.urandom(32).hex())
        (folder / "key").chmod(0o600)
        with server(folder, options.devices, options.seconds + 300) as (pid, port):
            with connect("127.0.0.1", port, key_file=folder / "key") as session:
                there, here, computed = call_cost(session, folder, pid)
                more = 1e3 * (there - here)
                print(
                    f"call      {1e6 * there:.0f} us remote, {1e6 * here:.0f} us local: {more:.2f} ms more; "
                    f"{1e3 * computed:.2f} ms computed for a remote one"
                )
                transfer(session, pid)
            right = load(port, pid, folder / "key", folder, clients=options.clients, seconds=options.seconds)
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
