"""Recursion as deep as a program: where a stack is nearly used, a visitor goes on on another thread's.

A program of thousands of stages is a statement nested as deeply, and Python's stack ends at a thousand calls. The
shared traversals (``vta.tir.traverse``) keep their work in lists; a visitor that has to know what is around it
recurses, and is marked ``@deep``::

    @deep
    def simplify_stmt(stmt, analyzer): ...

Calls of marked functions are counted. ``CALLS`` of them inside of each other fit a stack, whatever they call in
between; the next one runs on a new thread, while its caller waits. Nothing is raised or enlarged: neither the recursion
limit nor the size of a stack, which belong to the whole process, so the interpreter's own guards hold everywhere.
What is nested deeper than ``STACKS`` threads is refused with ``NestingError``. Context variables are the caller's.

A generator cannot be marked (its frames run when it is asked for items): such a visitor fills a list.
Tests: tests/vta/tir/test_deep.py.
"""

from __future__ import annotations

import _thread
import threading
from collections.abc import Callable
from contextvars import copy_context
from functools import wraps
from typing import Generic, ParamSpec, TypeVar

from isa.errors import VTAError

__all__ = ["CALLS", "STACKS", "NestingError", "deep"]

CALLS = 45
"""So many marked calls fit a stack of a thousand frames: there may be twenty from one to the next."""

STACKS = 2000
"""So many threads may wait for each other."""

_P = ParamSpec("_P")
_R = TypeVar("_R")


class NestingError(VTAError, RecursionError):
    """A program that is nested too deeply to be walked."""


class _Place(threading.local):
    """Where this thread stands: marked calls on its stack, and the stacks below it."""

    calls = 0
    stacks = 0


_place = _Place()  # of a thread, which has one stack; nothing is kept in it between two walks


def deep(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Let ``function`` recurse as deeply as the program that it walks."""

    @wraps(function)
    def counted(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        place = _place
        calls = place.calls
        if calls >= CALLS:
            return _Continued(lambda: function(*args, **kwargs), place.stacks + 1).result()
        place.calls = calls + 1
        try:
            return function(*args, **kwargs)
        finally:
            place.calls = calls

    return counted


class _Continued(Generic[_R]):
    """A call on a thread of its own; ``result`` waits for it, and raises what it raised."""

    def __init__(self, call: Callable[[], _R], stacks: int) -> None:
        self._call = call
        self._stacks = stacks
        self._results: list[_R] = []
        self._error: BaseException | None = None
        self._running = _thread.allocate_lock()

    def result(self) -> _R:
        """Run the call and return what it returned."""
        if self._stacks > STACKS:
            raise NestingError(_refusal(f"it takes more than {STACKS} stacks"))
        self._running.acquire()
        try:  # without the ceremony of threading.Thread, which hands over twice as often
            _thread.start_new_thread(copy_context().run, (self._run,))
        except RuntimeError as error:  # the system gives no more threads
            raise NestingError(_refusal(f"there is no thread for stack {self._stacks}: {error}")) from error
        self._running.acquire()
        if self._error is not None:
            raise self._error
        return self._results[0]

    def _run(self) -> None:
        _place.stacks = self._stacks
        try:
            self._results.append(self._call())
        except BaseException as error:  # handed to the thread that waits
            self._error = error
        finally:
            self._running.release()


def _refusal(reason: str) -> str:
    return f"the program is nested too deeply to be walked: {reason}; make several functions of it"
