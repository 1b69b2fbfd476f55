"""Dense layers of any size on every configuration, and what cannot be."""

import dataclasses

import numpy as np
import pytest

import vta
from isa.config import VTAConfig
from tests.support.configs import CONFIGS
from tests.support.odd_configs import ODD_CONFIGS
from vta import te
from vta.topi.core.epilogue import Bias, Clip, Epilogue, Multiply, Relu, Residual, ShiftRight
from vta.topi.core.operator import Compiled, OperatorError, compile  # noqa: A004
from vta.topi.core.resident import Resident
from vta.topi.matmul.dense import Dense, DenseError, DenseTemplate, dense
from vta.topi.matmul.matmul_schedule import MatmulTiles

PLAIN = (ShiftRight(8), Clip(0, 127))


def arrays(layer: Dense, env: vta.Environment, seed: int = 1) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    limits = {"int8": 128, "int32": 1 << 14}
    return [rng.integers(-limits[o.dtype], limits[o.dtype], o.shape).astype(o.dtype) for o in layer.inputs(env)]


def check(layer: Dense, env: vta.Environment, tiles: object = None) -> Compiled:
    compiled = compile(layer, env, tiles)
    values = arrays(layer, env)
    np.testing.assert_array_equal(compiled(*values), layer.reference(*values))
    return compiled


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
@pytest.mark.parametrize(
    ("sizes", "steps"),
    [
        ((3, 40, 70), (ShiftRight(6), Bias(), Residual(), Relu())),
        ((33, 65, 31), (ShiftRight(8), Bias(), Clip(-128, 127))),
        ((1, 16, 16), ()),
    ],
)
def test_a_layer_of_any_size_is_numpys(config: VTAConfig, sizes: tuple[int, int, int], steps: Epilogue) -> None:
    check(Dense(*sizes, steps), vta.Environment(config))


def test_br_106_ones_times_ones_smaller_than_a_block() -> None:
    layer = Dense(3, 3, 3)
    for target in ("sim", "reference", "tsim"):
        env = vta.Environment(dataclasses.replace(vta.get_env().config, target=target))
        ones = np.ones((3, 3), np.int8)
        assert compile(layer, env)(ones, ones).tolist() == [[3, 3, 3]] * 3


def test_the_recorded_layer_needs_few_instructions_by_default() -> None:
    """With tiles of one it takes 30,730."""
    layer = Dense(128, 128, 128, PLAIN)
    counts = []
    for tiles in (None, MatmulTiles(128, 8, 8)):
        env = vta.Environment(vta.get_env().config)
        check(layer, env, tiles)
        counts.append(env.session.device.stats.instructions.total)
    default, whole = counts
    assert whole == 16
    assert default < 200


@pytest.mark.parametrize(
    "tiles",
    [
        DenseTemplate(4, 2, 3, 1),
        DenseTemplate(2, 1, 2, 2),
        MatmulTiles(8, 1, 6),
        MatmulTiles(2, 2, 3, rotate_tiles=2, rotate_steps=2),
        MatmulTiles(2, 1, 3, rotate_tiles=4, rotate_steps=4),
        MatmulTiles(4, 2, 2, rotate_tiles=3, resident=Resident.DATA),
        MatmulTiles(4, 1, 3, rotate_tiles=2, rotate_steps=2, resident=Resident.KERNEL),
        MatmulTiles(8, 4, 2, rotate_tiles=3),
    ],
)
def test_any_tiles_give_the_same_result(tiles: object) -> None:
    assert check(Dense(8, 64, 96, PLAIN), vta.get_env(), tiles).scheduled.tiles == tiles


@pytest.mark.parametrize("tiles", [MatmulTiles(3, 2, 4, 3), MatmulTiles(2, 1, 4, 2, 2), MatmulTiles(7, 2, 3, 4)])
def test_tiles_may_reach_beyond_the_layer(tiles: MatmulTiles) -> None:
    steps = (ShiftRight(6), Bias(), Residual(), Residual("int32"), Clip(-99, 99))
    check(Dense(7, 30, 150, steps), vta.get_env(), tiles)


def test_other_tiles_are_refused() -> None:
    with pytest.raises(OperatorError) as error:
        compile(Dense(8, 64, 96), vta.get_env(), (1, 2))
    assert str(error.value) == "Dense: tiles are MatmulTiles or a DenseTemplate, not (1, 2)"


def test_the_layer_describes_itself() -> None:
    env = vta.get_env()
    layer = Dense(5, 20, 30, (Bias(),))
    assert [(o.name, o.shape, o.dtype) for o in layer.inputs(env)] == [
        ("data", (5, 20), "int8"), ("weight", (30, 20), "int8"), ("bias", (30,), "int32")
    ]  # fmt: skip
    assert layer.output(env).shape == (5, 30)
    assert layer.macs == 3000
    with pytest.raises(OperatorError, match="Dense: rows takes a number from 1, not 0"):
        Dense(0, 3, 3)


def test_packed_tensors_must_fit_each_other() -> None:
    data = te.placeholder((4, 2, 1, 16), "int8", "data")
    for weight, text in (
        (te.placeholder((4, 2, 16), "int8", "w"), "dense: weight 'w' is packed, of 4 dimensions, not of 3"),
        (
            te.placeholder((4, 3, 16, 16), "int8", "w"),
            "dense: data 'data' has 2 blocks of 16 channels, and weight 'w' takes 3 of 16",
        ),
    ):
        with pytest.raises(DenseError) as error:
            dense(data, weight)
        assert str(error.value) == text
    with pytest.raises(DenseError) as error:
        dense(data, te.placeholder((4, 2, 16, 16), "int8", "w"), groups=3)
    assert str(error.value) == "dense: 4 rows of blocks and 4 of weights do not make 3 groups"


def test_a_bias_tensor_is_added_in_a_stage_of_its_own() -> None:
    data, weight = te.placeholder((4, 2, 1, 16), "int8", "d"), te.placeholder((3, 2, 16, 16), "int8", "w")
    total = dense(data, weight, te.placeholder((1, 3, 1, 16), "int32", "bias"))
    assert [t.name for t in total.op.input_tensors] == ["res", "bias"]


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
def test_a_zero_point_is_taken_off_the_data(config: VTAConfig) -> None:
    layer = Dense(5, 40, 33, (ShiftRight(8), Bias(), Clip(-128, 127)), zero_point=-128)
    check(layer, vta.Environment(config))
    data, weight = np.full((5, 40), -120, np.int8), np.full((33, 40), 2, np.int8)
    assert (layer.reference(data, weight, np.zeros(33, np.int32)) == 640 >> 8).all()


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
@pytest.mark.parametrize(
    "layer",
    [
        Dense(3, 40, 70, (Bias(),), out_dtype="int32"),
        Dense(17, 33, 20, (Multiply(-70_001), Bias(), Residual("int32")), 7, "int32"),
    ],
    ids=["logits", "wide"],
)
def test_results_of_int32_are_whole(layer: Dense, config: VTAConfig) -> None:
    env = vta.Environment(config)
    values = arrays(layer, env)
    got = compile(layer, env)(*values)
    assert got.dtype == np.int32
    assert np.abs(got.astype(np.int64)).max() > 1 << 15
    np.testing.assert_array_equal(got, layer.reference(*values))


def test_results_of_int32_come_from_the_hardware_too() -> None:
    env = vta.Environment(dataclasses.replace(vta.get_env().config, target="tsim"))
    check(Dense(2, 32, 40, (Bias(),), out_dtype="int32"), env)


def test_results_that_cannot_be_are_refused() -> None:
    with pytest.raises(OperatorError) as caught:
        Dense(1, 1, 1, out_dtype="int16")
    assert str(caught.value) == "Dense: out_dtype is int8 or int32, not 'int16'"
    layer = Dense(1, 16, 16, out_dtype="int32")
    with pytest.raises(OperatorError) as caught:
        layer.schedule(vta.get_env(), DenseTemplate())
    assert str(caught.value) == "Dense: results of int32 take MatmulTiles, not TVM's DenseTemplate"
    with pytest.raises(OperatorError) as caught:
        layer.schedule(vta.Environment(ODD_CONFIGS["four_bit"]))
    assert str(caught.value) == "Dense: results of int32 are stored in bytes, and int4 is no byte"
