"""Passes about the host's part of a program: its loops, vectors, indices, and its access to device memory.

What leaves the accelerator's statements alone belongs here. Tests: tests/vta/passes/host.
"""
