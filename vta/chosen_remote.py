"""The remote session that a script runs on, where ``vta run --remote`` chose one.

What a script calls its own device is then that session's: ``rpc.LocalSession()``, ``nd.ext_dev(0)``, the counters of
``testing.simulator``. Only the TVM-style front looks here. Tests: tests/vta/cli/test_remote_run.py.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from isa.config import VTAConfig
    from vta.nd import Device

__all__ = ["RemotePlace", "chosen_remote", "remote_chosen"]


class RemotePlace(Protocol):
    """What is needed of a remote session."""

    config: "VTAConfig"

    def ext_dev(self, dev_id: int = 0) -> "Device":
        """Return the accelerator."""

    def get_function(self, name: str) -> Callable[..., object]:
        """Return a function by TVM's name."""


_CHOSEN: ContextVar[RemotePlace | None] = ContextVar("chosen remote session", default=None)


def chosen_remote() -> RemotePlace | None:
    """Return the session that was chosen, None outside of any ``remote_chosen``."""
    return _CHOSEN.get()


@contextmanager
def remote_chosen(session: RemotePlace) -> Iterator[None]:
    """Let ``session`` be the device of everything inside."""
    token = _CHOSEN.set(session)
    try:
        yield
    finally:
        _CHOSEN.reset(token)
