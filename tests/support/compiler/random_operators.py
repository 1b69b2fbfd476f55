"""Random instances of the operator library, and the check that an engine gives what numpy gives.

``random_operator`` draws one from a seeded generator; each kind of operator has a function in ``KINDS``. A failing
instance prints as the constructor call that makes it, after ``shrunk`` has looked for a smaller one that fails too.
"""

import functools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

import vta
from tests.support.configs import CONFIGS
from tests.support.odd_configs import ODD_CONFIGS
from tests.support.runtime.checked_launches import checked_launches
from vta.topi.alu.division import Rounding
from vta.topi.alu.elementwise import Binary, BinaryOperation, Elementwise
from vta.topi.alu.padding import Pad2d
from vta.topi.alu.pooling import AveragePool2d, MaxPool2d, SumPool2d
from vta.topi.alu.resize import Upsample2d
from vta.topi.conv.conv2d_operator import Conv2d
from vta.topi.core.epilogue import (
    Add,
    Bias,
    ChannelMaximum,
    ChannelMinimum,
    ChannelShift,
    Clip,
    Epilogue,
    Fork,
    HalfEvenShift,
    Joint,
    Multiply,
    Relu,
    Requantise,
    Residual,
    RoundingShift,
    Scale,
    ShiftLeft,
    ShiftRight,
    Step,
    needs,
)
from vta.topi.core.operator import Operator, OperatorError, compile  # noqa: A004  # what it does
from vta.topi.core.window import WindowError
from vta.topi.matmul.batch_matmul import BatchMatmul, Matmul
from vta.topi.matmul.dense import Dense
from vta.topi.transposed.conv2d_transpose_operator import Conv2dTranspose

__all__ = [
    "KINDS", "Draw", "Instance", "check", "differences", "draw", "environment", "outcome", "random_arrays",
    "random_epilogue", "random_operator", "shrunk",
]  # fmt: skip

Array = npt.NDArray[np.generic]
Rng = np.random.Generator


@functools.cache
def environment(config: str, engine: str = "sim") -> vta.Environment:
    """Return the environment of one of the five configurations or the odd ones, on an engine; checks share it."""
    return vta.Environment(replace((CONFIGS | ODD_CONFIGS)[config], target=engine))


def pick(rng: Rng, *choices: Any) -> Any:
    """Return one of ``choices``."""
    return choices[int(rng.integers(len(choices)))]


def upto(rng: Rng, most: int, least: int = 1) -> int:
    """Return a number from ``least`` to ``most``, small ones more often."""
    return least + int((most - least + 1) * rng.random() ** 2)


# --- epilogues -------------------------------------------------------------------------------------------------------


def random_epilogue(rng: Rng) -> Epilogue:
    """Return up to four steps, mostly the usual ones."""
    if rng.random() < 0.3:
        return (ShiftRight(8), Bias(), Clip(0, 127))
    return tuple(random_step(rng) for _ in range(int(rng.integers(0, 5))))


def random_step(rng: Rng) -> Step:
    """Return a step; constants are small ones, 16-bit ones and 32-bit ones."""
    if rng.random() < 0.1:
        return random_fork(rng)
    constant = int(rng.integers(*pick(rng, (-9, 10), (-(1 << 15), 1 << 15), (-(1 << 31), 1 << 31))))
    low, high = sorted(int(value) for value in rng.integers(-200, 200, 2))
    makers: tuple[Callable[[], Step], ...] = (
        Bias, Scale, ChannelShift, ChannelMinimum, ChannelMaximum, Relu, Residual,
        lambda: Residual("int32"),
        lambda: Residual(pick(rng, "int8", "int32"), constant or 1),
        lambda: HalfEvenShift(int(rng.integers(1, 32))),
        lambda: ShiftRight(int(rng.integers(0, 32))),
        lambda: ShiftLeft(int(rng.integers(0, 32))),
        lambda: RoundingShift(int(rng.integers(1, 32))),
        lambda: Requantise(constant, int(rng.integers(0, 32))),
        lambda: Add(constant),
        lambda: Multiply(constant),
        lambda: Clip(low, high),
    )  # fmt: skip
    return makers[int(rng.integers(len(makers)))]()


def random_fork(rng: Rng) -> Fork:
    """Return a fork of up to two steps on each side, forks now and then."""
    one, other = (tuple(random_step(rng) for _ in range(int(rng.integers(0, 3)))) for _ in range(2))
    return Fork(pick(rng, *Joint), one, other)


# --- operators -------------------------------------------------------------------------------------------------------


def random_shape(rng: Rng) -> tuple[int, ...]:
    """Return (N, C), (N, C, L) or (N, C, H, W)."""
    rest = [upto(rng, 20) for _ in range(int(rng.integers(0, 3)))]
    return (upto(rng, 4), upto(rng, 70), *rest)


def random_elementwise(rng: Rng) -> Operator:
    """Return a chain of steps."""
    steps = tuple(random_step(rng) for _ in range(int(rng.integers(0, 6))))
    return Elementwise(random_shape(rng), steps, pick(rng, "int8", "int32"))


def random_binary(rng: Rng) -> Operator:
    """Return an operation of two tensors."""
    dtypes = (pick(rng, "int8", "int32"), pick(rng, "int8", "int32"))
    return Binary(pick(rng, *BinaryOperation), random_shape(rng), random_epilogue(rng), dtypes)


def random_window(rng: Rng) -> dict[str, Any]:
    """Return the arguments of a pooling."""
    height, width = upto(rng, 30), upto(rng, 30)
    whole = rng.random() < 0.2
    kernel = (height, width) if whole else (upto(rng, min(height, 7)), upto(rng, min(width, 7)))
    return {
        "batch": upto(rng, 3),
        "channels": upto(rng, 50),
        "height": height,
        "width": width,
        "kernel": kernel,
        "strides": (1, 1) if whole else (upto(rng, 4), upto(rng, 4)),
        "padding": tuple(int(rng.integers(0, (kernel[i % 2] + 1) // 2 + 1)) for i in range(4)),
        "dilation": (1, 1) if rng.random() < 0.7 else (upto(rng, 3), upto(rng, 3)),
        "ceil_mode": bool(rng.random() < 0.3),
        "epilogue": random_epilogue(rng) if rng.random() < 0.3 else (),
    }


def random_max_pool(rng: Rng) -> Operator:
    """Return a max pooling."""
    return MaxPool2d(**random_window(rng), dtype=pick(rng, "int8", "int8", "int32"))


def random_average_pool(rng: Rng) -> Operator:
    """Return an average pooling."""
    return AveragePool2d(
        **random_window(rng),
        count_include_pad=bool(rng.random() < 0.5),
        rounding=pick(rng, *Rounding),
        zero_point=pick(rng, 0, -128, 127, 3),
    )


def random_sum_pool(rng: Rng) -> Operator:
    """Return a sum of windows."""
    return SumPool2d(**random_window(rng), zero_point=pick(rng, 0, -128, 127, 3))


def random_pad(rng: Rng) -> Operator:
    """Return a padding."""
    image = (upto(rng, 3), upto(rng, 50), upto(rng, 20), upto(rng, 20))
    top, left, bottom, right = (upto(rng, 20, least=0) for _ in range(4))
    value = pick(rng, 0, -1, int(rng.integers(-(1 << 31), 1 << 31)))
    epilogue = random_epilogue(rng) if rng.random() < 0.3 else ()
    return Pad2d(*image, (top, left, bottom, right), value, epilogue, pick(rng, "int8", "int32"))


def random_upsample(rng: Rng) -> Operator:
    """Return an upsampling."""
    image = (upto(rng, 3), upto(rng, 50), upto(rng, 20), upto(rng, 20))
    epilogue = tuple(step for step in random_epilogue(rng) if not needs([step]).residuals)
    return Upsample2d(*image, (upto(rng, 4), upto(rng, 4)), epilogue, pick(rng, "int8", "int32"))


def random_dense(rng: Rng) -> Operator:
    """Return a dense layer, more or less wide."""
    return Dense(upto(rng, 80), upto(rng, 200), upto(rng, 200), random_epilogue(rng), pick(rng, 0, 0, -128, 7))


def random_matmul(rng: Rng) -> Operator:
    """Return a product, or several, with operands turned or not."""
    sizes = (upto(rng, 70), upto(rng, 70), upto(rng, 70))
    turned = (bool(rng.random() < 0.5), bool(rng.random() < 0.5))
    if rng.random() < 0.4:
        return Matmul(*sizes, *turned, random_epilogue(rng))
    return BatchMatmul(upto(rng, 5), *sizes, *turned, random_epilogue(rng))


def _pads(rng: Rng) -> tuple[int, int, int, int]:
    top, left, bottom, right = (int(pad) for pad in rng.integers(0, 4, 4))
    return top, left, bottom, right


def random_conv2d_transpose(rng: Rng) -> Operator:
    """Return a transposed convolution: any strides, pads, dilation, output padding, groups."""
    groups = pick(rng, 1, 1, 2, 3, 8)
    strides, dilation = (upto(rng, 4), upto(rng, 4)), pick(rng, (1, 1), (1, 1), (2, 1), (2, 3))
    more_rows, more_columns = (int(rng.integers(0, max(pair))) for pair in zip(strides, dilation, strict=True))
    return Conv2dTranspose(
        batch=upto(rng, 3),
        in_channels=groups * upto(rng, max(1, 50 // groups)),
        height=upto(rng, 12),
        width=upto(rng, 12),
        out_channels=groups * upto(rng, max(1, 50 // groups)),
        kernel=(upto(rng, 5), upto(rng, 5)),
        strides=strides,
        padding=_pads(rng),
        output_padding=(more_rows, more_columns),
        dilation=dilation,
        groups=groups,
        epilogue=random_epilogue(rng),
        zero_point=pick(rng, 0, 0, -128, 7),
    )


def random_conv2d(rng: Rng) -> Operator:
    """Return a convolution, of few channels now and then, whose window is folded then."""
    return _convolution(rng, upto(rng, 70) if rng.random() < 0.7 else upto(rng, 4), upto(rng, 70), 1)


def random_grouped_conv2d(rng: Rng) -> Operator:
    """Return a convolution in groups, depthwise now and then."""
    groups = upto(rng, 40, 2)
    taken = 1 if rng.random() < 0.4 else upto(rng, max(1, 70 // groups))
    return _convolution(rng, groups * taken, groups * upto(rng, max(1, 70 // groups)), groups)


def _convolution(rng: Rng, in_channels: int, out_channels: int, groups: int) -> Operator:
    try:
        return Conv2d(
            batch=upto(rng, 3),
            in_channels=in_channels,
            height=upto(rng, 30),
            width=upto(rng, 30),
            out_channels=out_channels,
            kernel=(upto(rng, 7), upto(rng, 7)),
            strides=(upto(rng, 4), upto(rng, 4)),
            padding=(upto(rng, 3, 0), upto(rng, 3, 0), upto(rng, 3, 0), upto(rng, 3, 0)),
            dilation=(1, 1) if rng.random() < 0.7 else (upto(rng, 3), upto(rng, 3)),
            groups=groups,
            epilogue=random_epilogue(rng),
            zero_point=pick(rng, 0, 0, -1, 1),
        )
    except WindowError as error:
        raise OperatorError("the window does not fit") from error


KINDS: Mapping[str, Callable[[Rng], Operator]] = {
    "elementwise": random_elementwise,
    "binary": random_binary,
    "max_pool": random_max_pool,
    "average_pool": random_average_pool,
    "sum_pool": random_sum_pool,
    "pad": random_pad,
    "upsample": random_upsample,
    "dense": random_dense,
    "matmul": random_matmul,
    "conv2d_transpose": random_conv2d_transpose,
    "conv2d": random_conv2d,
    "grouped_conv2d": random_grouped_conv2d,
}
"""Name -> function that draws an instance; it may raise an error where its numbers do not go together."""


def random_operator(rng: Rng, kind: str | None = None) -> Operator:
    """Return a random instance of ``kind``, of any kind if left out."""
    make = KINDS[kind or pick(rng, *KINDS)]
    while True:
        try:
            return make(rng)
        except (OperatorError, WindowError):
            continue


@dataclass(frozen=True, slots=True)
class Draw:
    """What instances are drawn from: a seed, and the configurations and kinds that take turns."""

    seed: int
    configs: tuple[str, ...] = tuple(CONFIGS)
    kinds: tuple[str, ...] = tuple(KINDS)


@dataclass(frozen=True, slots=True)
class Instance:
    """An operator, its kind, and the configuration that it is for."""

    config: str
    kind: str
    operator: Operator


def draw(choice: Draw, index: int) -> Instance:
    """Return instance ``index``."""
    config = choice.configs[index % len(choice.configs)]
    kind = choice.kinds[index // len(choice.configs) % len(choice.kinds)]
    rng = np.random.default_rng([choice.seed, index])
    return Instance(config, kind, random_operator(rng, kind))


# --- checks ----------------------------------------------------------------------------------------------------------


def random_arrays(rng: Rng, operator: Operator, env: vta.Environment) -> list[Array]:
    """Return arrays for the operator's inputs, over the whole range of their types now and then."""
    arrays = []
    for operand in operator.inputs(env):
        low, high = _range(operand.dtype)
        if operand.dtype == "int32" and rng.random() < 0.7:
            low, high = -(1 << 15), 1 << 15
        dtype = operand.dtype if operand.dtype == "int32" else "int8"
        arrays.append(rng.integers(low, high, operand.shape, endpoint=True).astype(dtype))
    return arrays


def _range(dtype: str) -> tuple[int, int]:
    bits = int(dtype.removeprefix("int"))
    return (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)


def differences(operator: Operator, env: vta.Environment, seed: int, tiles: object = None) -> str:
    """Return what the engine gives otherwise than numpy, "" if nothing."""
    arrays = random_arrays(np.random.default_rng(seed), operator, env)
    expected = operator.reference_on(env, *arrays)
    compiled = compile(operator, env, tiles)
    got = compiled(*arrays)
    if got.shape != expected.shape or got.dtype != expected.dtype:
        return f"{got.dtype} of shape {got.shape}, not {expected.dtype} of shape {expected.shape}"
    wrong = np.argwhere(got != expected)
    if not len(wrong):
        return ""
    first = tuple(int(index) for index in wrong[0])
    return (
        f"{len(wrong)} of {expected.size} differ, the first at {first}: {got[first]}, not {expected[first]}, "
        f"with {compiled.scheduled.tiles}"
    )


def check(operator: Operator, config: str, *, seed: int = 0, engine: str = "sim", tiles: object = None) -> None:
    """Assert that an engine gives what numpy gives."""
    found = differences(operator, environment(config, engine), seed, tiles)
    assert not found, f"{operator!r} on {config}, {engine}, arrays of seed {seed}: {found}"


def outcome(operator: Operator, config: str, *, seed: int, engine: str, checked: bool = False) -> str:
    """Return what is wrong, an exception included; "" if the engine gives what numpy gives.

    With ``checked``, an error that the checker or the sanitizer finds in a launch is wrong, too.
    """
    env = environment(config, engine)
    try:
        if not checked:
            return differences(operator, env, seed)
        with checked_launches(env.session) as errors:
            found = differences(operator, env, seed)
        return found or "; ".join(errors[:1])
    except Exception as error:  # whatever it is, the instance is to be reported
        return f"{type(error).__name__}: {error}"


# --- smaller instances -----------------------------------------------------------------------------------------------


def shrunk(operator: Operator, fails: Callable[[Operator], bool], tries: int = 200) -> Operator:
    """Return a smaller instance that ``fails`` too: fewer steps, smaller numbers."""
    left = tries
    smaller = True
    while smaller:
        smaller = False
        for candidate in _smaller(operator):
            left -= 1
            if left < 0:
                return operator
            if fails(candidate):
                operator, smaller = candidate, True
                break
    return operator


def _smaller(operator: Operator) -> Iterator[Operator]:
    """Yield instances that differ from ``operator`` in one field, which is simpler."""
    for field in fields(operator):  # type: ignore[arg-type]  # operators are dataclasses
        for value in _simpler(getattr(operator, field.name)):
            try:
                yield replace(operator, **{field.name: value})  # type: ignore[type-var]
            except ValueError:
                continue


def _simpler(value: object) -> Iterator[object]:
    match value:
        case bool():
            if value:
                yield False
        case int() if value > 1:
            yield from dict.fromkeys((1, value // 2, value - 1))
        case tuple() if value and all(isinstance(item, int) for item in value):
            for i, item in enumerate(value):
                yield from ((*value[:i], small, *value[i + 1 :]) for small in _simpler(item))
        case tuple():
            yield from (value[:i] + value[i + 1 :] for i in range(len(value)))
        case _:
            return
