"""Recursion that goes on on other threads' stacks."""

import sys
import threading
from contextvars import ContextVar

import pytest

from vta.tir import deep as module
from vta.tir.deep import CALLS, NestingError, deep


@deep
def depth_of(nested: object) -> int:
    return 1 + depth_of(nested[0]) if isinstance(nested, tuple) else 0


def nested(depth: int) -> object:
    value: object = None
    for _ in range(depth):
        value = (value,)
    return value


def test_a_visitor_goes_as_deep_as_the_program_and_raises_no_limit() -> None:
    limit, size = sys.getrecursionlimit(), threading.stack_size()
    assert depth_of(nested(20_000)) == 20_000
    assert (sys.getrecursionlimit(), threading.stack_size()) == (limit, size)


def test_shallow_recursion_stays_on_its_thread() -> None:
    threads: set[int] = set()

    @deep
    def visit(left: int) -> None:
        threads.add(threading.get_ident())
        if left:
            visit(left - 1)

    visit(CALLS - 1)
    assert threads == {threading.get_ident()}
    visit(CALLS)
    assert len(threads) == 2


def test_what_is_raised_deep_inside_arrives_with_the_frames_that_raised_it() -> None:
    @deep
    def visit(left: int) -> int:
        return visit(left - 1) if left else 1 // 0

    with pytest.raises(ZeroDivisionError) as raised:
        visit(1000)
    assert sum(entry.name == "visit" for entry in raised.traceback) == 1001
    assert depth_of(nested(100)) == 100  # the count starts again


def test_twenty_frames_from_one_marked_call_to_the_next_fit() -> None:
    @deep
    def visit(left: int) -> int:
        return between(16, left)

    def between(frames: int, left: int) -> int:
        if frames:
            return between(frames - 1, left)
        return visit(left - 1) if left else 0

    assert visit(500) == 0


def test_context_variables_are_the_callers() -> None:
    name: ContextVar[str] = ContextVar("name")

    @deep
    def visit(left: int) -> str:
        return visit(left - 1) if left else name.get()

    name.set("outside")
    assert visit(200) == "outside"


def test_a_program_that_needs_too_many_stacks_is_refused_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "STACKS", 10)
    assert depth_of(nested(10 * CALLS)) == 10 * CALLS
    with pytest.raises(NestingError) as raised:
        depth_of(nested(12 * CALLS))
    assert str(raised.value) == (
        "the program is nested too deeply to be walked: it takes more than 10 stacks; make several functions of it"
    )


def test_a_system_without_threads_is_refused_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr("_thread.start_new_thread", start)
    with pytest.raises(NestingError) as raised:
        depth_of(nested(2 * CALLS))
    assert str(raised.value) == (
        "the program is nested too deeply to be walked: there is no thread for stack 1: can't start new thread; make "
        "several functions of it"
    )
