"""An operator of each kind that TVM-VTA has no template for, small enough to be measured."""

from vta.topi import (
    AveragePool2d,
    Binary,
    BinaryOperation,
    Conv2d,
    Conv2dTranspose,
    Elementwise,
    MaxPool2d,
    Pad2d,
    Upsample2d,
)
from vta.topi.core.epilogue import Bias, Clip, Residual, ShiftRight
from vta.topi.core.operator import Operator

__all__ = ["OPERATORS"]

OPERATORS: dict[str, Operator] = {
    "groups": Conv2d(1, 48, 6, 5, 48, (3, 3), padding=(1, 1, 1, 1), groups=3, epilogue=(ShiftRight(4), Bias())),
    "depthwise": Conv2d(1, 32, 6, 5, 32, (3, 3), padding=(1, 1, 1, 1), groups=32, epilogue=(ShiftRight(4),)),
    "transposed": Conv2dTranspose(
        1, 32, 4, 3, 48, (4, 4), (2, 2), (1, 1, 1, 1), epilogue=(ShiftRight(5), Clip(-9, 99))
    ),
    "max": MaxPool2d(2, 40, 9, 8, (3, 3), (2, 2), (1, 1, 1, 1)),
    "average": AveragePool2d(1, 40, 7, 7, (3, 3)),
    "steps": Elementwise((1, 70, 5, 6), (ShiftRight(2), Bias()), "int32"),
    "sum": Binary(BinaryOperation.ADD, (1, 40, 6, 7), (Residual("int8"), ShiftRight(1))),
    "pad": Pad2d(1, 20, 4, 5, (1, 2, 0, 1), value=-3),
    "upsample": Upsample2d(1, 40, 5, 6),
}
