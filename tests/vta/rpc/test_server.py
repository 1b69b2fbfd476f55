"""Servers: sessions in turn, limits, broken connections, killed processes, an orderly end."""

import errno
import json
import os
import signal
import socket
import subprocess
import threading
from contextlib import ExitStack, suppress
from pathlib import Path

import numpy as np
import pytest

import vta
from tests.support.configs import CONFIGS
from tests.support.remote.clients import session_on, until
from tests.support.remote.servers import STOP_AFTER, Running, process_of, running_server
from tests.vta.front.test_rpc import copy_program
from vta import rpc, te
from vta.rpc import caller
from vta.rpc.channel import Channel
from vta.rpc.messages.fields import Fields
from vta.rpc.messages.wire import MESSAGE_BYTES
from vta.rpc.remote import RemoteSession
from vta.rpc.remote_array import RemoteArray
from vta.rpc.remote_module import RemoteModule
from vta.rpc.serving import device_pool
from vta.rpc.serving.limits import ServerLimits

VALUES = np.arange(-8, 8, dtype=np.int32).reshape(1, 1, 1, 16)


def ready(session: RemoteSession, folder: Path) -> tuple[RemoteModule, vta.nd.NDArray, vta.nd.NDArray]:
    """Return a module that copies, and its two arrays."""
    path = folder / "copy.o"
    if not path.exists():
        copy_program(vta.get_env()).save(path)
    session.upload(path)
    a = vta.nd.array(VALUES, session.ext_dev(0))
    return session.load_module("copy.o"), a, vta.nd.empty(VALUES.shape, "int8", session.ext_dev(0))


def counting_program(folder: Path) -> Path:
    """Save a function of the CPU that adds one to what is in its output, so that calls can be counted."""
    n = te.placeholder((1,), "int32", "n")
    out = te.compute((1,), lambda i: n[i] + 1, "out")
    vta.build(te.create_schedule(out.op), [n, out], target="llvm", name="count").save(folder / "count.o")
    return folder / "count.o"


def slow_program(folder: Path) -> Path:
    """Save a function of the CPU that takes minutes."""
    n = te.placeholder((1,), "int32", "n")
    k = te.reduce_axis((0, 1 << 20), "k")
    j = te.reduce_axis((0, 1 << 20), "j")
    out = te.compute((1,), lambda i: te.sum((n[i] * k) ^ (j * k), axis=[k, j]), "out")
    vta.build(te.create_schedule(out.op), [n, out], target="llvm", name="slow").save(folder / "slow.o")
    return folder / "slow.o"


def cut(session: RemoteSession) -> None:
    """Break a session's connection as a network would."""
    channel = session.caller._line._channel
    assert channel is not None
    channel._socket.shutdown(socket.SHUT_RDWR)
    while channel._socket.recv(1 << 16):
        pass  # what had arrived is lost, too


def pid_of(server: Running) -> int:
    """Return the process of the first device."""
    link = server.server.pool.slots[0].link
    assert link is not None
    return link.pid


def test_a_connection_that_breaks_is_made_again(tmp_path: Path) -> None:
    with running_server() as server, session_on(server.port) as session:
        f, a, c = ready(session, tmp_path)
        for _ in range(3):
            cut(session)
            f(a, c)
        np.testing.assert_array_equal(c.numpy(), VALUES.astype(np.int8))
        assert [event["event"] for event in server.events()].count("session resumed") == 3
        assert len(server.server.sessions) == 1


def test_a_repeated_call_does_not_run_again(tmp_path: Path) -> None:
    with running_server() as server, session_on(server.port) as session:
        session.upload(counting_program(tmp_path))
        f = session.load_module("count.o")
        array = vta.nd.array(np.zeros(1, np.int32), session.cpu(0))
        out = vta.nd.array(np.zeros(1, np.int32), session.cpu(0))
        done = 0
        for number in range(20):
            if number % 2:
                line = session.caller._line
                # The call arrives, and its answer is lost.
                send = line._channel.send

                def and_cut(body: bytes, send: object = send) -> None:
                    before = server.server.metrics.value("calls")
                    send(body)
                    assert until(lambda: server.server.metrics.value("calls") > before)
                    cut(session)

                line._channel.send = and_cut
            f(array, out)
            array, out = out, array
            done += 1
        assert int(array.numpy()[0]) == done == 20
        assert server.server.metrics.value("calls_repeated") > 0


def test_an_interrupted_call_leaves_no_answer_for_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    with running_server() as server, session_on(server.port) as session:
        arrays = [vta.nd.array(np.full(4, value, np.int32), session.cpu(0)) for value in (1, 2, 3)]
        receive = Channel.receive

        def interrupted(channel: Channel) -> bytes:
            monkeypatch.setattr(Channel, "receive", receive)
            raise KeyboardInterrupt

        monkeypatch.setattr(Channel, "receive", interrupted)
        with pytest.raises(KeyboardInterrupt):
            arrays[0].numpy()
        assert [array.numpy().tolist() for array in arrays] == [[1] * 4, [2] * 4, [3] * 4]


def test_a_call_that_cannot_be_sent_leaves_the_session_usable() -> None:
    with running_server() as server, session_on(server.port) as session:
        for argument in (object(), 1 << 70):
            with pytest.raises(ConnectionError, match="this cannot be sent"):
                session.get_function("vta.simulator.profiler_clear")(argument)
        with pytest.raises(rpc.RpcError, match=f"a message may have {MESSAGE_BYTES} bytes, and this call has"):
            session.remove("x" * MESSAGE_BYTES)
        session.upload(b"x", "x")
        assert session.download("x") == b"x"


def test_a_call_that_breaks_every_connection_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    with running_server() as server:
        session = session_on(server.port)
        session.upload(b"x", "x")
        opened = session.caller._line.session

        def broken(channel: Channel) -> bytes:
            body = receive(channel)
            if Fields.of(body).has("session"):
                return body
            raise rpc.LostError("broken")

        receive = Channel.receive
        monkeypatch.setattr(Channel, "receive", broken)
        monkeypatch.setattr(caller, "_MOST_BREAKS", 3)
        with pytest.raises(rpc.LostError) as error:
            session.download("x")
        assert str(error.value) == "broken; the connection broke 3 times before this call was answered"
        assert opened in server.server.sessions


def test_arrays_are_freed_by_the_next_call_of_the_device() -> None:
    with running_server() as server, session_on(server.port) as session:
        array = vta.nd.empty((4,), "int8", session.cpu(0))
        assert isinstance(array, RemoteArray)
        number = array.number
        del array
        session.upload(b"x", "x")  # which the device hears nothing of
        vta.nd.empty((4,), "int8", session.cpu(0))
        with pytest.raises(rpc.RpcError, match=f"the session has no array number {number}"):
            session.caller.call("read", array=number, offset=0, nbytes=1)


def test_pieces_that_are_cut_off_arrive_once_and_in_order() -> None:
    data = np.random.default_rng(1).bytes(20 << 20)
    with running_server() as server, session_on(server.port) as session:
        thread = threading.Thread(target=session.upload, args=(data, "large"))
        thread.start()
        for _ in range(3):
            before = server.server.metrics.value("calls")
            until(lambda before=before: server.server.metrics.value("calls") > before, 5.0)
            with suppress(OSError, AssertionError):  # it may be being made again
                cut(session)
        thread.join()
        assert session.download("large") == data


def test_a_client_that_does_not_come_back_leaves_its_device() -> None:
    with running_server(limits=ServerLimits(linger_seconds=0.2)) as server:
        session = session_on(server.port, reconnect_seconds=0.0)
        cut(session)
        assert until(lambda: not server.server.sessions)
        with session_on(server.port) as other:
            other.upload(b"x", "x")
        with pytest.raises(rpc.LostError):
            session.upload(b"x", "x")
        assert {"its client did not come back"} <= {str(event.get("reason")) for event in server.events()}


def test_a_session_that_is_over_time_is_ended() -> None:
    with running_server(limits=ServerLimits(session_seconds=0.5)) as server:
        session = session_on(server.port)
        assert until(lambda: not server.server.sessions)
        with pytest.raises(rpc.LostError) as error:
            session.upload(b"x", "x")
        assert str(error.value) == "the session was ended: its time is over"


def test_a_call_that_takes_too_long_ends_its_session_and_no_other(tmp_path: Path) -> None:
    with running_server(targets=["sim", "sim"]) as server:
        with session_on(server.port) as one, session_on(server.port) as two:
            f, a, c = ready(two, tmp_path)
            one.upload(slow_program(tmp_path))
            slow = one.load_module("slow.o")
            n, out = (vta.nd.array(np.ones(1, np.int32), one.cpu(0)) for _ in range(2))
            one.limit_calls(0.5)
            with pytest.raises(rpc.LostError) as error:
                slow(n, out)
            assert str(error.value) == "the call took longer than 0.5 s and was ended; the session is over"
            f(a, c)
            np.testing.assert_array_equal(c.numpy(), VALUES.astype(np.int8))
        with session_on(server.port) as three:
            ready(three, tmp_path)


def test_no_call_takes_longer_than_the_server_lets_it(tmp_path: Path) -> None:
    with running_server(limits=ServerLimits(call_seconds=1.0)) as server, session_on(server.port) as session:
        session.limit_calls(60.0)
        session.upload(slow_program(tmp_path))

        def calls() -> None:
            """Call what takes minutes; a busy machine may take too long for a call before it."""
            n, out = (vta.nd.array(np.ones(1, np.int32), session.cpu(0)) for _ in range(2))
            session.load_module("slow.o")(n, out)

        with pytest.raises(rpc.LostError) as error:
            calls()
        assert str(error.value) == "the call took longer than 1 s and was ended; the session is over"


def test_a_device_process_that_dies_is_told_and_replaced(tmp_path: Path) -> None:
    with running_server(limits=ServerLimits(linger_seconds=3600)) as server:
        session = session_on(server.port)
        ready(session, tmp_path)
        os.kill(pid_of(server), signal.SIGKILL)
        with pytest.raises(rpc.LostError) as error:
            vta.nd.empty((1,), "int8", session.cpu(0))
        assert str(error.value) == "the device's process was ended by SIGKILL; the session is over"
        with pytest.raises(rpc.LostError):
            session.upload(b"", "x")
        assert until(lambda: server.server.pool.free == 1)  # at once: nobody comes back to such a session
        session.close()
        with session_on(server.port) as other:
            f, a, c = ready(other, tmp_path)
            f(a, c)
            np.testing.assert_array_equal(c.numpy(), VALUES.astype(np.int8))


def test_a_process_that_cannot_be_started_loses_no_device(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: object) -> None:
        raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    with running_server() as server:
        session = session_on(server.port)
        os.kill(pid_of(server), signal.SIGKILL)
        with monkeypatch.context() as patched:
            patched.setattr(device_pool, "DeviceLink", failing)
            with pytest.raises(rpc.LostError):
                vta.nd.empty((1,), "int8", session.cpu(0))
            session.close()
            assert until(lambda: server.server.pool.free == 1)
            with pytest.raises(rpc.RpcError, match="no process for the device can be started: "):
                session_on(server.port)
        with session_on(server.port) as again:
            again.upload(b"x", "x")


def test_what_takes_too_much_memory_is_refused_and_the_session_goes_on(tmp_path: Path) -> None:
    with running_server(limits=ServerLimits(memory=256 << 20)) as server, session_on(server.port) as session:
        f, a, c = ready(session, tmp_path)
        for place in (session.cpu(0), session.ext_dev(0)):
            with pytest.raises(rpc.RemoteError):
                vta.nd.empty((1 << 30,), "int8", place)
        f(a, c)
        np.testing.assert_array_equal(c.numpy(), VALUES.astype(np.int8))


def test_files_have_a_limit() -> None:
    with running_server(limits=ServerLimits(file_bytes=3 << 20)) as server, session_on(server.port) as session:
        session.upload(bytes(2 << 20), "a")
        with pytest.raises(rpc.RpcError, match=f"the files of this session may have {3 << 20} bytes"):
            session.upload(bytes(2 << 20), "b")
        session.remove("a")


def test_a_session_finds_nothing_of_the_one_before() -> None:
    with running_server() as server:
        with session_on(server.port) as session:
            session.upload(b"secret", "a")
            array = vta.nd.array(np.full(4096, 7, np.int8), session.ext_dev(0))
            assert isinstance(array, RemoteArray)
            number = array.number
        with session_on(server.port) as session:
            with pytest.raises(rpc.RpcError, match="there is nothing"):
                session.download("a")
            with pytest.raises(rpc.RpcError, match=f"the session has no array number {number}"):
                session.caller.call("read", array=number, offset=0, nbytes=1)
            assert not vta.nd.empty((4096,), "int8", session.ext_dev(0)).numpy().any()


def test_sessions_wait_for_a_device_in_order() -> None:
    with running_server() as server:
        first = session_on(server.port)
        order: list[int] = []

        def one(number: int) -> None:
            with session_on(server.port):
                order.append(number)

        threads = []
        for number in range(5):
            threads.append(threading.Thread(target=one, args=(number,)))
            threads[-1].start()
            assert until(lambda number=number: server.server.pool.waiting == number + 1)
        first.close()
        for thread in threads:
            thread.join()
        assert order == [0, 1, 2, 3, 4]


def test_too_many_that_wait_are_refused() -> None:
    with running_server(limits=ServerLimits(waiting=0)) as server, session_on(server.port):
        with pytest.raises(rpc.RpcError) as error:
            session_on(server.port)
        assert str(error.value) == "all 1 devices are busy and 0 clients wait; try later"


def test_a_client_that_goes_away_while_it_waits_gets_no_device() -> None:
    with running_server() as server, session_on(server.port):
        from tests.support.remote.clients import RawClient
        from vta.rpc.messages.wire import body_of, packed

        with RawClient(server.port) as raw:
            seal = raw.shake_hands()
            raw.send(packed(seal.close(body_of({"op": "open", "target": ""}))))
            assert until(lambda: server.server.pool.waiting == 1)
        assert until(lambda: server.server.pool.waiting == 0)


def test_another_configuration_is_refused_by_its_digest() -> None:
    with running_server(CONFIGS["b1k8"]) as server:
        with pytest.raises(rpc.RpcError) as error:
            session_on(server.port, digest=CONFIGS["default"].digest)
        assert CONFIGS["b1k8"].digest in str(error.value)
        assert CONFIGS["default"].digest in str(error.value)
        with session_on(server.port, digest=CONFIGS["b1k8"].digest) as session:
            assert session.config.digest == CONFIGS["b1k8"].digest


def test_calls_that_end_with_an_error_are_counted() -> None:
    with running_server() as server, session_on(server.port) as session:
        session.upload(b"x", "x")
        for name in ("y", "../x"):
            with pytest.raises(rpc.RpcError):
                session.download(name)
        assert server.server.metrics.value("errors") == 2
        assert server.server.metrics.value("calls") == 3


def test_the_journal_has_events_and_no_contents() -> None:
    with running_server() as server:
        with session_on(server.port) as session:
            session.upload(b"very secret", "name\x1b[2J")
        text = server.journal.getvalue()
        assert [event["event"] for event in server.events()] == ["listening", "session begun", "session ended"]
        assert "secret" not in text
        assert "\x1b" not in text


def test_a_server_that_is_killed_and_restarted_says_that_the_session_is_gone(tmp_path: Path) -> None:
    with process_of(tmp_path, "serve") as server:
        session = session_on(server.port, reconnect_seconds=300)
        session.upload(slow_program(tmp_path))
        slow = session.load_module("slow.o")
        n, out = (vta.nd.array(np.ones(1, np.int32), session.cpu(0)) for _ in range(2))
        threading.Timer(0.5, server.kill).start()
        restarted = ExitStack()

        def restart() -> None:
            server.process.wait()
            restarted.enter_context(process_of(tmp_path, "serve", port=server.port))

        thread = threading.Thread(target=restart)
        thread.start()
        try:
            with pytest.raises(rpc.LostError) as error:
                slow(n, out)
            assert str(error.value) == (
                "the server does not have this session (any more): it ended, or the server was restarted; "
                "whether the last call ran is not known"
            )
            thread.join()
            with session_on(server.port) as again:
                f, a, c = ready(again, tmp_path)
                f(a, c)
                np.testing.assert_array_equal(c.numpy(), VALUES.astype(np.int8))
        finally:
            thread.join()
            restarted.close()


def stat_of(pid: int | str) -> list[str]:
    """Return state, parent and more of a process, nothing of one that is gone or is just going."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def alive(pid: int) -> bool:
    return stat_of(pid)[:1] not in ([], ["Z"])


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_a_killed_server_leaves_no_process(tmp_path: Path) -> None:
    with process_of(tmp_path, "serve", "--devices", "sim:2") as server:
        session_on(server.port, reconnect_seconds=0)
        children = [
            int(path.parent.name)
            for path in Path("/proc").glob("[0-9]*/stat")
            if stat_of(path.parent.name)[1:2] == [str(server.process.pid)]
        ]
        assert len(children) == 2
        server.kill()
        assert until(lambda: not any(map(alive, children)))


def test_a_server_ends_in_order_when_it_is_asked_to(tmp_path: Path) -> None:
    with process_of(tmp_path, "serve") as server:
        session = session_on(server.port, reconnect_seconds=0)
        f, a, c = ready(session, tmp_path)
        f(a, c)
        assert server.terminate() == 0
        with pytest.raises(rpc.LostError):
            f(a, c)
    events = [json.loads(line)["event"] for line in (tmp_path / "log0").read_text().splitlines()]
    assert events == ["listening", "session begun", "stopping", "session ended", "stopped"]


def test_a_client_that_is_killed_leaves_its_device(tmp_path: Path) -> None:
    with running_server(limits=ServerLimits(linger_seconds=0.2)) as server:
        code = (
            "import sys, os, signal\n"
            "from tests.support.remote.clients import session_on\n"
            f"session = session_on({server.port})\n"
            "session.upload(b'x', 'x')\n"
            "os.kill(os.getpid(), signal.SIGKILL)\n"
        )
        import sys

        root = Path(__file__).resolve().parents[3]
        done = subprocess.run([sys.executable, "-c", code], cwd=root, timeout=STOP_AFTER, check=False)
        assert done.returncode == -signal.SIGKILL
        assert until(lambda: not server.server.sessions and server.server.pool.free == 1)
