"""What ``vta run`` does: one module for each kind of file, and the wishes that they share. Tests: tests/vta/cli."""
