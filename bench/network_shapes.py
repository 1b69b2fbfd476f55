"""Networks as lists of the library's operators, with the epilogues that quantised networks have.

Every convolution has a bias, a scale for each channel, and limits; a residual has a scale of its own and is added in
the epilogue. Scales and biases are drawn; what they are changes no cycle. Used by ``bench.networks_layers``.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from vta.topi import AveragePool2d, Conv2d, Dense, MaxPool2d
from vta.topi.core.epilogue import Clip, ShiftRight
from vta.topi.core.fixed_point import FixedPoint, OutputSteps, ScaledResidual, output_steps
from vta.topi.core.operator import Operator

__all__ = [
    "Layer", "efficientnet_lite0", "mobilenet_v1", "mobilenet_v1_shift", "mobilenet_v2", "resnet18", "resnet50",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Layer:
    """An operator that a network has ``count`` times; ``constants`` are the arrays that its steps read, in order."""

    name: str
    operator: Operator
    count: int = 1
    constants: tuple[np.ndarray, ...] = field(default=(), compare=False)


def steps(channels: int, *, low: int = -128, residual: bool = False) -> OutputSteps:
    """Return the epilogue of a quantised layer."""
    rng = np.random.default_rng(channels)
    fixed = FixedPoint.nearest(rng.uniform(0.002, 0.008, channels), largest=128 + (256 if residual else 0))
    added = ScaledResidual.nearest(0.9, fixed.shift) if residual else None
    return output_steps(
        fixed, bias=rng.integers(-2000, 2000, channels), low=low, zero_point=max(low, 0), residual=added
    )


def conv(
    name: str,
    shape: tuple[int, int, int],
    out_channels: int,
    kernel: int,
    stride: int = 1,
    *,
    groups: int = 1,
    low: int = 0,
    residual: bool = False,
    count: int = 1,
) -> Layer:
    """Return a convolution of images of ``shape`` (channels, height, width) with pads that keep the size."""
    made = steps(out_channels, low=low, residual=residual)
    channels, height, width = shape
    return Layer(
        name,
        Conv2d(
            batch=1,
            in_channels=channels,
            height=height,
            width=width,
            out_channels=out_channels,
            kernel=(kernel, kernel),
            strides=(stride, stride),
            padding=(0,) * 4 if kernel == stride else (kernel // 2,) * 4,
            groups=groups,
            epilogue=made.steps,
        ),
        count,
        made.arrays,
    )


def classifier(channels: int, size: int, classes: int = 1000) -> tuple[Layer, Layer]:
    """Return the average over a whole image, and the dense layer behind it."""
    made = steps(classes)
    return (
        Layer("average", AveragePool2d(1, channels, size, size, (size, size))),
        Layer("classes", Dense(1, channels, classes, made.steps), 1, made.arrays),
    )


def resnet18() -> tuple[Layer, ...]:
    """Return ResNet-18 at 224x224."""
    layers = [
        conv("first 7x7/2", (3, 224, 224), 64, 7, 2),
        Layer("max pool 3x3/2", MaxPool2d(1, 64, 112, 112, (3, 3), (2, 2), (1, 1, 1, 1))),
        conv("64x56 3x3", (64, 56, 56), 64, 3, count=2),
        conv("64x56 3x3 + residual", (64, 56, 56), 64, 3, residual=True, count=2),
    ]
    for channels, size in ((64, 56), (128, 28), (256, 14)):
        wide, half = 2 * channels, size // 2
        layers += [
            conv(f"{wide}x{half} 3x3/2", (channels, size, size), wide, 3, 2),
            conv(f"{wide}x{half} 1x1/2", (channels, size, size), wide, 1, 2, low=-128),
            conv(f"{wide}x{half} 3x3", (wide, half, half), wide, 3),
            conv(f"{wide}x{half} 3x3 + residual", (wide, half, half), wide, 3, residual=True, count=2),
        ]
    return (*layers, *classifier(512, 7))


def resnet50() -> tuple[Layer, ...]:
    """Return ResNet-50 at 224x224, with the strides on the 3x3 convolutions."""
    layers = [
        conv("first 7x7/2", (3, 224, 224), 64, 7, 2),
        Layer("max pool 3x3/2", MaxPool2d(1, 64, 112, 112, (3, 3), (2, 2), (1, 1, 1, 1))),
    ]
    channels, size = 64, 56
    for inner, blocks, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        wide, half = 4 * inner, size // stride
        layers += [
            conv(f"{inner}x{size} 1x1 of {channels}", (channels, size, size), inner, 1),
            conv(f"{inner}x{half} 3x3/{stride}", (inner, size, size), inner, 3, stride),
            conv(f"{wide}x{half} 1x1/{stride} aside", (channels, size, size), wide, 1, stride, low=-128),
            conv(f"{wide}x{half} 1x1 + residual", (inner, half, half), wide, 1, residual=True, count=blocks),
            conv(f"{inner}x{half} 1x1 of {wide}", (wide, half, half), inner, 1, count=blocks - 1),
            conv(f"{inner}x{half} 3x3", (inner, half, half), inner, 3, count=blocks - 1),
        ]
        channels, size = wide, half
    return (*layers, *classifier(2048, 7))


def mobilenet_v1() -> tuple[Layer, ...]:
    """Return the convolutions of MobileNetV1 at 224x224, with a scale for each channel."""
    return _separable(tuple)


def mobilenet_v1_shift() -> tuple[Layer, ...]:
    """Return the same with sums that are shifted and limited, and nothing else."""
    return _separable(lambda layers: [_shifted(layer) for layer in layers])


def _separable(finished: Callable[[list[Layer]], Sequence[Layer]]) -> tuple[Layer, ...]:
    found = [conv("first 3x3/2", (3, 224, 224), 32, 3, 2)]
    channels, size = 32, 112
    table = ((64, 1, 1), (128, 2, 1), (128, 1, 1), (256, 2, 1), (256, 1, 1), (512, 2, 1), (512, 1, 5), (1024, 2, 1),
             (1024, 1, 1))  # fmt: skip
    for wide, stride, count in table:
        shape, half = (channels, size, size), size // stride
        name = f"{channels}x{half} 3x3/{stride} depthwise"
        found += [
            conv(name, shape, channels, 3, stride, groups=channels, count=count),
            conv(f"{wide}x{half} 1x1 of {channels}", (channels, half, half), wide, 1, count=count),
        ]
        channels, size = wide, half
    return tuple(finished(found))


def _shifted(layer: Layer) -> Layer:
    assert isinstance(layer.operator, Conv2d), "it has convolutions alone"
    operator = replace(layer.operator, epilogue=(ShiftRight(8), Clip(0, 127)))
    return replace(layer, operator=operator, constants=())


@dataclass(frozen=True, slots=True)
class Stage:
    """Inverted bottlenecks: ``factor`` times the channels inside, ``blocks`` of them, the first with ``stride``."""

    factor: int
    channels: int
    blocks: int
    stride: int
    kernel: int


def mobilenet_v2() -> tuple[Layer, ...]:
    """Return MobileNetV2 at 224x224."""
    table = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))
    return _bottlenecks([Stage(*row, kernel=3) for row in table])


def efficientnet_lite0() -> tuple[Layer, ...]:
    """Return EfficientNet-Lite0 at 224x224."""
    table = (
        Stage(1, 16, 1, 1, 3),
        Stage(6, 24, 2, 2, 3),
        Stage(6, 40, 2, 2, 5),
        Stage(6, 80, 3, 2, 3),
        Stage(6, 112, 3, 1, 5),
        Stage(6, 192, 4, 2, 5),
        Stage(6, 320, 1, 1, 3),
    )
    return _bottlenecks(table)


def _bottlenecks(table: "list[Stage] | tuple[Stage, ...]") -> tuple[Layer, ...]:
    layers: dict[str, Layer] = {}

    def add(layer: Layer) -> None:
        found = layers.get(layer.name)
        layers[layer.name] = (
            layer if found is None else Layer(found.name, found.operator, found.count + 1, found.constants)
        )

    add(conv("first 3x3/2", (3, 224, 224), 32, 3, 2))
    channels, size = 32, 112
    for stage in table:
        for block in range(stage.blocks):
            stride = stage.stride if block == 0 else 1
            inner, half, k = channels * stage.factor, size // stride, stage.kernel
            if stage.factor > 1:
                add(conv(f"{inner}x{size} 1x1 of {channels}", (channels, size, size), inner, 1))
            add(conv(f"{inner}x{half} {k}x{k}/{stride} depthwise", (inner, size, size), inner, k, stride, groups=inner))
            same = stride == 1 and channels == stage.channels
            behind = " + residual" if same else ""
            name = f"{stage.channels}x{half} 1x1 of {inner}{behind}"
            add(conv(name, (inner, half, half), stage.channels, 1, low=-128, residual=same))
            channels, size = stage.channels, half
    add(conv(f"1280x{size} 1x1 of {channels}", (channels, size, size), 1280, 1))
    return (*layers.values(), *classifier(1280, size))
