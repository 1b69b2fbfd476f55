"""The side of ``vta serve`` and ``vta tracker``: accepting connections, sessions, the processes of devices.

No client imports this. Tests: tests/vta/rpc/test_server.py, tests/vta/rpc/test_hostile.py,
tests/vta/rpc/test_tracker.py.
"""
