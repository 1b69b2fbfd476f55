"""What a server lets its users take. Tests: tests/vta/rpc/test_server.py."""

from dataclasses import dataclass, field

from vta.rpc.serving.listener import ListenerLimits

__all__ = ["ServerLimits"]


@dataclass(frozen=True, slots=True)
class ServerLimits:
    """Bounds of one session, and of how many wait for one.

    Attributes
    ----------
    memory : int
        Bytes that a device's process may take beyond what it begins with; its device's memory has as many addresses.
    file_bytes : int
        Bytes of all files of a session.
    call_seconds : float
        Seconds of one call; a longer one ends the session.
    session_seconds : float
        Seconds of a session.
    linger_seconds : float
        Seconds that a session waits for a client whose connection broke.
    waiting : int
        Clients that may wait for a device.
    """

    memory: int = 2 << 30
    file_bytes: int = 1 << 30
    call_seconds: float = 600.0
    session_seconds: float = 3600.0
    linger_seconds: float = 10.0
    waiting: int = 256
    grace_seconds: float = 10.0
    connections: ListenerLimits = field(default_factory=ListenerLimits)
