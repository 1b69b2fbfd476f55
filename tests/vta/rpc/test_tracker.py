"""Trackers: who is served when, leases that end, servers and trackers that are restarted."""

import asyncio
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import vta
from tests.support.configs import CONFIGS
from tests.support.remote.certificates import made_certificate
from tests.support.remote.clients import session_on, until
from tests.support.remote.servers import KEY, process_of, running_server
from tests.support.remote.trackers import QUICK, running_tracker, tracked_server
from vta import rpc
from vta.rpc.channel import Address, Channel
from vta.rpc.messages.handshake import HandshakeError
from vta.rpc.messages.key import Key
from vta.rpc.messages.lease import Lease
from vta.rpc.serving import reporting
from vta.rpc.serving import server as server_module
from vta.rpc.serving.reporting import report_for_ever
from vta.rpc.serving.tracker import Tracker, TrackerLimits
from vta.rpc.tracker_client import TrackerSession


@pytest.fixture
def tracked() -> Iterator[tuple[Tracker, TrackerSession]]:
    with running_tracker() as made:
        yield made


def test_a_device_of_the_farm_is_used_like_any_other(tracked: tuple[Tracker, TrackerSession]) -> None:
    tracker, client = tracked
    with tracked_server(client) as server, client.request() as session:
        values = np.arange(5, dtype=np.int32)
        np.testing.assert_array_equal(vta.nd.array(values, session.ext_dev(0)).numpy(), values)
        assert until(lambda: all(given.seen for known in tracker.servers.values() for given in known.given.values()))
        session.close()
        assert until(lambda: not any(known.given for known in tracker.servers.values()))
        assert server.server.pool.free == 1


@pytest.mark.parametrize("key", ["digest", "bitstream", "target", "both", "any"])
def test_devices_are_found_by_what_they_are(tracked: tuple[Tracker, TrackerSession], key: str) -> None:
    _, client = tracked
    config = CONFIGS["b1k8"]
    wanted = {
        "digest": config.digest, "bitstream": config.bitstream, "target": "reference",
        "both": f"reference/{config.digest}", "any": "",
    }[key]  # fmt: skip
    with tracked_server(client, "b1k8"), client.request(wanted) as session:
        assert session.config.digest == config.digest


def test_another_configuration_is_waited_for_and_named(tracked: tuple[Tracker, TrackerSession]) -> None:
    tracker, client = tracked
    with tracked_server(client, "b1k8"):
        assert until(lambda: tracker.servers)
        with pytest.raises(rpc.RpcError) as error:
            client.request(CONFIGS["default"].digest, wait_seconds=0.5)
        config = CONFIGS["b1k8"]
        assert str(error.value) == (
            f"no device {CONFIGS['default'].digest!r} was free in time; there are reference {config.digest} "
            f"({config.bitstream})"
        )


def test_a_tracker_and_its_servers_may_have_tls(tmp_path: Path) -> None:
    certificate, key = map(str, made_certificate(tmp_path))
    (tmp_path / "other").mkdir()
    other, _ = made_certificate(tmp_path / "other")
    tls = {"certificate": certificate, "private_key": key}
    with running_tracker(**tls) as (tracker, client), tracked_server(client, **tls) as server:
        with client.request() as session:
            session.upload(b"x", "x")
            assert session.download("x") == b"x"
            for address in (client.address, session.caller.address):
                with pytest.raises(HandshakeError, match="TLS failed"):
                    Channel(replace(address, certificate=str(other)))
        with pytest.raises(HandshakeError, match="the key is not the one of this server"):
            TrackerSession(replace(client.address, key=Key(bytes(32)))).request()
        with pytest.raises(ConnectionError):  # a handshake that does not begin with TLS
            TrackerSession(replace(client.address, certificate=None)).request(max_retry=0)
        assert tracker.metrics.value("leases") == server.server.metrics.value("sessions") == 1


def test_the_command_of_a_tracker_takes_a_certificate(tmp_path: Path) -> None:
    (tmp_path / "tls").mkdir()
    certificate, key = map(str, made_certificate(tmp_path / "tls"))
    tls = ("--certificate", certificate, "--private-key", key)
    with process_of(tmp_path, "tracker", *tls) as tracker:
        reports = ("--tracker", f"127.0.0.1:{tracker.port}", "--tracker-certificate", certificate)
        with process_of(tmp_path, "serve", "--devices", "reference", *reports, *tls):
            farm = rpc.connect_tracker(
                "127.0.0.1", tracker.port, key_file=tmp_path / "key", certificate=certificate,
                tracker_certificate=certificate,
            )  # fmt: skip
            with farm.request() as session:
                session.upload(b"x", "x")
                assert session.download("x") == b"x"


def test_nobody_uses_a_tracked_server_without_a_lease(tracked: tuple[Tracker, TrackerSession]) -> None:
    _, client = tracked
    with tracked_server(client) as server:
        with pytest.raises(rpc.RpcError, match="takes sessions from its tracker alone"):
            session_on(server.port)
        lease = Lease("1", server.server.name, "reference", time.time() + 60)
        for ticket, sentence in (
            (lease.ticket(Key(bytes(32))), "was not made by a tracker with this server's key"),
            (Lease("1", "other", "reference", time.time() + 60).ticket(KEY), "is for another server"),
            (Lease("1", server.server.name, "reference", time.time() - 1).ticket(KEY), "the lease has ended"),
            (b"", "was not made by a tracker"),
        ):
            with pytest.raises(rpc.RpcError, match=sentence):
                session_on(server.port, ticket=ticket)
        with session_on(server.port, ticket=lease.ticket(KEY)):
            pass
        with pytest.raises(rpc.RpcError, match="the lease was used before"):
            session_on(server.port, ticket=lease.ticket(KEY))


@pytest.mark.parametrize("ahead", [-7200.0, 7200.0])
def test_clocks_of_tracker_and_server_may_differ(
    tracked: tuple[Tracker, TrackerSession], monkeypatch: pytest.MonkeyPatch, ahead: float
) -> None:
    tracker, client = tracked
    with tracked_server(client) as server:
        clock = SimpleNamespace(time=lambda: time.time() + ahead, monotonic=time.monotonic)
        monkeypatch.setattr(server_module, "time", clock)
        monkeypatch.setattr(reporting, "time", clock)
        assert until(lambda: abs(server.server.tracker_ahead + ahead) < 60)
        with client.request(session_timeout=30) as session:
            session.upload(b"x", "x")
            assert 0 < session.caller.opened.real("seconds") <= 30
        late = Lease("1", server.server.name, "reference", time.time() - 1).ticket(KEY)
        with pytest.raises(rpc.RpcError, match="the lease has ended"):
            session_on(server.port, ticket=late)
    assert tracker.servers


def test_higher_priorities_come_first_and_then_who_came_first(tracked: tuple[Tracker, TrackerSession]) -> None:
    tracker, client = tracked
    order: list[int] = []

    def one(number: int, priority: int) -> None:
        with client.request(priority=priority):
            order.append(number)

    with tracked_server(client):
        first = client.request()
        threads = []
        for number, priority in enumerate((1, 5, 1, 9, 5)):
            threads.append(threading.Thread(target=one, args=(number, priority)))
            threads[-1].start()
            assert until(lambda number=number: len(tracker._waiters) == number + 1)
        first.close()
        for thread in threads:
            thread.join()
    assert order == [3, 1, 4, 0, 2]


def test_a_lease_ends_with_its_time(tracked: tuple[Tracker, TrackerSession]) -> None:
    _, client = tracked
    with tracked_server(client) as server:
        session = client.request(session_timeout=300.0)
        [served] = server.server.sessions.values()
        assert 0 < served.ends - time.monotonic() <= 300
        served.ends = time.monotonic()
        with client.request(wait_seconds=300) as other:
            other.upload(b"x", "x")
        with pytest.raises(rpc.LostError, match="its time is over"):
            session.upload(b"x", "x")
        assert server.server.pool.free == 1


def test_a_lease_that_nobody_comes_with_ends() -> None:
    with running_tracker(TrackerLimits(claim_seconds=2.0)) as (tracker, client), tracked_server(client):
        client._ask("request", key="", priority=1, seconds=0.0, wait=0.0)
        with client.request(wait_seconds=300) as session:
            session.upload(b"x", "x")
        assert tracker.metrics.value("leases_unused") >= 1


def test_a_client_that_goes_away_while_it_waits_keeps_no_device(tracked: tuple[Tracker, TrackerSession]) -> None:
    from vta.rpc.channel import Channel
    from vta.rpc.messages.wire import body_of

    tracker, client = tracked
    with tracked_server(client):
        first = client.request()
        channel = Channel(client.address)
        channel.send(body_of({"op": "request", "key": "", "priority": 1, "seconds": 0.0, "wait": 0.0}))
        assert until(lambda: len(tracker._waiters) == 1)
        channel.close()
        assert until(lambda: not tracker._waiters)
        first.close()
        with client.request(wait_seconds=300):
            pass


def test_many_clients_share_many_servers_and_no_device_is_given_twice(tracked: tuple[Tracker, TrackerSession]) -> None:
    _, client = tracked
    done: list[int] = []
    errors: list[BaseException] = []

    def one(number: int) -> None:
        try:
            with client.request() as session:
                array = vta.nd.array(np.full(3, number, np.int32), session.ext_dev(0))
                done.append(int(array.numpy()[0]))
        except BaseException as error:
            errors.append(error)

    with ExitStack() as stack:
        servers = [stack.enter_context(tracked_server(client, targets=("reference", "reference"))) for _ in range(2)]
        threads = [threading.Thread(target=one, args=(number,)) for number in range(30)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert errors == []
        assert sorted(done) == list(range(30))
        assert sum(server.server.metrics.value("sessions") for server in servers) == 30
        assert all(server.server.pool.free == 2 for server in servers)


def test_a_server_that_is_gone_is_not_handed_out(tracked: tuple[Tracker, TrackerSession]) -> None:
    tracker, client = tracked
    with tracked_server(client):
        assert until(lambda: tracker.servers)
    with tracked_server(client), client.request(wait_seconds=300) as session:
        session.upload(b"x", "x")


def test_a_silent_server_is_forgotten() -> None:
    with running_tracker(TrackerLimits(silence_seconds=0.3)) as (tracker, client):
        with tracked_server(client):
            assert until(lambda: tracker.servers)
        assert until(lambda: not tracker.servers)
        assert client.text_summary() == "no server"


def test_a_summary_says_what_there_is(tracked: tuple[Tracker, TrackerSession]) -> None:
    tracker, client = tracked
    with tracked_server(client, targets=("reference", "reference")) as server, client.request():
        config = CONFIGS["default"]
        assert until(lambda: any(known.busy for known in tracker.servers.values()))
        assert client.text_summary() == (
            f"127.0.0.1:{server.port} {config.bitstream} ({config.digest}): {{'reference': 2}}, busy {{'reference': 1}}"
        )


def test_a_report_that_is_refused_is_noted(tracked: tuple[Tracker, TrackerSession]) -> None:
    tracker, client = tracked
    with running_server(targets=("reference",), leases_only=True) as server:
        reports = report_for_ever(server.server, client.address, host="x" * 300, port=server.port, seconds=QUICK)
        task = asyncio.run_coroutine_threadsafe(reports, server.loop)
        try:
            reason = "the tracker refuses the report: 'host' of the message must be a text of at most 256 characters"
            assert until(lambda: reason in [event.get("reason") for event in server.events()])
        finally:
            task.cancel()
    assert not tracker.servers


def test_what_a_tracker_does_not_know_is_refused(tracked: tuple[Tracker, TrackerSession]) -> None:
    _, client = tracked
    with pytest.raises(rpc.RemoteError) as error:
        client._ask("upload")
    assert str(error.value) == "a tracker does not know how to 'upload'"


def test_a_tracker_that_is_killed_and_restarted_goes_on(tmp_path: Path) -> None:
    with process_of(tmp_path, "tracker") as tracker:
        address = f"127.0.0.1:{tracker.port}"
        with process_of(tmp_path, "serve", "--devices", "reference", "--tracker", address):
            client = TrackerSession(Address("127.0.0.1", tracker.port, KEY), None)
            session = client.request()
            session.upload(b"kept", "x")
            tracker.kill()
            assert session.download("x") == b"kept"
            with process_of(tmp_path, "tracker", port=tracker.port):
                waiting: list[bytes] = []

                def wait() -> None:
                    with client.request() as other:
                        other.upload(b"y", "y")
                        waiting.append(bytes(other.download("y")))

                thread = threading.Thread(target=wait)
                thread.start()
                assert session.download("x") == b"kept"
                session.close()
                thread.join()
                assert waiting == [b"y"]
