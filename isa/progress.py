"""How far work has come that may take long, for whoever wants to show it: records of Python's own ``logging``.

The logger is ``LOGGER``, the level DEBUG, so that nothing is seen of it unless somebody asks. A record has the
attributes ``what`` (the work, in words), ``done`` and ``total`` (None: unknown) in ``unit``, a ``note`` on it, and
``busy``, which is False when the work is over. ``hw.sim`` sends the same to a logger of its own. Tests:
``tests/isa/test_progress.py``.
"""

import logging
import time
from collections.abc import Collection, Iterable, Iterator
from typing import TypeVar

__all__ = ["LOGGER", "counted", "tell", "told"]

LOGGER = "vta.progress"

_EVERY = 0.1
"""Seconds between two records of one work."""

T = TypeVar("T")


def tell(what: str, done: int, total: int | None, unit: str, *, note: str = "") -> None:
    """Say that ``done`` of ``total`` units of work are done."""
    _record(what, done, total, unit, note=note, busy=True)


def told(what: str) -> None:
    """Say that this work is over, done or not."""
    _record(what, 0, None, "", note="", busy=False)


def counted(items: Iterable[T], what: str, *, unit: str = "instructions") -> Iterator[T]:
    """Yield ``items``, and say now and then how many have been taken; it costs nothing if nobody listens."""
    if not logging.getLogger(LOGGER).isEnabledFor(logging.DEBUG):
        yield from items
        return
    total = len(items) if isinstance(items, Collection) else None
    said = float("-inf")
    try:
        for done, item in enumerate(items):
            now = time.monotonic()
            if now - said >= _EVERY:
                tell(what, done, total, unit)
                said = now
            yield item
    finally:
        told(what)


def _record(what: str, done: int, total: int | None, unit: str, *, note: str, busy: bool) -> None:
    share = f"{done:,}" if total is None else f"{done:,} of {total:,}"
    text = f"{what}: {share} {unit}" if busy else f"{what}: over"
    fields = {"what": what, "done": done, "total": total, "unit": unit, "note": note, "busy": busy}
    logging.getLogger(LOGGER).debug(text, extra=fields)
