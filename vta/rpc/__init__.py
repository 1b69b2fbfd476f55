"""Sessions on devices, here and elsewhere, under TVM's names.

``rpc.LocalSession()`` is a device of this process, ``rpc.connect(host, port)`` one of a server (``vta serve``),
``rpc.connect_tracker(host, port).request(key)`` one of a farm (``vta tracker``). [docs/remote.md] has the rules; what
travels is in ``messages``, the servers are in ``serving``. Tests: tests/vta/front/test_rpc.py, tests/vta/rpc.
"""

from vta.rpc.errors import LostError, RemoteError, RpcError
from vta.rpc.local import LocalSession
from vta.rpc.remote import RemoteSession, connect
from vta.rpc.tracker_client import TrackerSession, connect_tracker

__all__ = [
    "LocalSession",
    "LostError",
    "RemoteError",
    "RemoteSession",
    "RpcError",
    "TrackerSession",
    "connect",
    "connect_tracker",
]
