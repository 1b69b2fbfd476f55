"""Products of matrices: dense layers and batched products, their schedules and operators.

Tests: tests/vta/topi/matmul.
"""
