"""Strangers and the careless: no stranger is served, nobody is kept waiting, nothing breaks."""

import random
import ssl
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import msgpack
import numpy as np
import pytest

import vta
from isa.errors import VTAError
from tests.support.remote.certificates import made_certificate
from tests.support.remote.clients import RawClient, session_on, until
from tests.support.remote.servers import KEY, Running, running_server
from vta import rpc
from vta.rpc.caller import Caller
from vta.rpc.channel import Address, is_loopback
from vta.rpc.messages.fields import Fields
from vta.rpc.messages.handshake import ClientSide, HandshakeError
from vta.rpc.messages.key import Key
from vta.rpc.messages.seal import Seal
from vta.rpc.messages.wire import EARLY_BYTES, MESSAGE_BYTES, Frame, body_of, packed
from vta.rpc.remote import RemoteSession
from vta.rpc.serving.limits import ServerLimits
from vta.rpc.serving.listener import ListenerLimits
from vta.rpc.serving.metrics import serve_metrics

PATIENT = ServerLimits(connections=ListenerLimits(connections=300, greeting_seconds=300.0, frame_seconds=300.0))
IMPATIENT = ServerLimits(connections=ListenerLimits(connections=300, greeting_seconds=1.0, frame_seconds=1.0))
"""For clients that are slow on purpose; on a busy machine, this turns others away as well."""


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    with running_server(limits=PATIENT) as running:
        yield running


@pytest.fixture
def impatient() -> Iterator[Running]:
    with running_server(limits=IMPATIENT) as running:
        yield running


def still_serves(server: Running) -> bool:
    """Whether an honest client is served."""
    with session_on(server.port) as session:
        session.upload(b"x", "x")
        return session.download("x") == b"x"


def serves_in_the_end(server: Running) -> bool:
    """Whether an honest client is served, once the machine lets it be quick enough."""

    def one() -> bool:
        try:
            return still_serves(server)
        except VTAError:
            return False

    return until(one)


def test_a_wrong_key_is_refused(server: Running) -> None:
    before = server.server.metrics.value("handshakes_refused")
    with pytest.raises(HandshakeError) as error:
        Caller(Address("127.0.0.1", server.port, Key(bytes(32))), {"target": ""}, reconnect_seconds=0)
    assert str(error.value) == (
        f"127.0.0.1:{server.port}: refused: the key is not the one of this server; give both the same key file"
    )
    assert server.server.metrics.value("handshakes_refused") == before + 1
    assert not server.server.sessions


def test_a_replayed_handshake_is_refused(server: Running) -> None:
    with RawClient(server.port) as first:
        greeting = first.frame()
        assert greeting is not None
        reply = packed(Frame(0, ClientSide(KEY, safe=True).reply(greeting.body), b""))
        first.send(reply)
        answer = first.frame()
        assert answer is not None
        assert Fields.of(answer.body).has("proof")
    with RawClient(server.port) as second:
        assert second.frame() is not None
        second.send(reply)
        answer = second.frame()
        assert answer is not None
        assert Fields.of(answer.body).text("error") == "HandshakeError"
        assert second.ends()


def test_a_replayed_message_ends_the_connection(server: Running) -> None:
    with RawClient(server.port) as client:
        seal = client.shake_hands()
        message = packed(seal.close(body_of({"op": "open", "target": ""})))
        client.send(message)
        assert client.frame() is not None
        client.send(message)
        assert client.ends()
    assert until(lambda: any("where number 2 was due" in str(event.get("reason")) for event in server.events()))


def test_nothing_is_answered_before_the_key_is_proved(server: Running) -> None:
    for body in (body_of({"op": "open", "target": ""}), body_of({"op": "upload", "call": 1}), b"\x80"):
        with RawClient(server.port) as client:
            client.frame()
            client.send(packed(Frame(1, body, b"")))
            answer = client.frame()
            assert answer is None or Fields.of(answer.body).has("error")
            assert client.ends()
    assert until(lambda: not server.server.sessions)


@pytest.mark.parametrize("data", [b"GET / HTTP/1.1\r\n\r\n" * 3, bytes(100_000), b"\xff" * 5000, b"\x93" * 300])
def test_other_protocols_are_turned_away(impatient: Running, data: bytes) -> None:
    with RawClient(impatient.port) as client:
        with suppress(ConnectionError):  # it may be turned away before it has said all
            client.send(data)
        assert client.ends()
    assert serves_in_the_end(impatient)


def test_oversized_messages_end_the_connection_before_they_are_kept(server: Running) -> None:
    with RawClient(server.port) as client:
        client.shake_hands()
        try:
            client.send(b"\x93\x01\xc6\xff\xff\xff\x00")
            for _ in range(64):
                client.send(bytes(MESSAGE_BYTES // 8))
        except ConnectionError:
            pass
        assert client.ends()
    assert still_serves(server)


def test_slow_clients_are_turned_away(impatient: Running) -> None:
    with RawClient(impatient.port) as silent, RawClient(impatient.port) as slow, RawClient(impatient.port) as halfway:
        with suppress(HandshakeError, AssertionError, ConnectionError):  # turned away already, on a busy machine
            halfway.shake_hands()
            halfway.send(b"\x93\x01")
        with suppress(ConnectionError):
            slow.send(b"\x93")
        assert serves_in_the_end(impatient)
        assert silent.ends()
        assert slow.ends()
        assert halfway.ends()


def test_a_client_that_takes_no_answers_is_turned_away() -> None:
    limits = replace(PATIENT, linger_seconds=0.2, connections=replace(PATIENT.connections, frame_seconds=3.0))
    with running_server(limits=limits) as server, RawClient(server.port) as client:
        seal = client.shake_hands()

        def say(**content: object) -> None:
            client.send(packed(seal.close(body_of(content))))

        say(op="open", target="")
        assert client.frame() is not None
        say(op="upload", call=1, name="x", offset=0, data=bytes(1 << 20), last=True)
        assert client.frame() is not None
        try:
            for number in range(2, 200):
                say(op="download", call=number, name="x", offset=0)
        except (ConnectionError, TimeoutError):
            pass
        assert until(lambda: not server.server.sessions)
        assert serves_in_the_end(server)


def open_session(client: RawClient) -> Seal:
    seal = client.shake_hands()
    client.send(packed(seal.close(body_of({"op": "open", "target": ""}))))
    return seal


def test_who_waits_for_a_device_and_leaves_is_noticed_whatever_it_said_before() -> None:
    with running_server(limits=PATIENT, targets=["reference"]) as server:
        with session_on(server.port) as first:
            waiting = []
            for _ in range(3):
                waiting.append(RawClient(server.port))
                open_session(waiting[-1])
            assert until(lambda: server.server.pool.waiting == 3)
            waiting[0].socket.close()
            assert until(lambda: server.server.pool.waiting == 2)
            for client in waiting[1:]:  # each is turned away, so that nothing of it is kept
                with suppress(ConnectionError):
                    client.send(bytes(MESSAGE_BYTES))
                assert client.ends()
                client.socket.close()
            assert until(lambda: server.server.pool.waiting == 0)
            first.upload(b"x", "x")
        assert still_serves(server)
        assert server.server.metrics.value("sessions") == 2


def test_long_messages_are_for_those_who_have_a_session(server: Running) -> None:
    with RawClient(server.port) as client:
        seal = client.shake_hands()
        with suppress(ConnectionError):
            client.send(packed(seal.close(body_of({"op": "open", "target": "x" * EARLY_BYTES}))))
        assert client.ends()
    with RawClient(server.port) as client:
        seal = open_session(client)
        assert client.frame() is not None
        client.send(
            packed(
                seal.close(
                    body_of({"op": "upload", "call": 1, "name": "x", "offset": 0, "data": bytes(1 << 20), "last": True})
                )
            )
        )
        answer = client.frame()
        assert answer is not None
        assert not Fields.of(answer.body).has("error")
        client.send(packed(seal.close(body_of({"op": "close"}))))
        assert client.frame() is not None


def test_a_session_that_is_taken_up_again_has_one_connection(server: Running) -> None:
    with RawClient(server.port) as first, RawClient(server.port) as second:
        open_session(first)
        answer = first.frame()
        assert answer is not None
        seal = second.shake_hands()
        session = Fields.of(answer.body).text("session")
        second.send(packed(seal.close(body_of({"op": "open", "session": session}))))
        assert second.frame() is not None
        assert first.ends()
        second.send(packed(seal.close(body_of({"op": "close"}))))
        assert second.frame() is not None
    assert until(lambda: not server.server.sessions)


def random_value(rng: random.Random, depth: int = 0) -> object:
    match rng.randrange(9 if depth < 3 else 6):
        case 0:
            return rng.choice((0, 1, -1, 2**31, 2**63 - 1, -(2**63), rng.randrange(1000)))
        case 1:
            return rng.choice(("", "a", "../x", "/etc/passwd", "x" * 300, "\x00", "\x1b[2J", "int8", "sim"))
        case 2:
            return rng.randbytes(rng.randrange(50))
        case 3:
            return rng.choice((None, True, False, 1.5, float("nan"), float("inf")))
        case 4 | 5:
            return rng.randrange(8)
        case 6 | 7:
            return [random_value(rng, depth + 1) for _ in range(rng.randrange(4))]
        case _:
            return {str(rng.randrange(3)): random_value(rng, depth + 1) for _ in range(rng.randrange(4))}


NAMES = (
    "name", "offset", "data", "last", "array", "nbytes", "shape", "dtype", "device", "module", "function", "arguments",
    "number", "repeat", "min_repeat_ms", "network", "inputs", "config", "released", "session", "target",
)  # fmt: skip
OPERATIONS = (
    "upload", "download", "remove", "configure", "empty", "write", "read", "load_module", "call", "time", "function",
    "load_network", "run_network", "run_program", "x",
)  # fmt: skip


def random_messages(seed: int, count: int) -> Iterator[dict[str, object]]:
    rng = random.Random(seed)
    for _ in range(count):
        content: dict[str, object] = {"op": rng.choice(OPERATIONS)}
        for name in rng.sample(NAMES, rng.randrange(len(NAMES))):
            content[name] = rng.randrange(4) if rng.random() < 0.4 else random_value(rng)
        if rng.random() < 0.5:
            content |= {"device": rng.choice((1, 12)), "shape": [rng.randrange(9)], "dtype": "int8"}
        if content.get("session") is not None and content["op"] != "open":
            del content["session"]
        yield content


@pytest.mark.parametrize("seed", range(3))
def test_messages_that_mean_nothing_are_answered_with_a_sentence(server: Running, seed: int) -> None:
    with session_on(server.port) as session:
        vta.nd.empty((4,), "int8", session.cpu(0))
        kinds: list[str] = []
        for content in random_messages(seed, 300):
            operation = str(content.pop("op"))
            content.pop("call", None)
            try:
                session.caller.call(operation, **{k: v for k, v in content.items() if k != "operation"})
            except rpc.RemoteError as error:
                kinds.append(error.kind)
            except rpc.LostError:
                raise
            except VTAError as error:
                kinds.append(type(error).__name__)
        assert len(kinds) > 200
        assert "InternalError" not in kinds
        session.upload(b"fine", "fine")
        assert session.download("fine") == b"fine"


def test_mutated_bytes_on_an_authenticated_connection_break_that_connection_alone(server: Running) -> None:
    rng = random.Random(5)
    for content in random_messages(6, 40):
        with RawClient(server.port) as client:
            seal = client.shake_hands()
            frame = bytearray(packed(seal.close(msgpack.packb(content))))
            for _ in range(rng.choice((1, 2, 8))):
                frame[rng.randrange(len(frame))] = rng.randrange(256)
            client.send(bytes(frame))
    assert until(lambda: still_serves(server))


FEW = ServerLimits(connections=ListenerLimits(connections=3, greeting_seconds=300.0))


def test_more_connections_than_there_may_be_are_closed() -> None:
    with running_server(limits=FEW) as server:
        clients = [RawClient(server.port) for _ in range(3)]
        for client in clients:
            client.shake_hands()
        with RawClient(server.port) as more:
            assert more.ends()
        assert server.server.metrics.value("connections_refused") == 1
        for client in clients:
            client.socket.close()
        assert until(lambda: server.server.metrics.value("connections_open") == 0)
        assert still_serves(server)


def test_strangers_make_room_for_who_has_the_key() -> None:
    with running_server(limits=FEW) as server:
        strangers = [RawClient(server.port) for _ in range(3)]
        for stranger in strangers:
            assert stranger.frame() is not None
        with RawClient(server.port) as friend:
            friend.shake_hands()
            assert strangers[0].ends()
            assert still_serves(server)  # on a connection more: the second stranger's
            assert strangers[1].ends()
            for stranger in strangers:
                stranger.socket.close()
            assert until(lambda: server.server.metrics.value("connections_open") == 1)


def test_two_hundred_clients_at_once_are_served_one_after_the_other() -> None:
    results: list[int] = []
    errors: list[BaseException] = []
    with running_server(targets=["reference", "reference"]) as server:

        def one(number: int) -> None:
            try:
                with session_on(server.port) as session:
                    array = vta.nd.array(np.full(3, number, np.int32), session.ext_dev(0))
                    results.append(int(array.numpy()[1]))
            except BaseException as error:
                errors.append(error)

        threads = [threading.Thread(target=one, args=(number,)) for number in range(200)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert errors == []
        assert sorted(results) == list(range(200))
        assert server.server.pool.free == 2
        assert server.server.metrics.value("sessions") == 200


def test_loopback_is_what_no_network_reaches() -> None:
    assert all(map(is_loopback, ("127.0.0.1", "127.8.9.1", "::1", "::ffff:127.0.0.1")))
    assert not any(map(is_loopback, ("0.0.0.0", "10.0.0.1", "::", "localhost", "fe80::1%eth0", "")))


@pytest.fixture(scope="module")
def identity(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    certificate, key = made_certificate(tmp_path_factory.mktemp("tls"))
    return str(certificate), str(key)


def test_tls_with_the_servers_own_certificate(identity: tuple[str, str]) -> None:
    certificate, key = identity
    with running_server(certificate=certificate, private_key=key) as server:
        address = Address("127.0.0.1", server.port, KEY, certificate)
        with RemoteSession(Caller(address, {"target": ""}, reconnect_seconds=0)) as session:
            assert isinstance(session.caller._line._channel._socket, ssl.SSLSocket)
            data = np.random.default_rng(1).bytes(3 << 20)
            session.upload(data, "x")
            assert session.download("x") == data
        with RawClient(server.port) as plain:
            plain.send(b"\x93\x00\xc4\x00\xc4\x00")
            assert plain.ends()


def test_another_certificate_is_refused(identity: tuple[str, str], tmp_path: Path) -> None:
    other, _ = made_certificate(tmp_path)
    certificate, key = identity
    with (
        running_server(certificate=certificate, private_key=key) as server,
        pytest.raises(HandshakeError, match="TLS failed"),
    ):
        Caller(Address("127.0.0.1", server.port, KEY, str(other)), {"target": ""}, reconnect_seconds=0)


def test_metrics_are_text_for_prometheus(server: Running) -> None:
    page = serve_metrics(server.server.metrics, 0)
    try:
        base = f"http://127.0.0.1:{page.server_address[1]}"
        with urllib.request.urlopen(f"{base}/metrics", timeout=20) as answer:
            assert answer.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
            text = answer.read().decode()
        assert "# TYPE vta_server_sessions_total counter\nvta_server_sessions_total " in text
        assert "# TYPE vta_server_devices gauge\nvta_server_devices 1\n" in text
        with pytest.raises(urllib.error.HTTPError):
            urllib.request.urlopen(f"{base}/../etc/passwd", timeout=20)
    finally:
        page.shutdown()
        page.server_close()
