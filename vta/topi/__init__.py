"""Operators under TVM's names: ``topi.add``, ``topi.nn.pad``, ...

Tests: tests/vta/front/test_topi_pad.py, tests/vta/topi/alu/test_broadcast.py, tests/vta/topi/core/test_bitpack.py.
"""

from vta.topi import nn
from vta.topi.alu.alu_schedule import AluTiles
from vta.topi.alu.alu_template import schedule_alu
from vta.topi.alu.broadcast import (
    add,
    cast,
    clip,
    identity,
    left_shift,
    maximum,
    minimum,
    multiply,
    negative,
    relu,
    right_shift,
    subtract,
)
from vta.topi.alu.division import Rounding
from vta.topi.alu.elementwise import Binary, BinaryOperation, Elementwise
from vta.topi.alu.padding import Pad2d
from vta.topi.alu.pooling import AveragePool2d, MaxPool2d, SumPool2d
from vta.topi.alu.requantise import requantise
from vta.topi.alu.resize import Upsample2d
from vta.topi.conv.conv2d import ConvTiles, conv2d, schedule_conv2d
from vta.topi.conv.conv2d_grouped import group_conv2d
from vta.topi.conv.conv2d_operator import Conv2d
from vta.topi.core.bitpack import bitpack, pack_bits, unpack_bits
from vta.topi.core.rescale import channel_scales, quantise_channels, quantise_steps, scale_steps
from vta.topi.matmul.batch_matmul import BatchMatmul, Matmul
from vta.topi.matmul.dense import Dense, DenseTemplate, dense, schedule_dense
from vta.topi.transposed.conv2d_transpose import TransposeTemplate, conv2d_transpose, schedule_conv2d_transpose
from vta.topi.transposed.conv2d_transpose_operator import Conv2dTranspose

__all__ = [
    "AluTiles", "AveragePool2d", "BatchMatmul", "Binary", "BinaryOperation", "Conv2d", "Conv2dTranspose", "ConvTiles",
    "Dense", "DenseTemplate", "Elementwise", "Matmul", "MaxPool2d", "Pad2d", "Rounding", "SumPool2d",
    "TransposeTemplate", "Upsample2d", "add", "bitpack", "cast", "channel_scales", "clip", "conv2d",
    "conv2d_transpose", "dense", "group_conv2d", "identity", "left_shift", "maximum", "minimum", "multiply",
    "negative", "nn", "pack_bits", "quantise_channels", "quantise_steps", "relu", "requantise", "right_shift",
    "scale_steps", "schedule_alu", "schedule_conv2d", "schedule_conv2d_transpose", "schedule_dense", "subtract",
    "unpack_bits",
]  # fmt: skip
