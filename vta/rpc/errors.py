"""What a session does not have or cannot do. Tests: tests/vta/front/test_rpc.py, tests/vta/rpc."""

from isa.errors import VTAError

__all__ = ["LostError", "RemoteError", "RpcError"]


class RpcError(VTAError, ValueError):
    """Something that a session does not have: a file, a function, room."""


class RemoteError(VTAError, RuntimeError):
    """What went wrong on the other side; ``kind`` is the name of the error's class there."""

    def __init__(self, text: str, kind: str = "RemoteError") -> None:
        super().__init__(text)
        self.kind = kind


class LostError(VTAError, ConnectionError):
    """The session is over, or its server cannot be reached: whether the last call ran is not known.

    ``final`` says that the server itself told so, and connecting again is of no use.
    """

    def __init__(self, text: str, *, final: bool = False) -> None:
        super().__init__(text)
        self.final = final
