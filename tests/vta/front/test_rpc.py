"""Local sessions: files, modules, devices, functions."""

import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import vta
from runtime.devices.device import HardwareSetup
from runtime.session import SessionError
from tests.support.configs import CONFIGS
from vta import rpc, te


def copy_program(env: vta.Environment) -> vta.Module:
    """Return a module that copies one accumulator tile through the accelerator."""
    shape = (1, 1, env.BATCH, env.BLOCK_OUT)
    a = te.placeholder(shape, name="A", dtype=env.acc_dtype)
    buf = te.compute(shape, lambda *i: a(*i), "buf")
    c = te.compute(shape, lambda *i: buf(*i).astype(env.out_dtype), "C")
    s = te.create_schedule(c.op)
    s[buf].set_scope(env.acc_scope)
    s[buf].pragma(s[buf].op.axis[0], env.dma_copy)
    s[c].pragma(s[c].op.axis[0], env.dma_copy)
    with env:
        return vta.build(s, [a, c], target=env.target, name="copy")


@pytest.mark.parametrize("target", ["sim", "reference"])
def test_a_module_travels_as_a_file(tmp_path: Path, target: str) -> None:
    env = vta.Environment({**CONFIGS["b2k16"].to_dict(), "TARGET": target})
    path = tmp_path / "copy.o"
    copy_program(env).save(path)
    remote = rpc.LocalSession(env)
    remote.upload(str(path))
    f = remote.load_module("copy.o")
    device = remote.ext_dev(0)
    values = np.arange(-16, 16, dtype=np.int32).reshape(1, 1, 2, 16)
    a, c = vta.nd.array(values, device), vta.nd.empty(values.shape, "int8", device)
    f(a, c)
    np.testing.assert_array_equal(c.numpy(), values.astype(np.int8))
    assert remote.session.device.name == target


def test_br_046_a_module_of_another_configuration_is_refused_when_it_is_loaded(tmp_path: Path) -> None:
    path = tmp_path / "copy.o"
    copy_program(vta.Environment(CONFIGS["b1k8"])).save(path)
    remote = rpc.LocalSession()
    remote.upload(path)
    with pytest.raises(SessionError) as error:
        remote.load_module("copy.o")
    assert CONFIGS["b1k8"].bitstream in str(error.value)
    assert CONFIGS["default"].bitstream in str(error.value)


def test_sessions_of_one_environment_share_its_device() -> None:
    env = vta.Environment(CONFIGS["b1k8"])
    with env:
        assert rpc.LocalSession().session is env.session is rpc.LocalSession().session
    assert rpc.LocalSession().session is vta.get_env().session


def test_files_come_and_go() -> None:
    remote = rpc.LocalSession()
    remote.upload(b"data", "a.bin")
    assert remote.download("a.bin") == bytearray(b"data")
    remote.remove("a.bin")
    with pytest.raises(rpc.RpcError) as error:
        remote.download("a.bin")
    assert str(error.value) == "no file 'a.bin' was uploaded to this session; there is nothing"
    remote.upload(b"", "b.bin")
    with pytest.raises(rpc.RpcError, match=r"there is b\.bin"):
        remote.load_module("a.o")


def test_uploads_that_make_no_sense_are_refused(tmp_path: Path) -> None:
    remote = rpc.LocalSession()
    for action, text in (
        (lambda: remote.upload(b"data"), "upload of bytes: give the file a name with target="),
        (lambda: remote.upload(tmp_path / "no.o"), f"upload: {tmp_path / 'no.o'} is not a file"),
        *(
            (partial(action, name), f"{name!r}: files of a session have plain names, without folders")
            for name in ("../x", "", ".", "..", "a/", "a/b", "a\0b", "\ud800", "x" * 256, "é" * 128)
            for action in (partial(remote.upload, b""), remote.download, remote.remove, remote.load_module)
        ),
    ):
        with pytest.raises(rpc.RpcError) as error:
            action()
        assert str(error.value) == text


def test_hardware_of_another_environment_is_refused() -> None:
    remote = rpc.LocalSession(
        vta.Environment({**CONFIGS["default"].to_dict(), "TARGET": "tsim"}, hardware={"memory_latency": 2})
    )
    remote.reconfigure(remote.config, HardwareSetup(latency=2))
    with pytest.raises(SessionError) as error:
        remote.reconfigure(remote.config, HardwareSetup(latency=3))
    assert str(error.value) == (
        f"the current environment is for {HardwareSetup(latency=3)}, and the device is {HardwareSetup(latency=2)}; "
        "make a session of that environment, LocalSession(env)"
    )


def test_devices_of_a_session() -> None:
    remote = rpc.LocalSession()
    assert remote.ext_dev(0).session is remote.session
    assert remote.cpu(0) == vta.nd.cpu(0)
    assert remote.device("cpu") == remote.cpu()
    assert remote.context("ext_dev", 0) == remote.ext_dev(0)


def test_functions_of_a_session() -> None:
    remote = rpc.LocalSession(vta.Environment(CONFIGS["b1k8"]))
    for module in ("simulator", "tsim"):
        remote.get_function(f"vta.{module}.profiler_clear")()
        remote.get_function(f"vta.{module}.profiler_debug_mode")(0)
        status = remote.get_function(f"vta.{module}.profiler_status")()
        assert isinstance(status, str)
    assert json.loads(status) == dict.fromkeys(
        ["inp_load_nbytes", "wgt_load_nbytes", "acc_load_nbytes", "uop_load_nbytes", "out_store_nbytes",
         "gemm_counter", "alu_counter"], 0,
    )  # fmt: skip
    with pytest.raises(rpc.RpcError, match=r"the session has no function 'x'; it has vta\.simulator\.profiler_clear"):
        remote.get_function("x")


@pytest.mark.parametrize(
    ("name", "arguments", "sentence"),
    [
        ("profiler_clear", (1,), "takes no argument, not 1"),
        ("profiler_status", ([1] * 70,), "takes no argument, not [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, ..."),
        ("profiler_debug_mode", (), "takes a number, not nothing"),
        ("profiler_debug_mode", (1, 2), "takes a number, not 1, 2"),
        ("profiler_debug_mode", ("1",), "takes a number, not '1'"),
    ],
)
def test_functions_of_a_session_say_what_they_take(name: str, arguments: tuple[object, ...], sentence: str) -> None:
    remote = rpc.LocalSession(vta.Environment(CONFIGS["b1k8"]))
    with pytest.raises(rpc.RpcError) as error:
        remote.get_function(f"vta.simulator.{name}")(*arguments)
    assert str(error.value) == f"vta.simulator.{name} {sentence}"


def test_a_simulator_needs_no_preparation() -> None:
    env = vta.Environment(CONFIGS["b1k8"])
    remote = rpc.LocalSession(env)
    with env:
        vta.reconfig_runtime(remote)
        vta.program_fpga(remote)
        vta.program_fpga(remote, bitstream="nowhere.bit")
    with pytest.raises(SessionError, match="the current environment is for"):
        vta.reconfig_runtime(remote)


def test_odd_names_are_names(tmp_path: Path) -> None:
    remote = rpc.LocalSession()
    for name in ("x" * 255, "é" * 127, " ", "a\nb", "-", "...", "\udcff"):
        remote.upload(b"data", name)
        assert remote.download(name) == bytearray(b"data")
        remote.remove(name)
