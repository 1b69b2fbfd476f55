"""A worker process: it answers, dies in one sentence, is ended in time, and is not interrupted by the terminal."""

import os
import signal
import time

import pytest

from vta.worker_process import EndedError, LateError, WorkerProcess


def test_it_answers_one_request_after_the_other_and_ends_when_it_is_told() -> None:
    worker = WorkerProcess()
    assert [worker.ask(len, "abc"), worker.ask(len, ""), worker.ask(abs, -3, seconds=60)] == [3, 0, 3]
    assert worker.exit_code is None
    worker.end()
    assert worker.exit_code == 0
    with pytest.raises(EndedError, match=r"^the process ended with exit code 0$"):
        worker.ask(len, "abc")


def test_one_that_dies_says_how() -> None:
    worker = WorkerProcess()
    with pytest.raises(EndedError, match=r"^the process ended with exit code 7$"):
        worker.ask(os._exit, 7)
    worker.end()


def test_one_that_takes_too_long_is_ended() -> None:
    worker, begin = WorkerProcess(), time.monotonic()
    with pytest.raises(LateError, match=r"^it took longer than 0.2 s$"):
        worker.ask(time.sleep, 60, seconds=0.2)
    assert time.monotonic() - begin < 30
    assert worker.exit_code == -signal.SIGKILL
    worker.end()


def test_one_that_is_at_work_is_killed_by_its_end() -> None:
    worker = WorkerProcess()
    worker.ask(len, "")
    worker._process.stdin.write(b"\x00" * 4)  # half a request
    worker.end(patience=0)
    assert worker.exit_code == -signal.SIGKILL


def test_interrupts_of_the_terminal_are_not_its_own() -> None:
    worker = WorkerProcess()
    worker.ask(len, "")
    os.kill(worker.pid, signal.SIGINT)
    assert worker.ask(len, "still there") == 11
    worker.end()
