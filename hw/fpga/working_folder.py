"""A folder for the tools of FPGAs, and an end of the work that leaves nothing behind, whoever asks for it.

Tests: ``tests/hw/fpga/test_working_folder.py``.
"""

import signal
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["tidy_ending", "working_folder"]


@contextmanager
def working_folder() -> Iterator[Path]:
    """Yield a new folder that is gone afterwards, also where the process is asked to end, as ``tidy_ending`` has it.

    It is below the working directory, since nextpnr as a WebAssembly module does not see every folder.
    """
    with tidy_ending(), tempfile.TemporaryDirectory(dir=".", prefix=".vta-fpga-") as name:
        yield Path(name)


@contextmanager
def tidy_ending() -> Iterator[None]:
    """Let SIGTERM and SIGHUP raise ``SystemExit`` inside, as Ctrl-C raises an exception: tools that run are ended.

    Nothing changes in other threads than the first one, which alone is told of signals, nor for a signal that somebody
    handles or ignores already (``nohup``).
    """
    changed = []
    if threading.current_thread() is threading.main_thread():
        wanted = {signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)}  # Windows has one of them
        changed = [number for number in wanted if signal.getsignal(number) is signal.SIG_DFL]

    def end(number: int, _: object) -> None:
        for each in changed:
            signal.signal(each, signal.SIG_IGN)  # being told twice must not break off the tidying
        raise SystemExit(128 + number)

    for number in changed:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number in changed:
            signal.signal(number, signal.SIG_DFL)
