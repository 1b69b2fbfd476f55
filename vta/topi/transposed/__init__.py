"""Transposed convolution: computation, schedules, tiles, and the operator.

Convolution itself does not belong here (``vta.topi.conv``). Tests: tests/vta/topi/transposed.
"""
