"""Convolution, in groups too: computation, schedules, tiles, and the operator.

Transposed convolution does not belong here (``vta.topi.transposed``). Tests: tests/vta/topi/conv.
"""
