"""Operators of neural networks. Tests: tests/vta/front/test_topi_pad.py, tests/vta/topi/test_dilate.py."""

from vta.topi.nn.dilate import DilateError, dilate
from vta.topi.nn.pad import PadError, pad

__all__ = ["DilateError", "PadError", "dilate", "pad"]
