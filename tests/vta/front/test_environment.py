"""``Environment`` and ``get_env()``. BR-055: leaving an environment brings back the one before, whatever happens."""

import copy
import dataclasses
import json
import pickle
import threading
from pathlib import Path

import pytest

import vta
from isa.config import ConfigError, VTAConfig
from isa.machine.hardware_config import HardwareConfig, HardwareConfigError
from runtime.devices.device import HardwareSetup
from runtime.session import Session, SessionError
from tests.support.configs import CONFIGS
from vta.environment import EnvironmentTargetError
from vta.tir.expr import Builtin, Call, StringImm
from vta.tir.stmt import AttrStmt, Evaluate, seq


def test_the_default_is_the_default_configuration() -> None:
    assert vta.get_env().config == VTAConfig()
    assert vta.get_env() is vta.get_env()


def test_the_default_numbers() -> None:
    env = vta.get_env()
    assert (env.BATCH, env.BLOCK_IN, env.BLOCK_OUT) == (1, 16, 16)
    assert (env.INP_WIDTH, env.WGT_WIDTH, env.ACC_WIDTH, env.OUT_WIDTH) == (8, 8, 32, 8)
    assert (env.inp_dtype, env.wgt_dtype, env.acc_dtype, env.out_dtype) == ("int8", "int8", "int32", "int8")
    assert (env.UOP_BUFF_SIZE, env.INP_BUFF_SIZE, env.WGT_BUFF_SIZE) == (32768, 32768, 262144)
    assert (env.ACC_BUFF_SIZE, env.OUT_BUFF_SIZE) == (131072, 32768)
    assert (env.INP_ELEM_BITS, env.WGT_ELEM_BITS, env.ACC_ELEM_BITS, env.OUT_ELEM_BITS) == (128, 2048, 512, 128)
    assert (env.INP_ELEM_BYTES, env.WGT_ELEM_BYTES, env.ACC_ELEM_BYTES, env.OUT_ELEM_BYTES) == (16, 256, 64, 16)
    assert (env.LOG_BLOCK, env.LOG_BLOCK_IN, env.LOG_BLOCK_OUT, env.LOG_OUT_WIDTH) == (4, 4, 4, 3)
    assert env.LOG_OUT_BUFF_SIZE == 15
    assert (env.inp_scope, env.wgt_scope, env.acc_scope) == ("local.inp_buffer", "local.wgt_buffer", "local.acc_buffer")
    assert (env.MAX_XFER, env.DEBUG_DUMP_INSN, env.DEBUG_DUMP_UOP) == (1 << 22, 2, 4)
    assert (env.DEBUG_SKIP_READ_BARRIER, env.DEBUG_SKIP_WRITE_BARRIER, env.DEBUG_FORCE_SERIAL) == (8, 16, 32)
    assert (env.TARGET, env.HW_VER, env.BITSTREAM) == ("sim", "0.0.2", "1x16_i8w8a32_15_15_18_17")
    assert env.MODEL == "sim_1x16_i8w8a32_15_15_18_17"
    assert str(env.target) == "ext_dev -keys=vta,cpu -device=vta -model=sim_1x16_i8w8a32_15_15_18_17"
    assert env.target_host == "llvm"
    assert env.target_vta_cpu.keys[0] == "arm_cpu"


@pytest.mark.parametrize("name", CONFIGS)
def test_sizes_follow_the_configuration(name: str) -> None:
    config = CONFIGS[name]
    env = vta.Environment(config)
    assert (config.batch, config.block_in, config.block_out) == (env.BATCH, env.BLOCK_IN, env.BLOCK_OUT)
    assert config.block_in == 1 << env.LOG_BLOCK_IN
    assert config.block_out == 1 << env.LOG_BLOCK_OUT
    assert env.OUT_BUFF_SIZE == 1 << env.LOG_OUT_BUFF_SIZE == config.out_buff_bytes
    assert config.block_in * config.block_out == env.WGT_ELEM_BYTES


def test_an_environment_comes_from_a_configuration_a_file_or_keys(tmp_path: Path) -> None:
    config = CONFIGS["b1k8"]
    path = tmp_path / "vta.json"
    path.write_text(json.dumps(config.to_dict()))
    assert vta.Environment(config) == vta.Environment(path) == vta.Environment(str(path))
    assert vta.Environment(config) == vta.Environment(config.to_dict())
    with pytest.raises(ConfigError, match="LOG_BLOK"):
        vta.Environment({**config.to_dict(), "LOG_BLOK": 3})


def test_br_055_entering_an_environment_twice_brings_back_the_one_before() -> None:
    outer, inner = vta.Environment(CONFIGS["b1k8"]), vta.Environment(CONFIGS["block32"])
    default = vta.get_env()
    with outer:
        assert vta.get_env() is outer
        with inner:
            assert vta.get_env() is inner
            with inner:
                assert vta.get_env() is inner
            assert vta.get_env() is inner
        assert vta.get_env() is outer
        with outer:
            assert vta.get_env() is outer
        assert vta.get_env() is outer
    assert vta.get_env() is default


def test_br_055_an_exception_brings_back_the_one_before() -> None:
    outer, inner = vta.Environment(CONFIGS["b1k8"]), vta.Environment(CONFIGS["block32"])
    with outer:
        with pytest.raises(KeyError), inner, inner:
            raise KeyError
        assert vta.get_env() is outer
    assert vta.get_env().config == VTAConfig()


def test_an_environment_is_current_in_its_own_thread_only() -> None:
    seen: list[VTAConfig] = []
    with vta.Environment(CONFIGS["b1k8"]):
        thread = threading.Thread(target=lambda: seen.append(vta.get_env().config))
        thread.start()
        thread.join()
    assert seen == [VTAConfig()]


def test_an_environment_cannot_be_changed() -> None:
    env = vta.Environment(VTAConfig())
    with pytest.raises(AttributeError) as error:
        env.BATCH = 2
    assert str(error.value) == (
        "environment attribute 'BATCH' cannot be set; make another one: "
        "vta.Environment(dataclasses.replace(env.config, log_block=5))"
    )
    with pytest.raises(AttributeError) as error:
        _ = env.BLOCK_INN  # type: ignore[attr-defined]
    assert str(error.value) == "the environment has no attribute 'BLOCK_INN'; did you mean 'BLOCK_IN'?"


def test_pragmas_of_the_mock_are_left_out() -> None:
    env = vta.Environment(VTAConfig())
    assert (env.dma_copy, env.alu) == ("dma_copy", "alu")
    assert (env.mock.dma_copy, env.mock.alu) == ("skip_dma_copy", "skip_alu")
    assert env.mock is env.mock
    assert env.mock.mock_mode
    assert env.mock.config == env.config
    assert env.mock != env


@pytest.mark.parametrize("name", CONFIGS)
def test_the_gemm_intrinsic_has_the_shape_of_the_core(name: str) -> None:
    config = CONFIGS[name]
    env = vta.Environment(config)
    intrin = env.gemm
    assert env.gemm is intrin
    shapes = [tuple(e.value for e in b.shape) for b in intrin.buffers]
    batch, inner, outer = config.batch, config.block_in, config.block_out
    assert shapes == [(batch, inner), (outer, inner), (batch, outer)]
    assert [b.scope for b in intrin.buffers] == [env.inp_scope, env.wgt_scope, env.acc_scope]
    assert [b.offset_factor for b in intrin.buffers] == [batch * inner, outer * inner, batch * outer]
    assert [b.data_alignment for b in intrin.buffers] == [batch * inner, outer * inner, batch * outer]


def micro_op(stmt: object) -> tuple[object, ...]:
    """Return the arguments of the micro-op inside the two scopes of a GEMM body."""
    assert isinstance(stmt, AttrStmt)
    assert (stmt.key, stmt.value.value) == ("coproc_scope", 2)
    inner = stmt.body
    assert isinstance(inner, AttrStmt)
    assert (inner.key, inner.value) == ("coproc_uop_scope", StringImm("VTAPushGEMMOp"))
    assert isinstance(inner.body, Evaluate)
    call = inner.body.value
    assert isinstance(call, Call)
    assert call.op is Builtin.UOP_PUSH
    return tuple(arg.value if hasattr(arg, "value") else arg for arg in call.args)


def test_the_gemm_intrinsic_pushes_a_micro_op_to_reset_and_one_to_add() -> None:
    intrin = vta.Environment(VTAConfig()).gemm
    inp, wgt, out = intrin.buffers
    pointers = (out.access_ptr("rw", "int32"), inp.access_ptr("r", "int32"), wgt.access_ptr("r", "int32"))
    assert micro_op(intrin.reduce_update) == (0, 0, *pointers, 0, 0, 0)
    assert micro_op(intrin.reduce_init) == (0, 1, pointers[0], 0, 0, 0, 0, 0)
    assert intrin.body == seq([intrin.reduce_init, intrin.reduce_update])
    mock = vta.Environment(VTAConfig()).mock.gemm
    assert {mock.body, mock.reduce_init, mock.reduce_update} == {Evaluate(vta.tir.IntImm(0))}


def test_numbers_of_the_device() -> None:
    dev = vta.get_env().dev
    assert (dev.MEM_ID_UOP, dev.MEM_ID_WGT, dev.MEM_ID_INP) == (0, 1, 2)
    assert (dev.MEM_ID_ACC, dev.MEM_ID_OUT, dev.MEM_ID_ACC_8BIT) == (3, 4, 5)
    assert (dev.ALU_OPCODE_MIN, dev.ALU_OPCODE_MAX, dev.ALU_OPCODE_ADD) == (0, 1, 2)
    assert (dev.ALU_OPCODE_SHR, dev.ALU_OPCODE_MUL) == (3, 4)
    assert (dev.QID_LOAD_INP, dev.QID_LOAD_WGT, dev.QID_LOAD_OUT) == (1, 1, 2)
    assert (dev.QID_COMPUTE, dev.QID_STORE_OUT) == (2, 3)
    assert dev.vta_axis.thread_tag == "vta"
    assert dev.vta_push_uop == "VTAPushGEMMOp"
    assert dev.get_task_qid(3) == 3
    assert dataclasses.replace(dev, DEBUG_NO_SYNC=True).get_task_qid(3) == 1
    assert str(dev.command_handle.dtype) == "handle"


@pytest.mark.parametrize(
    ("target", "host"),
    [
        ("tsim", "llvm"),
        ("reference", "llvm"),
        ("pynq", "llvm -mtriple=armv7-none-linux-gnueabihf"),
        ("ultra96", "llvm -mtriple=aarch64-linux-gnu"),
        ("zcu104", "llvm -mtriple=aarch64-linux-gnu"),
    ],
)
def test_every_target_has_a_host(target: str, host: str) -> None:
    assert vta.Environment(VTAConfig(target=target)).target_host == host


def test_br_054_the_default_configuration_needs_no_file_and_no_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("VTA_HW_PATH", str(tmp_path / "nowhere"))
    assert vta.get_env().config == VTAConfig()


def test_hardware_is_what_the_session_simulates() -> None:
    env = vta.Environment("tsim", hardware={"data_width": 128, "memory_latency": 64})
    assert env.hardware == HardwareSetup(hardware=HardwareConfig(data_width=128), latency=64)
    assert env.session.device.capabilities.setup == env.hardware
    assert env.mock.hardware == env.hardware
    assert env != vta.Environment("tsim")
    assert env == vta.Environment("tsim", hardware=env.hardware)
    assert hash(env) == hash(vta.Environment("tsim", hardware=env.hardware))


def test_hardware_that_cannot_be_is_refused() -> None:
    with pytest.raises(HardwareConfigError) as error:
        vta.Environment("tsim", hardware={"data_widht": 128})
    assert str(error.value) == "hardware: unknown key 'data_widht'; did you mean 'data_width'?"


def test_hardware_of_a_device_without_any_is_refused_when_it_is_used() -> None:
    env = vta.Environment(VTAConfig(), hardware={"data_width": 128})
    with pytest.raises(SessionError, match=r"^device 'sim' has no hardware to set up; run on 'tsim' "):
        _ = env.session


@pytest.mark.parametrize("mock", [False, True])
@pytest.mark.parametrize("name", CONFIGS)
def test_an_environment_in_use_is_pickled_and_copied(name: str, mock: bool) -> None:
    env = vta.Environment(CONFIGS[name], mock_mode=mock)
    assert env.session is env.session
    tuned = vta.Environment("tsim", hardware={"data_width": 128}, mock_mode=mock)
    assert pickle.loads(pickle.dumps(tuned)) == tuned
    assert env.gemm is not None
    for other in (pickle.loads(pickle.dumps(env)), copy.copy(env), copy.deepcopy(env)):
        assert other == env
        assert (other.config, other.mock_mode, other.MODEL) == (env.config, mock, env.MODEL)
        assert other.session is not env.session


@pytest.mark.parametrize("name", CONFIGS)
def test_an_environment_is_made_of_its_own_keys(name: str) -> None:
    env = vta.Environment(CONFIGS[name])
    assert vta.Environment(env.cfg_dict) == env


def test_a_key_that_follows_from_others_must_follow() -> None:
    keys = {**vta.get_env().cfg_dict, "LOG_OUT_WIDTH": 4}
    with pytest.raises(ConfigError) as error:
        vta.Environment(keys)
    assert str(error.value) == (
        "configuration: LOG_OUT_WIDTH is 4, but it follows from the other keys and is 3; leave it out"
    )


def test_fused_steps_are_a_fact_of_the_environment() -> None:
    assert [vta.Environment(VTAConfig(fused_alu=fused)).FUSED_ALU for fused in (0, 1)] == [0, 1]


def test_a_depthwise_gemm_is_for_configurations_with_taps() -> None:
    env = vta.Environment(VTAConfig(depthwise_taps=3))
    assert env.DEPTHWISE_TAPS == 3
    assert [tensor.shape[0].value for tensor in env.depthwise_gemm.inputs] == [3, 16]
    assert env.depthwise_gemm is env.depthwise_gemm
    assert vta.get_env().DEPTHWISE_TAPS == 0
    with pytest.raises(ConfigError) as caught:
        _ = vta.get_env().depthwise_gemm
    assert str(caught.value) == "DEPTHWISE_TAPS is 0, and a depthwise GEMM has one tap or more"


def test_an_environment_runs_on_a_session_that_it_is_given_before_it_makes_one() -> None:
    env = vta.Environment(VTAConfig())
    session = Session(VTAConfig(), "reference")
    env.run_on(session)
    assert env.session is session
    with pytest.raises(EnvironmentTargetError) as caught:
        env.run_on(Session(VTAConfig(), "sim"))
    assert str(caught.value) == "this environment runs on device 'reference' already; use a new one for 'sim'"
    with pytest.raises(SessionError, match=r"^the environment is for "):
        vta.Environment(VTAConfig(log_uop_buff_size=13)).run_on(session)
