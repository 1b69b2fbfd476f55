"""The pool of threads: every part once, the first failure, one loop at a time, forks, the process's end, how many."""

import ctypes
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator

import pytest

from runtime.native import thread_pool
from runtime.native.target import NativeError
from runtime.native.thread_pool import MOST_THREADS, PARALLEL_FOR_SYMBOL, num_threads, set_threads, symbols

BODY = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
CALL = ctypes.CFUNCTYPE(ctypes.c_int32, BODY, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)

Part = Callable[[int, int], int]


@pytest.fixture(autouse=True)
def _as_many_as_before() -> Iterator[None]:
    before = num_threads()
    yield
    set_threads(before)


def parallel_for(part: Part, begin: int, extent: int) -> int:
    """Let the pool call ``part(from, to)``, which is Python here; return the code."""
    body = BODY(lambda _, low, high: part(low, high))
    return int(CALL(symbols(PARALLEL_FOR_SYMBOL.encode())[PARALLEL_FOR_SYMBOL])(body, None, begin, extent))


def nothing(_low: int, _high: int) -> int:
    return 0


def test_only_code_that_has_parallel_loops_needs_the_pool() -> None:
    assert symbols(b"no such call") == {}
    assert [*symbols(b".." + PARALLEL_FOR_SYMBOL.encode() + b"..")] == [PARALLEL_FOR_SYMBOL]


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
def test_every_iteration_is_done_once(threads: int) -> None:
    set_threads(threads)
    for begin, extent in [(0, 1), (-5, 2), (7, 3), (0, threads * 4 - 1), (0, threads * 4 + 1), (1 << 40, 1000)]:
        done: list[int] = []

        def part(low: int, high: int, done: list[int] = done) -> int:
            done.extend(range(low, high))
            return 0

        for _ in range(5):
            done.clear()
            assert parallel_for(part, begin, extent) == 0
            assert sorted(done) == list(range(begin, begin + extent))


def test_threads_work_at_the_same_time_and_one_means_the_callers() -> None:
    set_threads(3)
    meeting = threading.Barrier(3, timeout=20)
    assert parallel_for(lambda low, _: meeting.wait() * 0 if low < 3 else 0, 0, 3) == 0
    set_threads(1)
    seen: list[int] = []

    def part(_low: int, _high: int) -> int:
        seen.append(threading.get_native_id())
        return 0

    assert parallel_for(part, 0, 100) == 0
    assert seen == [threading.get_native_id()]


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_the_first_failure_by_place_is_the_loops(threads: int) -> None:
    set_threads(threads)

    def part(low: int, high: int) -> int:
        return next((place for place in range(low, high) if place in (301, 44, 43, 999)), 0)

    for _ in range(20):
        assert parallel_for(part, 0, 1000) == 43
    assert parallel_for(nothing, 0, 1000) == 0, "the next loop knows nothing of it"


def test_a_loop_inside_of_a_loop_runs_where_it_is_met() -> None:
    set_threads(4)
    strays: list[tuple[int, int]] = []
    done: list[int] = []

    def outer(low: int, high: int) -> int:
        own = threading.get_native_id()

        def inner(first: int, last: int) -> int:
            strays.extend([(first, last)] if threading.get_native_id() != own else [])
            done.extend(range(first, last))
            return 0

        return parallel_for(inner, low * 10, (high - low) * 10)

    assert parallel_for(outer, 0, 50) == 0
    assert strays == []
    assert sorted(done) == list(range(500))


def test_callers_on_several_threads_each_get_all_of_theirs() -> None:
    set_threads(3)
    wrong: list[int] = []

    def caller(number: int) -> None:
        for _ in range(30):
            done: list[int] = []

            def part(low: int, high: int, done: list[int] = done) -> int:
                done.extend(range(low, high))
                return number if high == 99 else 0

            code = parallel_for(part, 0, 99)
            full = sorted(done) == list(range(99))
            wrong.extend([] if code == number and full else [number])

    callers = [threading.Thread(target=caller, args=(number,)) for number in range(1, 5)]
    for thread in callers:
        thread.start()
    for thread in callers:
        thread.join()
    assert wrong == []


def test_the_number_cannot_change_while_a_loop_runs() -> None:
    set_threads(2)
    inside, go_on = threading.Event(), threading.Event()

    def part(low: int, _: int) -> int:
        if low == 0:
            inside.set()
            go_on.wait(20)
        return 0

    caller = threading.Thread(target=parallel_for, args=(part, 0, 8))
    caller.start()
    assert inside.wait(20)
    with pytest.raises(NativeError) as error:
        set_threads(3)
    go_on.set()
    caller.join()
    assert str(error.value) == ("set_threads: a parallel loop is running on another thread; wait until it has ended")
    assert num_threads() == 2


@pytest.mark.parametrize("count", [0, -1, MOST_THREADS + 1, "2", 2.0, True])
def test_a_number_of_threads_is_a_small_integer(count: object) -> None:
    with pytest.raises(NativeError) as error:
        set_threads(count)  # type: ignore[arg-type]  # what this is about
    assert str(error.value) == f"set_threads: expected a number of threads from 1 to {MOST_THREADS}, got {count!r}"


def test_the_environment_says_how_many(monkeypatch: pytest.MonkeyPatch) -> None:
    def asked(**variables: str) -> int:
        for name in thread_pool.THREAD_VARIABLES:
            monkeypatch.delenv(name, raising=False)
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        return thread_pool.asked_threads()

    assert 1 <= asked() <= MOST_THREADS
    assert asked(TVM_NUM_THREADS="3") == 3
    assert asked(VTA_NUM_THREADS=" 5 ", TVM_NUM_THREADS="3") == 5
    assert asked(VTA_NUM_THREADS="", TVM_NUM_THREADS="3") == 3
    for text in ("0", "-1", "two", "257", "1.5"):
        with pytest.raises(NativeError, match=r"^VTA_NUM_THREADS: expected a number of threads from 1 to 256, got "):
            asked(VTA_NUM_THREADS=text)


CHILDREN = """
import os, sys, threading
sys.path.insert(0, "tests/runtime/native")
from test_thread_pool import parallel_for, set_threads
def meet():
    meeting = threading.Barrier(3, timeout=20)
    assert parallel_for(lambda *_: meeting.wait() * 0, 0, 3) == 0
set_threads(3)
meet()
child = os.fork()
meet()
if child:
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
print("met", bool(child), flush=True)
"""

ENDING = """
import sys, threading
sys.path.insert(0, "tests/runtime/native")
from test_thread_pool import nothing, parallel_for, set_threads
set_threads(2)
def forever():
    while True:
        parallel_for(nothing, 0, 100)
threading.Thread(target=forever, daemon=True).start()
for _ in range(200):
    parallel_for(nothing, 0, 100)
"""


def run(script: str) -> str:
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_a_forked_child_makes_threads_of_its_own() -> None:
    assert sorted(run(CHILDREN).splitlines()) == ["met False", "met True"]


def test_a_process_ends_while_threads_wait_and_while_they_work() -> None:
    assert run(ENDING) == ""
