"""Loops of a GPU's threads: schedules for a GPU lower and print as TVM's do, and no code is made of them here.

What a stage computes depends on where its output is kept: memory that several threads share must hold what all of them
read. Tests: tests/vta/te/test_gpu_threads.py.
"""

from __future__ import annotations

from vta.tir.expr import IterVar

__all__ = ["is_gpu_thread", "shares"]

_BLOCKS, _THREADS = "blockIdx.", "threadIdx."
_RANKS = {"global": 0, "shared": 1, "warp": 2, "local": 3}
"""How near to one thread a memory is."""


def is_gpu_thread(thread: IterVar | None) -> bool:
    """Whether this is an axis of a GPU's blocks or threads."""
    return thread is not None and thread.thread_tag.startswith((_BLOCKS, _THREADS))


def shares(scope: str, thread: IterVar, inside: int) -> bool:
    """Whether the threads of ``thread`` share memory ``scope``.

    Memory that was not named is as near as the loops around ask for: ``inside`` is 1 in threads, 0 in blocks, -1 out of
    both.
    """
    if thread.thread_tag.startswith(_BLOCKS):
        rank = 0
    elif thread.thread_tag.startswith(_THREADS) or scope.startswith("shared"):
        rank = 1
    else:
        return False
    kind = scope.partition(".")[0]
    if kind == "warp" and thread.thread_tag == f"{_THREADS}x":
        return True
    of_scope = _RANKS.get(kind, 3) if scope else {-1: 0, 0: 1, 1: 3}[inside]
    return of_scope <= rank
