"""The session that a script runs on, where somebody chose one: ``vta run --board``.

Every environment in the script runs on it, and has to have its configuration. Only the TVM-style front looks here; a
device that a script makes by name (``Session(config, "sim")``) is its own affair.
Tests: tests/vta/front/test_chosen_session.py.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from runtime.session import Session

__all__ = ["chosen_session", "session_chosen"]

_CHOSEN: ContextVar[Session | None] = ContextVar("chosen session", default=None)


def chosen_session() -> Session | None:
    """Return the session that was chosen, None outside of any ``session_chosen``."""
    return _CHOSEN.get()


@contextmanager
def session_chosen(session: Session) -> Iterator[None]:
    """Let everything inside run on ``session``."""
    token = _CHOSEN.set(session)
    try:
        yield
    finally:
        _CHOSEN.reset(token)
