"""Python's garbage collector, kept out of the way of code that makes millions of objects which all stay.

Tests: tests/runtime/native/test_garbage.py.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["no_collection"]


@contextmanager
def no_collection() -> Iterator[None]:
    """Keep Python from looking for garbage: where all objects stay, it takes half of the time and finds nothing.

    The collector is for the whole process, not for a thread: if two threads are within at once, it is on again when the
    first of them that found it on has left.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
