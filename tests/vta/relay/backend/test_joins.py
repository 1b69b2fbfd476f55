"""Concatenations on the accelerator: the bits of numpy's, whatever the channels, and what stays with the host."""

from collections.abc import Sequence

import numpy as np
import pytest

import vta
from isa.config import VTAConfig
from runtime.executor.container import network_from_bytes, network_to_bytes
from runtime.executor.operators.names import Op
from runtime.executor.operators.qnn.products import QnnConv2dAttrs
from runtime.executor.operators.qnn.saturating import RescaleAttrs
from runtime.executor.operators.selection import ConcatenateAttrs
from runtime.executor.operators.types import Array, TensorType
from runtime.executor.runner import NetworkRunner
from runtime.session import Session
from tests.support.configs import CONFIGS
from vta.relay.backend.build import Built, build_network, host_reasons
from vta.relay.backend.kernel import HostCall, Join, Kernel
from vta.relay.ir.nodes import Call, Expr, Function, Tuple, Var, constant, tensor_type
from vta.relay.ops.call import call

RNG = np.random.default_rng(5)
NOTHING = constant(0, "int32")


def halved(data: Expr) -> Call:
    """Return (data * 5 + 4) >> 3, saturated: a kernel of its own, unless a layer takes it."""
    return call(Op.RESCALE, (data, NOTHING, NOTHING, constant(5, "int32")), RescaleAttrs(shift=3))


def plain_halved(data: Array) -> Array:
    return np.clip((data.astype(np.int64) * 5 + 4) >> 3, -128, 127)


def joined(*parts: Expr, axis: int = 1) -> Call:
    return call(Op.CONCATENATE, parts, ConcatenateAttrs(axis))


def image(name: str, channels: int, images: int = 1) -> Var:
    return Var(name, TensorType((images, channels, 3, 4), "int8"))


def built_of(params: Sequence[Var], body: Expr, config: VTAConfig | None = None) -> Built:
    return build_network(Function(tuple(params), body), vta.Environment(config or VTAConfig()), jobs=1)


def arrays_of(params: Sequence[Var]) -> list[Array]:
    return [RNG.integers(-128, 128, tensor_type(param).shape).astype(np.int8) for param in params]


def ran(built: Built, arrays: Sequence[Array], engine: str = "sim") -> list[Array]:
    network = network_from_bytes(network_to_bytes(built.network))  # through the file, with its checks
    runner = NetworkRunner(network, Session(network.config, engine))
    return [*runner.run(dict(zip(network.inputs, arrays, strict=True))).values()]


def places(built: Built) -> list[str]:
    return [
        type(item.operator).__name__ if isinstance(item, Kernel) else "join"
        for item in built.items
        if not isinstance(item, HostCall)
    ]


@pytest.mark.parametrize("engine", ["sim", "tsim"])
def test_parts_of_whole_blocks_are_made_in_their_places(engine: str) -> None:
    x, y = image("x", 32), image("y", 20)
    built = built_of([x, y], halved(joined(halved(x), halved(y))))
    assert places(built) == ["Elementwise", "Elementwise", "join", "Elementwise"]
    arrays = arrays_of([x, y])
    [found] = ran(built, arrays, engine)
    assert np.array_equal(found, plain_halved(np.concatenate([plain_halved(each) for each in arrays], axis=1)))


@pytest.mark.parametrize("engine", ["sim", "tsim"])
@pytest.mark.parametrize("channels", [(5, 7), (20, 3, 30), (1, 16), (17, 17, 17, 17)])
def test_other_parts_are_moved_by_a_product_with_ones(channels: tuple[int, ...], engine: str) -> None:
    params = [image(f"x{number}", count) for number, count in enumerate(channels)]
    built = built_of(params, halved(joined(*[halved(param) for param in params])))
    assert places(built) == ["Elementwise"] * len(channels) + ["Conv2d"]
    assert built.macs == 0
    arrays = arrays_of(params)
    [found] = ran(built, arrays, engine)
    assert np.array_equal(found, plain_halved(np.concatenate([plain_halved(each) for each in arrays], axis=1)))


@pytest.mark.parametrize("config", CONFIGS)
def test_other_configurations_join_too(config: str) -> None:
    params = [image("x", 33), image("y", 12)]
    built = built_of(params, joined(halved(params[0]), halved(params[1]), params[0]), CONFIGS[config])
    arrays = arrays_of(params)
    [found] = ran(built, arrays)
    wanted = np.concatenate([plain_halved(arrays[0]), plain_halved(arrays[1]), arrays[0]], axis=1)
    assert np.array_equal(found, wanted)


def test_what_would_lie_in_two_places_is_copied() -> None:
    x = image("x", 16)
    half = halved(x)
    first, second = joined(half, half), joined(x, half)
    built = built_of([x], Tuple((first, second, half)))
    assert places(built).count("join") == 2
    assert places(built).count("Elementwise") == 3  # the half, and two copies
    [array] = arrays_of([x])
    found = ran(built, [array])
    wanted = plain_halved(array)
    for each, expected in zip(found, [(wanted, wanted), (array, wanted), (wanted,)], strict=True):
        assert np.array_equal(each, np.concatenate(expected, axis=1))


@pytest.mark.parametrize("engine", ["sim", "tsim"])
def test_a_dense_block_of_layers_joins_again_and_again(engine: str) -> None:
    x = image("x", 16)
    now: Expr = halved(x)
    weights = []
    for _ in range(3):
        shape = (16, tensor_type(now).shape[1], 1, 1)
        weights.append(RNG.integers(-3, 4, shape).astype(np.int8))
        sums = call(Op.QNN_CONV2D, (now, constant(weights[-1], "int8")), QnnConv2dAttrs())
        now = joined(now, halved(sums))
    built = built_of([x], now)
    assert places(built) == ["Elementwise", *["Conv2d", "join"] * 3]
    [array] = arrays_of([x])
    wanted = plain_halved(array)
    for each in weights:
        sums = np.einsum("nchw,oc->nohw", wanted.astype(np.int64), each[:, :, 0, 0].astype(np.int64))
        wanted = np.concatenate([wanted, plain_halved(sums)], axis=1)
    [found] = ran(built, [array], engine)
    assert np.array_equal(found, wanted)


def test_rows_join_as_images_do() -> None:
    x, y = Var("x", TensorType((1, 16), "int8")), Var("y", TensorType((1, 9), "int8"))
    built = built_of([x, y], joined(y, joined(halved(x), halved(y))))
    assert places(built) == ["Elementwise", "Elementwise", "join", "Conv2d"]
    arrays = arrays_of([x, y])
    [found] = ran(built, arrays)
    assert np.array_equal(found, np.concatenate([arrays[1], *map(plain_halved, arrays)], axis=1))


@pytest.mark.parametrize(
    ("body", "params", "reason"),
    [
        (
            lambda x: joined(x, x, axis=2),
            [image("x", 16)],
            "it joins along axis 2, and the accelerator joins channels",
        ),
        (
            lambda x: joined(x, x),
            [image("x", 16, images=2)],
            "it joins channels of 2 images, and they lie together for 1",
        ),
        (
            lambda x: joined(*[x] * 65),
            [image("x", 3)],
            "its parts are no whole blocks and have 65 together; up to 64 are moved by products",
        ),
        (
            lambda x: joined(x, x),
            [Var("x", TensorType((1, 16, 4), "int8"))],
            "it joins to Tensor[(1, 32, 4), int8], and the accelerator joins int8 tensors of two or four dimensions",
        ),
    ],
)
def test_what_the_accelerator_does_not_join_says_why(body: object, params: list[Var], reason: str) -> None:
    built = built_of(params, body(*params))  # type: ignore[operator]
    assert list(host_reasons(built).values()) == [reason]
    arrays = arrays_of(params)
    assert ran(built, arrays)[0].dtype == np.int8


def test_joins_are_items_of_their_own() -> None:
    x = image("x", 16)
    assert any(isinstance(item, Join) for item in built_of([x], joined(halved(x), x)).items)
