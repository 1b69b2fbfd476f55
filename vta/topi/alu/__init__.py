"""Operators that the tensor ALU does alone: element by element, pooling, padding, resizing, requantisation.

What needs the GEMM core does not belong here. Tests: tests/vta/topi/alu.
"""
