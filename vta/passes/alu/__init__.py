"""Stages of the tensor ALU become micro-op kernels.

What recognises element-wise nests and selects ALU operations belongs here. Sums on the GEMM core do not
(``vta.passes.gemm``). Tests: tests/vta/passes/alu.
"""
