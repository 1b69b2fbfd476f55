"""Predictions: whose model they are, what hardware they are for, and what has none."""

import math

import pytest

import vta
from isa.config import VTAConfig
from isa.machine.hardware_config import HardwareConfig, HardwareConfigError
from isa.program import Program
from runtime.devices.device import HardwareSetup
from runtime.session import Session
from tests.support.compiler.epilogue_operator import EpilogueOnly
from tests.support.configs import CONFIGS
from vta.cost import CostError, Part, predict
from vta.nd import EXT_DEV, Device, empty
from vta.topi import Binary, BinaryOperation, Conv2d, ConvTiles, Dense, DenseTemplate, Upsample2d
from vta.topi.conv.conv2d_work import conv_work
from vta.topi.core.epilogue import Bias, Clip, ShiftRight
from vta.topi.core.operator import Operator, OperatorError, compile  # noqa: A004
from vta.topi.matmul.batch_matmul import BatchMatmul, Matmul
from vta.topi.tiling import Bus, followed_cycles
from vta.topi.transposed.conv2d_transpose_operator import Conv2dTranspose

C2 = Conv2d(1, 64, 56, 56, 64, (3, 3), padding=(1, 1, 1, 1), epilogue=(ShiftRight(8), Bias(), Clip(0, 127)))

KINDS: dict[str, Operator] = {
    "conv": Conv2d(1, 32, 9, 7, 48, (3, 3), (2, 1), (1, 1, 1, 1)),
    "dense": Dense(5, 64, 96, epilogue=(ShiftRight(8),)),
    "matmul": Matmul(9, 40, 24),
    "batch": BatchMatmul(3, 17, 64, 33),
    "transposed": Conv2dTranspose(1, 32, 4, 4, 16, (4, 4), (2, 2), (1, 1, 1, 1)),
    "binary": Binary(BinaryOperation.ADD, (1, 32, 9, 9)),
    "upsample": Upsample2d(1, 32, 5, 5, (2, 3)),
}


def least(operator: Operator, env: vta.Environment) -> int:
    """Return the bytes that are certainly read."""
    return sum(math.prod(operand.shape) for operand in operator.inputs(env))


@pytest.mark.parametrize("config", CONFIGS)
@pytest.mark.parametrize("kind", KINDS)
def test_no_part_is_busy_for_longer_than_the_launch(kind: str, config: str) -> None:
    operator, env = KINDS[kind], vta.Environment(CONFIGS[config])
    found = predict(operator, env=env)
    assert 0 < found.share <= 1
    assert found.of(found.bound) == max(found.load, found.gemm, found.alu, found.store)
    assert found.gemm * env.BATCH * env.BLOCK_IN * env.BLOCK_OUT >= operator.macs
    if env.inp_dtype == env.wgt_dtype == "int8":
        assert found.load * 8 >= least(operator, env)


def test_a_convolution_that_the_gemm_core_bounds_is_said_to_be_so() -> None:
    found = predict(C2)
    assert (found.gemm, found.alu, found.store) == (451_584, 50_176, 25_088)
    assert found.bound is Part.GEMM
    assert found.share == 451_584 / found.cycles


def test_the_hardware_is_that_of_the_environment_unless_another_one_is_given() -> None:
    keys = {"data_width": 128, "memory_latency": 64}
    setup = HardwareSetup(hardware=HardwareConfig(data_width=128), latency=64)
    given = predict(C2, keys)
    assert given == predict(C2, setup) == predict(C2, env=vta.Environment(VTAConfig(), hardware=keys))
    assert given.store == 25_088 // 2
    assert predict(C2, HardwareConfig(data_width=128)).load == given.load


def test_tiles_and_hardware_are_priced_by_the_model_of_the_search() -> None:
    tiles, bus = ConvTiles(tile_h=7, tile_w=56, tile_co=2, tile_ci=1), Bus(beat_bytes=16, latency=40)
    env = vta.Environment(VTAConfig(), hardware={"data_width": 128, "memory_latency": 40})
    expected = followed_cycles(conv_work(C2.shape_on(env), tiles, bus), bus)
    assert predict(C2, tiles=tiles, env=env).cycles == expected


@pytest.mark.parametrize("kind", KINDS)
def test_tiles_of_the_search_are_priced_as_if_they_were_given(kind: str) -> None:
    env = vta.Environment(VTAConfig(), hardware={"data_width": 256, "memory_latency": 100})
    operator = KINDS[kind]
    assert predict(operator, env=env) == predict(operator, tiles=operator.schedule(env).tiles, env=env)


def test_searches_take_the_hardware_of_the_environment() -> None:
    layer = Conv2d(1, 64, 28, 28, 256, (1, 1), epilogue=(ShiftRight(8),))
    found = []
    for keys in ({"data_width": 64, "memory_latency": 1}, {"data_width": 512, "memory_latency": 1000}):
        env = vta.Environment(VTAConfig(), hardware=keys)
        tiles = layer.chosen(env)
        found.append((env, tiles))
        other = layer.chosen(vta.Environment(VTAConfig()))
        assert predict(layer, tiles=tiles, env=env).cycles <= predict(layer, tiles=other, env=env).cycles
    assert found[0][1] != found[1][1]


def test_a_compiled_operator_has_its_tiles_and_its_environment() -> None:
    env, layer = vta.Environment(VTAConfig(), hardware={"memory_latency": 80}), KINDS["dense"]
    compiled = compile(layer, env)
    quick, followed = predict(layer, env=env, tiles=compiled.scheduled.tiles), predict(compiled)
    assert (followed.gemm, followed.alu, followed.store) == (quick.gemm, quick.alu, quick.store)
    assert followed.cycles == pytest.approx(quick.cycles, rel=0.1)
    assert predict(compiled, {"memory_latency": 800}).cycles > followed.cycles + 700


@pytest.mark.parametrize(("bits", "latency"), [(64, 1), (128, 64), pytest.param(256, 16, marks=pytest.mark.long)])
@pytest.mark.parametrize("kind", ["conv", "dense", "transposed", "binary"])
def test_following_the_instructions_is_close_to_the_hardware(kind: str, bits: int, latency: int) -> None:
    setup = HardwareSetup(hardware=HardwareConfig(data_width=bits), latency=latency)
    env = vta.Environment(VTAConfig(), hardware=setup)
    compiled = compile(KINDS[kind], env)
    session = Session(env.config, "tsim", setup=setup)
    arrays = [empty(t.shape, str(t.dtype), Device(EXT_DEV, 0, session)) for t in compiled.scheduled.args]
    compiled.module(*arrays)
    assert predict(compiled).cycles == pytest.approx(session.device.stats.cycles, rel=0.05, abs=20)


def test_a_program_is_followed_without_being_run() -> None:
    compiled = compile(KINDS["dense"], vta.Environment(VTAConfig()))
    session = Session(VTAConfig(), "reference", record=True)
    arrays = [empty(t.shape, str(t.dtype), Device(EXT_DEV, 0, session)) for t in compiled.scheduled.args]
    compiled.module(*arrays)
    [launch] = session.queue.launcher.launches
    assert predict(launch.program(session.memory)) == predict(compiled)


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        (
            ((3,), {}),
            CostError,
            "predict takes an operator, such as vta.topi.Conv2d(...), a compiled one, or a program, not int",
        ),
        (
            ((C2, 64), {}),
            CostError,
            "predict: hardware is a HardwareSetup, a HardwareConfig or a mapping such as {'data_width': 128}, not int",
        ),
        (
            ((C2, {"data_width": 96}), {}),
            HardwareConfigError,
            "hardware: data_width is 96, but it must be one of 64, 128, 256, 512",
        ),
        (
            ((C2,), {"tiles": ConvTiles(oc_nthread=2)}),
            OperatorError,
            "Conv2d: virtual threads have no model; give rotate_tiles and rotate_steps instead",
        ),
        (
            ((KINDS["dense"],), {"tiles": DenseTemplate()}),
            OperatorError,
            "Dense: TVM's DenseTemplate has no model; give MatmulTiles",
        ),
        (
            ((EpilogueOnly((1, 16), ()),), {}),
            OperatorError,
            "EpilogueOnly has no model of its cycles; give the class a method price",
        ),
    ],
)
def test_what_has_no_prediction_is_refused(
    arguments: tuple[tuple[object, ...], dict[str, object]], error: type[Exception], text: str
) -> None:
    with pytest.raises(error) as caught:
        predict(*arguments[0], **arguments[1])  # type: ignore[arg-type]  # that is the point
    assert str(caught.value) == text


def test_a_program_has_its_configuration() -> None:
    with pytest.raises(CostError) as caught:
        predict(Program(config=VTAConfig(), instructions=()), env=vta.get_env())
    assert str(caught.value) == "predict: a program has its configuration; leave tiles and env out"


def test_tiles_are_not_given_twice() -> None:
    with pytest.raises(CostError) as caught:
        predict(compile(KINDS["dense"], vta.get_env()), env=vta.get_env())
    assert (
        str(caught.value) == "predict: a compiled operator has its tiles and its environment; leave tiles and env out"
    )
