"""Operators under TVM's names: ``topi.nn.pad``. Tests: tests/vta/front/test_topi_pad.py."""

from vta.topi import nn

__all__ = ["nn"]
