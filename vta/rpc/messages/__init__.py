"""What travels between clients, servers and trackers, and who may send it: messages, keys, handshakes, leases.

Nothing here opens a connection. Tests: tests/vta/rpc/test_wire.py, tests/vta/rpc/test_handshake.py,
tests/vta/rpc/test_key.py.
"""
