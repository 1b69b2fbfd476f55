"""A board behind a server: what runs on it here runs on it from elsewhere, one session after the other."""

import asyncio
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner, Result

import vta
from isa.config import VTAConfig
from isa.machine.hardware_config import HardwareConfig
from isa.named_config import named_config
from isa.text.assembler import assemble
from runtime.devices.device import HardwareSetup
from runtime.drivers.built_board import BuiltBoard
from runtime.session import Session, SessionError
from tests.support.drivers.rtl_board import RtlWords
from tests.support.drivers.served import ADD_THREE, UdpBoard, over_pty, udp_board, write_board
from tests.support.drivers.uart_board import UartBoard
from tests.support.relay.quantised_models import small_model
from tests.support.remote.clients import session_on
from tests.support.remote.servers import KEY, process_of, running_server
from tests.support.remote.trackers import QUICK, running_tracker
from tests.vta.front.test_rpc import copy_program
from vta.autotvm import LocalBuilder, RPCRunner
from vta.autotvm.measure.local import Built
from vta.autotvm.task import extract_from_operators
from vta.cli.app import app
from vta.environment import Environment
from vta.rpc.errors import RemoteError, RpcError
from vta.rpc.messages.fields import Fields
from vta.rpc.messages.wire import body_of
from vta.rpc.serving.reporting import report_for_ever
from vta.rpc.serving.workshop import Workshop
from vta.topi import Dense
from vta.topi.core.epilogue import ShiftRight

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
CONFIG = VTAConfig(log_block=2, log_uop_buff_size=11, log_inp_buff_size=12, log_wgt_buff_size=13, log_acc_buff_size=14)
HARDWARE = HardwareConfig()
NBYTES = 1 << 22


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[UdpBoard]:
    with udp_board(tmp_path_factory.mktemp("boards") / "etherbone", CONFIG, HARDWARE, NBYTES) as found:
        yield found


@pytest.fixture
def key_file(tmp_path: Path) -> Path:
    file = tmp_path / "key"
    file.write_text(KEY.hex())
    file.chmod(0o600)
    return file


def vta_run(key_file: Path, port: int, *words: object) -> Result:
    command = ["run", *words, "--remote", f"127.0.0.1:{port}"]
    return CliRunner(env={"VTA_RPC_KEY_FILE": str(key_file)}).invoke(app, [str(word) for word in command])


def copied(port: int, folder: Path) -> None:
    """Copy an array on a server's board, and look at what its clock says."""
    env = Environment(CONFIG)
    path = folder / "copy.o"
    if not path.exists():
        copy_program(env).save(path)
    values = np.arange(-2, 2, dtype=np.int32).reshape(1, 1, 1, 4)
    with session_on(port, target="board") as session:
        assert (session.target, session.config.digest) == ("board", CONFIG.digest)
        session.upload(path)
        a = vta.nd.array(values, session.ext_dev(0))
        out = vta.nd.empty(values.shape, "int8", session.ext_dev(0))
        session.load_module("copy.o")(a, out)
        np.testing.assert_array_equal(out.numpy(), values)
        status = session.get_function("vta.tsim.profiler_status")()
        assert isinstance(status, str)
        assert json.loads(status)["cycle_count"] > 0


def test_sessions_use_the_board_in_turn(running: UdpBoard, tmp_path: Path) -> None:
    board = BuiltBoard(running.folder)
    with running_server(CONFIG, [], board=board) as server:
        for _ in range(2):  # the first one loaded native code: its process is gone
            copied(server.port, tmp_path)


def test_a_board_on_a_serial_port_is_served_too(tmp_path: Path) -> None:
    folder = write_board(tmp_path / "uart", CONFIG, HARDWARE, NBYTES, links=["uart"])
    with (
        over_pty(UartBoard(RtlWords(CONFIG, HARDWARE, NBYTES))) as path,
        running_server(CONFIG, ["sim"], board=BuiltBoard(folder, path)) as server,
    ):
        copied(server.port, tmp_path)
        with session_on(server.port, target="sim") as session:  # beside the board
            assert session.target == "sim"


@pytest.mark.parametrize("kind", ["etherbone", "uart"])
def test_between_two_sessions_the_board_is_anybodys(kind: str, running: UdpBoard, tmp_path: Path) -> None:
    program = assemble(ADD_THREE, config=CONFIG)
    uart = write_board(tmp_path / "uart", CONFIG, HARDWARE, NBYTES, links=["uart"])
    with over_pty(UartBoard(RtlWords(CONFIG, HARDWARE, NBYTES))) as path:
        board = BuiltBoard(running.folder) if kind == "etherbone" else BuiltBoard(uart, path)
        with running_server(CONFIG, [], board=board) as server:
            for _ in range(2):
                with session_on(server.port) as session:
                    assert session.run_program(program)["C"].tolist() == [[4, 5, 6, 7]]
                    process = server.server.pool.slots[0].link
                    assert process is not None
                    assert not process.used  # no native code was loaded: it serves the next session, too
                    if kind == "uart":
                        assert path in open_files(process.pid)
                assert path not in open_files(process.pid)
                with board.session() as here:  # over Ethernet, the port would be in use
                    assert here.run_program(program)["C"].tolist() == [[4, 5, 6, 7]]
            assert server.server.pool.slots[0].link is process


def open_files(pid: int) -> list[str]:
    """Return what a process has open."""
    return [os.readlink(file) for file in Path(f"/proc/{pid}/fd").iterdir()]


def test_nothing_but_what_was_built_is_configured(running: UdpBoard) -> None:
    with (
        running_server(CONFIG, [], board=BuiltBoard(running.folder)) as server,
        session_on(server.port) as session,
    ):
        session.reconfigure(CONFIG, HardwareSetup(hardware=HARDWARE))  # what it is
        with pytest.raises(SessionError) as caught:
            session.reconfigure(VTAConfig())
        assert str(caught.value) == (
            f"{running.folder}: the board was built for {CONFIG.bitstream} (digest {CONFIG.digest}), and the session "
            f"asks for {VTAConfig().bitstream} (digest {VTAConfig().digest}); use the board's own, or build the board "
            "for it"
        )
        with pytest.raises(SessionError, match="the device is a board, which is what was built; leave hardware= out"):
            session.reconfigure(CONFIG, HardwareSetup(latency=64))
        a = vta.nd.array(np.arange(4, dtype=np.int32).reshape(1, 1, 1, 4), session.ext_dev(0))
        assert a.numpy().ravel().tolist() == [0, 1, 2, 3]  # the device is still there


def test_a_device_that_cannot_be_made_again_is_given_back_all_the_same(tmp_path: Path) -> None:
    class Broken:
        """Makes one session, and then none."""

        sessions = 0

        @contextmanager
        def session(self, config: VTAConfig, setup: HardwareSetup | None) -> Iterator[Session]:
            del setup
            self.sessions += 1
            if self.sessions > 1:
                raise RpcError("the board is off")
            yield Session(config, "reference")

    shop = Workshop(CONFIG, Broken(), tmp_path)
    message = Fields.of(body_of({"op": "configure", "config": VTAConfig().to_dict()}))
    with pytest.raises(RpcError, match=r"^the board is off$"):
        shop.do(message)
    shop.close()


def test_a_board_that_is_gone_is_told_to_the_client(tmp_path: Path) -> None:
    folder = write_board(tmp_path / "off", CONFIG, HARDWARE, NBYTES, port=9)
    with running_server(CONFIG, [], board=BuiltBoard(folder)) as server:
        with pytest.raises(RemoteError, match=r"^the device cannot be made: .*127\.0\.0\.2"), session_on(server.port):
            pass
        with (
            pytest.raises(RpcError, match="the server has no device 'tsim'; it has board"),
            session_on(server.port, target="tsim"),
        ):
            pass


def test_the_command_serves_a_board_and_scripts_run_there(running: UdpBoard, tmp_path: Path, key_file: Path) -> None:
    with process_of(tmp_path, "serve", "--board", str(running.folder)) as process:
        script = vta_run(key_file, process.port, EXAMPLES / "vector_add.py")
        assert script.exit_code == 0, script.output
        assert "vector add: equal to numpy" in script.stdout
        network = small_model(tmp_path / "small.onnx")
        here = CliRunner().invoke(app, ["run", str(network), "--board", str(running.folder)])
        there = vta_run(key_file, process.port, network)
        assert here.exit_code == there.exit_code == 0, here.output + there.output
        assert there.stdout.startswith("features")
        assert there.stdout in here.stdout  # the same random numbers
        other = vta_run(key_file, process.port, EXAMPLES / "vector_add.py", "--config", "batch4")
        assert other.exit_code == 1
        assert CONFIG.digest in other.stderr
        assert named_config(Path("batch4")).digest in other.stderr


def test_choices_are_measured_on_a_board_that_a_tracker_gives(running: UdpBoard, key_file: Path) -> None:
    [task] = extract_from_operators([Dense(4, 8, 8, (ShiftRight(4),))], env=Environment(CONFIG))
    choice = LocalBuilder(n_parallel=0).build(
        task, task.config_space.get(next(iter(task.config_space.valid_indices())))
    )
    assert isinstance(choice, Built)
    board = BuiltBoard(running.folder)
    with running_tracker() as (_, client), running_server(CONFIG, [], board=board, leases_only=True) as server:
        reports = report_for_ever(server.server, client.address, host="127.0.0.1", port=server.port, seconds=QUICK)
        reporting = asyncio.run_coroutine_threadsafe(reports, server.loop)
        runner = RPCRunner("board", client.address.host, client.address.port, key_file=key_file)
        try:
            found = runner.run(choice)
        finally:
            runner.close()
            reporting.cancel()
    assert (found.error, len(found.costs)) == ("", 1)
    assert found.cost > 0
