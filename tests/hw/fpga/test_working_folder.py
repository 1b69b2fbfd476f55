"""Whoever ends the work (a signal, an error), no folder and no tool is left."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from hw.fpga.working_folder import tidy_ending, working_folder

ROOT = Path(__file__).resolve().parents[3]
WORK = """
import signal, subprocess, sys
from hw.fpga.working_folder import working_folder

TOOL = "import os, pathlib, time; pathlib.Path('../pid.new').write_text(str(os.getpid()));" \\
       "os.rename('../pid.new', '../pid'); time.sleep(60)"
with working_folder() as folder:
    (folder / "netlist").touch()
    subprocess.run([sys.executable, "-c", TOOL], cwd=folder)
"""


def started(program: str, folder: Path, **options: object) -> subprocess.Popen[bytes]:
    """Return a process that runs ``program`` in ``folder``, once its tool runs."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen([sys.executable, "-c", program], cwd=folder, env=environment, **options)  # type: ignore[call-overload]  # keywords
    until = time.monotonic() + 60
    while not (folder / "pid").exists():
        assert process.poll() is None
        assert time.monotonic() < until
        time.sleep(0.05)
    assert isinstance(process, subprocess.Popen)
    return process


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_to_end_ends_the_tool_and_takes_the_folder(number: signal.Signals, tmp_path: Path) -> None:
    process = started(f"import signal\nsignal.signal({number:d}, signal.SIG_DFL)\n{WORK}", tmp_path)  # nohup ignores it
    tool = int((tmp_path / "pid").read_text())
    assert is_running(tool)
    process.send_signal(number)
    assert process.wait(timeout=30) == 128 + number
    assert [path.name for path in tmp_path.iterdir()] == ["pid"]
    assert not is_running(tool)


def test_a_signal_that_is_ignored_stays_so(tmp_path: Path) -> None:
    process = started(f"import signal\nsignal.signal(signal.SIGHUP, signal.SIG_IGN)\n{WORK}", tmp_path)
    process.send_signal(signal.SIGHUP)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(timeout=0.5)
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=30) == 128 + signal.SIGTERM


def test_being_told_twice_does_not_break_off_the_tidying() -> None:
    tidied = []

    def work() -> None:
        with tidy_ending():
            try:
                os.kill(os.getpid(), signal.SIGTERM)
                time.sleep(10)
            finally:
                os.kill(os.getpid(), signal.SIGTERM)
                tidied.append("all of it")

    with pytest.raises(SystemExit) as caught:
        work()
    assert caught.value.code == 128 + signal.SIGTERM
    assert tidied == ["all of it"]
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_inside_of_another_one_nothing_changes_and_neither_in_a_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found = []

    def work() -> None:
        with working_folder() as folder:
            found.append((folder.is_dir(), signal.getsignal(signal.SIGTERM)))

    with tidy_ending():
        handler = signal.getsignal(signal.SIGTERM)
        assert handler is not signal.SIG_DFL
        work()
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        assert signal.getsignal(signal.SIGTERM) is handler
    assert found == [(True, handler)] * 2
    assert list(tmp_path.iterdir()) == []
