"""Operators of neural networks.

Tests: tests/vta/front/test_topi_pad.py, tests/vta/topi/nn/test_dilate.py, tests/vta/topi/nn/test_pool.py.
"""

from vta.topi.conv.conv2d import conv2d, schedule_conv2d
from vta.topi.conv.conv2d_grouped import group_conv2d
from vta.topi.nn.dilate import DilateError, dilate
from vta.topi.nn.pad import PadError, pad
from vta.topi.nn.pool import global_pool, pool2d

__all__ = [
    "DilateError", "PadError", "conv2d", "dilate", "global_pool", "group_conv2d", "pad", "pool2d", "schedule_conv2d",
]  # fmt: skip
