"""Remote sessions do what local ones do: files, arrays, modules, functions, networks, programs."""

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import vta
from isa.program_file import program_to_bytes
from runtime.devices.device import HardwareSetup
from runtime.executor.container import network_to_bytes
from runtime.executor.runner import NetworkRunner
from runtime.memory.array import ArrayError
from runtime.session import Session, SessionError
from tests.support.configs import CONFIGS
from tests.support.isa.random_programs import random_program
from tests.support.remote.clients import session_on
from tests.support.remote.servers import Running, running_server
from tests.support.runtime.small_networks import small_network
from tests.vta.front.test_rpc import copy_program
from vta import rpc, te
from vta.codegen.arguments import ArgumentError
from vta.codegen.module import ModuleError
from vta.rpc.remote import RemoteSession


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    with running_server(targets=["sim", "reference", "tsim"]) as running:
        yield running


@pytest.fixture
def remote(server: Running) -> Iterator[RemoteSession]:
    with session_on(server.port, target="sim") as session:
        yield session


def test_upstreams_way_of_running(remote: RemoteSession, tmp_path: Path) -> None:
    env = vta.get_env()
    path = tmp_path / "copy.o"
    copy_program(env).save(path)
    with env:
        vta.reconfig_runtime(remote)
        vta.program_fpga(remote)
    remote.upload(path)
    f = remote.load_module("copy.o")
    ctx = remote.ext_dev(0)
    values = np.arange(-8, 8, dtype=np.int32).reshape(1, 1, 1, 16)
    a, c = vta.nd.array(values, ctx), vta.nd.empty(values.shape, "int8", ctx)
    remote.get_function("vta.simulator.profiler_clear")()
    f(a, c)
    np.testing.assert_array_equal(c.numpy(), values.astype(np.int8))
    np.testing.assert_array_equal(c.asnumpy(), values.astype(np.int8))
    status = json.loads(str(remote.get_function("vta.simulator.profiler_status")()))
    assert status["acc_load_nbytes"] == 64
    result = f.time_evaluator(f.entry_name, ctx, number=3, repeat=2)(a, c)
    assert len(result.results) == 2
    assert result.mean > 0
    assert c.ctx == ctx
    assert repr(f) == "<remote module: copy(A: int32[1, 1, 1, 16], C: int8[1, 1, 1, 16])>"


def test_upstreams_way_of_running_on_the_hardware_that_the_environment_names(server: Running, tmp_path: Path) -> None:
    """``tsim`` counts the cycles that it counts in this process, with every latency of the memory."""
    module = copy_program(vta.get_env())
    module.save(tmp_path / "copy.o")
    values = np.arange(-8, 8, dtype=np.int32).reshape(1, 1, 1, 16)
    for latency in (None, 60):
        env = vta.Environment(CONFIGS["default"], hardware=latency and {"memory_latency": latency})
        with session_on(server.port, target="tsim") as remote, env:
            vta.reconfig_runtime(remote)
            remote.upload(tmp_path / "copy.o")
            f = remote.load_module("copy.o")
            ctx = remote.ext_dev(0)
            a, c = vta.nd.array(values, ctx), vta.nd.empty(values.shape, "int8", ctx)
            f(a, c)
            remote.get_function("vta.tsim.profiler_clear")()
            f(a, c)
            there = json.loads(str(remote.get_function("vta.tsim.profiler_status")()))
            np.testing.assert_array_equal(c.numpy(), values.astype(np.int8))
            assert len(f.time_evaluator(f.entry_name, ctx, number=2, repeat=3)(a, c).results) == 3
        local = Session(env.config, "tsim", setup=env.hardware)
        here = vta.nd.Device(vta.nd.EXT_DEV, 0, local)
        a, c = vta.nd.array(values, here), vta.nd.empty(values.shape, "int8", here)
        module(a, c)
        local.device.clear_stats()
        module(a, c)
        assert there == local.device.stats.as_dict()
        assert there["cycle_count"] > 2 * (latency or 1)


def test_hardware_is_for_devices_that_have_it(remote: RemoteSession) -> None:
    for _ in range(2):  # what is refused leaves the device as it was
        with pytest.raises(SessionError) as error:
            remote.reconfigure(remote.config, HardwareSetup(latency=3))
        assert str(error.value) == (
            "device 'sim' has no hardware to set up; run on 'tsim' (`--target tsim`), or leave its sizes out"
        )
        assert vta.nd.array(np.arange(3), remote.ext_dev(0)).numpy().tolist() == [0, 1, 2]


def test_a_client_can_bound_its_calls(server: Running) -> None:
    with session_on(server.port, target="reference") as remote:
        remote.limit_calls(60.0)
        place = remote.ext_dev(0)
        vta.nd.empty((1,), "int8", place)
        remote.limit_calls(1e-6)
        with pytest.raises(rpc.LostError) as error:
            vta.nd.empty((1,), "int8", place)
        assert str(error.value) == "the call took longer than 1e-06 s and was ended; the session is over"


@pytest.mark.parametrize("target", ["sim", "reference"])
def test_a_device_of_a_kind_is_chosen_by_tvms_key(server: Running, target: str) -> None:
    with session_on(server.port, target=target) as remote:
        assert remote.target == target


def test_a_kind_that_is_not_there_is_refused(server: Running) -> None:
    with pytest.raises(rpc.RpcError) as error:
        session_on(server.port, target="pynq")
    assert str(error.value) == "the server has no device 'pynq'; it has reference, sim, tsim"


def test_functions_of_the_cpu_run_in_the_servers_memory(remote: RemoteSession, tmp_path: Path) -> None:
    n = 1000
    a = te.placeholder((n,), "float32", "a")
    b = te.compute((n,), lambda i: a[i] * 2.0 + 1.0, "b")
    vta.build(te.create_schedule(b.op), [a, b], target="llvm", name="double").save(tmp_path / "double.o")
    remote.upload(tmp_path / "double.o")
    f = remote.load_module("double.o")["double"]
    values = np.random.default_rng(3).standard_normal(n).astype(np.float32)
    there, result = vta.nd.array(values, remote.cpu(0)), vta.nd.empty((n,), "float32", remote.cpu(0))
    f(there, result)
    np.testing.assert_array_equal(result.numpy(), values * np.float32(2) + np.float32(1))


def test_large_arrays_and_files_travel_in_pieces(remote: RemoteSession) -> None:
    rng = np.random.default_rng(4)
    values = rng.integers(-128, 128, (3, 1 << 20), np.int8)
    for place in (remote.ext_dev(0), remote.cpu(0)):
        np.testing.assert_array_equal(vta.nd.array(values, place).numpy(), values)
    for size in (0, 1, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, 3 << 20):
        data = rng.bytes(size)
        remote.upload(data, "a.bin")
        assert remote.download("a.bin") == data


@pytest.mark.parametrize("dtype", ["int4", "uint1", "bool", "float16", "int64"])
def test_arrays_of_every_kind_come_back(remote: RemoteSession, dtype: str) -> None:
    host = "int8" if dtype == "int4" else "uint8" if dtype == "uint1" else dtype
    values = np.random.default_rng(5).integers(0, 2, (3, 5)).astype(host)
    array = vta.nd.array(values, remote.ext_dev(0), dtype=dtype)
    assert array.dtype == dtype
    np.testing.assert_array_equal(array.numpy(), values)
    here = vta.nd.array(array, vta.nd.cpu(0))
    np.testing.assert_array_equal(here.numpy(), values)


def test_arrays_are_freed_with_the_next_call(remote: RemoteSession) -> None:
    place = remote.ext_dev(0)
    for _ in range(20):
        vta.nd.empty((1 << 28,), "int8", place)  # of a device memory of 2 GiB


def test_what_local_sessions_refuse_is_refused_in_the_same_words(remote: RemoteSession, tmp_path: Path) -> None:
    path = tmp_path / "copy.o"
    copy_program(vta.get_env()).save(path)
    local = rpc.LocalSession()
    for session in (local, remote):
        session.upload(path)
    modules = [session.load_module("copy.o") for session in (local, remote)]
    cases = (
        (rpc.RpcError, lambda s, _: s.download("no.bin")),
        (rpc.RpcError, lambda s, _: s.download("../x")),
        (rpc.RpcError, lambda s, _: s.upload(b"", "a/b")),
        (rpc.RpcError, lambda s, _: s.get_function("x")()),
        (ModuleError, lambda _, m: m["nothing"]),
        (ArgumentError, lambda _, m: m()),
        (ArgumentError, lambda s, m: m(*(vta.nd.empty((1,), "int32", s.ext_dev(0)) for _ in range(2)))),
        (ArrayError, lambda s, _: vta.nd.empty((-1,), "int8", s.ext_dev(0))),
        (ArrayError, lambda s, _: vta.nd.array(np.array([300]), s.ext_dev(0), dtype="int8")),
    )
    for kind, action in cases:
        sentences = []
        for session, module in zip((local, remote), modules, strict=True):
            with pytest.raises(kind) as error:
                action(session, module)
            sentences.append(str(error.value))
        assert sentences[0] == sentences[1]


def test_an_array_of_somewhere_else_is_no_argument(remote: RemoteSession, tmp_path: Path) -> None:
    copy_program(vta.get_env()).save(tmp_path / "copy.o")
    remote.upload(tmp_path / "copy.o")
    f = remote.load_module("copy.o")
    with pytest.raises(ArgumentError, match="is not on this session; copy it with"):
        f(vta.nd.empty((1, 1, 1, 16), "int32"), 3)


def test_a_module_of_this_process_is_sent_to_where_its_arrays_are(remote: RemoteSession) -> None:
    module = copy_program(vta.get_env())
    values = np.arange(16, dtype=np.int32).reshape(1, 1, 1, 16)
    for _ in range(2):
        a, c = vta.nd.array(values, remote.ext_dev(0)), vta.nd.empty(values.shape, "int8", remote.ext_dev(0))
        module(a, c)
        np.testing.assert_array_equal(c.numpy(), values.astype(np.int8))
    assert len(remote.caller.sent) == 1
    with pytest.raises(ArgumentError, match="is not on this session"):
        module(a, vta.nd.empty(values.shape, "int8"))


def test_a_session_takes_another_configuration_at_its_beginning(remote: RemoteSession, tmp_path: Path) -> None:
    env = vta.Environment(CONFIGS["b2k16"])
    copy_program(env).save(tmp_path / "copy.o")
    remote.upload(tmp_path / "copy.o")
    with pytest.raises(SessionError, match=r"module 'copy\.o' is for 2x16"):
        remote.load_module("copy.o")
    with env:
        vta.reconfig_runtime(remote)
    f = remote.load_module("copy.o")
    values = np.arange(32, dtype=np.int32).reshape(1, 1, 2, 16)
    a, c = vta.nd.array(values, remote.ext_dev(0)), vta.nd.empty(values.shape, "int8", remote.ext_dev(0))
    f(a, c)
    np.testing.assert_array_equal(c.numpy(), values.astype(np.int8))
    with pytest.raises(rpc.RpcError, match="reconfigure it at its beginning"):
        remote.reconfigure(CONFIGS["default"])


def test_a_network_runs_without_native_code(server: Running) -> None:
    small = small_network()
    network = small.network
    with running_server(network.config) as other, session_on(other.port) as remote:
        remote.upload(network_to_bytes(network), "n.vtam")
        loaded = remote.load_network("n.vtam")
        assert [tensor.name for tensor in loaded.inputs] == list(network.inputs)
        rng = np.random.default_rng(6)
        inputs = {t.name: rng.integers(-100, 100, t.shape).astype(t.dtype) for t in loaded.inputs}
        expected = NetworkRunner(network, Session(network.config, "reference")).run(inputs)
        for name, value in loaded.run(inputs).items():
            np.testing.assert_array_equal(value, expected[name])
        assert all(slot.link is not None and not slot.link.used for slot in other.server.pool.slots)


def test_a_program_runs_and_its_outputs_come_back(remote: RemoteSession) -> None:
    program = random_program(np.random.default_rng(7), CONFIGS["default"], length=12)
    expected = Session(program.config, "reference").run_program(program)
    found = remote.run_program(program)
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        np.testing.assert_array_equal(found[name], value)
    remote.upload(program_to_bytes(program)[:-1], "program.vtab")
    with pytest.raises(rpc.RemoteError) as error:
        remote.caller.call("run_program", name="program.vtab")
    assert error.value.kind == "ProgramError"


def test_a_closed_session_says_so(server: Running) -> None:
    session = session_on(server.port)
    session.close()
    session.close()
    with pytest.raises(rpc.LostError) as error:
        session.upload(b"", "a")
    assert str(error.value) == "the session was closed"


def test_a_session_lives_as_long_as_what_is_of_it(server: Running) -> None:
    array = vta.nd.array(np.arange(5), session_on(server.port, target="sim").ext_dev(0))
    np.testing.assert_array_equal(array.numpy(), np.arange(5))
    del array


def test_a_session_prints_where_it_is(server: Running, remote: RemoteSession) -> None:
    assert repr(remote) == f"<remote session on 127.0.0.1:{server.port}: sim, 1x16_i8w8a32_15_15_18_17>"
