"""Operators of neural networks. Tests: tests/vta/front/test_topi_pad.py, tests/vta/topi/test_dilate.py."""

from vta.topi.conv2d import conv2d, schedule_conv2d
from vta.topi.conv2d_grouped import group_conv2d
from vta.topi.nn.dilate import DilateError, dilate
from vta.topi.nn.pad import PadError, pad

__all__ = ["DilateError", "PadError", "conv2d", "dilate", "group_conv2d", "pad", "schedule_conv2d"]
