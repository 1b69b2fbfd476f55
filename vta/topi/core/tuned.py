"""Tiles that were tuned, which operators take instead of a search's.

Who keeps records of tuning says, for a while, how to look them up; operators ask.
Tests: tests/vta/topi/core/test_tuned.py.
"""

import contextlib
from collections.abc import Callable, Iterator
from contextvars import ContextVar

from vta.environment import Environment

__all__ = ["Lookup", "tuned_by", "tuned_tiles"]

Lookup = Callable[[object, Environment], object | None]
"""The tiles for an operator on an environment, None if there are no records of it."""

_LOOKUPS: ContextVar[tuple[Lookup, ...]] = ContextVar("vta_tuned_tiles", default=())


@contextlib.contextmanager
def tuned_by(lookup: Lookup) -> Iterator[None]:
    """Let operators ask ``lookup`` for tiles inside; of several, the innermost that knows some."""
    token = _LOOKUPS.set((*_LOOKUPS.get(), lookup))
    try:
        yield
    finally:
        _LOOKUPS.reset(token)


def tuned_tiles(operator: object, env: Environment) -> object | None:
    """Return the tiles that were tuned for ``operator`` on ``env``, if there are any."""
    for lookup in reversed(_LOOKUPS.get()):
        tiles = lookup(operator, env)
        if tiles is not None:
            return tiles
    return None
