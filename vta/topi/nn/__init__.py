"""Operators of neural networks. Tests: tests/vta/front/test_topi_pad.py."""

from vta.topi.nn.pad import PadError, pad

__all__ = ["PadError", "pad"]
