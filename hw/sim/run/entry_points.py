"""Entry points from a design's object code. Tests: tests/hw/sim/run/test_far_memory.py."""

import ctypes
from collections.abc import Callable
from dataclasses import dataclass

from runtime.native.linking import LinkedObject, link

__all__ = ["EntryPoints", "load_object"]

_ADDRESS = ctypes.c_uint64


@dataclass(frozen=True, slots=True)
class EntryPoints:
    """``settle(buffer)`` and ``run(buffer, cycles)``; ``code`` owns the machine code."""

    settle: Callable[[int], None]
    run: Callable[[int, int], int]
    code: LinkedObject


def load_object(code: bytes) -> EntryPoints:
    """Return the entry points of the object code of a translated design."""
    linked = link(code, {}, ["settle", "run"], where="a compiled design")
    settle = ctypes.CFUNCTYPE(None, _ADDRESS)(linked.address["settle"])
    run = ctypes.CFUNCTYPE(_ADDRESS, _ADDRESS, _ADDRESS)(linked.address["run"])
    return EntryPoints(settle, run, linked)
