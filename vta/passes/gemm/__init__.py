"""Passes about the GEMM core's micro-op kernels.

Folding and writing out of micro-ops belongs here. The tensor ALU's does not (``vta.passes.alu``).
Tests: tests/vta/passes/gemm.
"""
