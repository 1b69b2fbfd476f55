"""Sessions under TVM's names: ``rpc.LocalSession()``. Tests: tests/vta/front/test_rpc.py."""

from vta.rpc.local import LocalSession, RpcError

__all__ = ["LocalSession", "RpcError"]
