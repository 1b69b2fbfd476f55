"""Who may talk: proofs, replays, versions, seals."""

import hashlib
import hmac

import msgpack
import pytest

from tests.support.remote.servers import KEY
from vta.rpc.messages.fields import Fields
from vta.rpc.messages.handshake import ClientSide, HandshakeError, ServerSide
from vta.rpc.messages.key import Key
from vta.rpc.messages.seal import Seal
from vta.rpc.messages.wire import PROTOCOL, Frame, WireError, body_of

OTHER = Key(bytes(32))


def shaken(*, sealed: bool) -> tuple[Seal, Seal]:
    """Return the seals of a client and a server that know each other."""
    server, client = ServerSide(KEY, "server", sealed=sealed), ClientSide(KEY, safe=not sealed)
    reply = client.reply(server.greeting())
    answer, theirs = server.answer(reply)
    return client.finish(answer), theirs


def test_both_sides_know_each_other() -> None:
    client, server = shaken(sealed=True)
    for text in (b"one", b"two"):
        assert server.open(client.close(text)) == text
        assert client.open(server.close(text)) == text


def test_the_proof_is_the_hmac_of_both_challenges() -> None:
    server, client = ServerSide(KEY, "server", sealed=True), ClientSide(KEY, safe=True)
    greeting = server.greeting()
    said = msgpack.unpackb(client.reply(greeting))
    nonce = msgpack.unpackb(greeting)["nonce"]
    text = b"vta-rpc " + bytes([PROTOCOL]) + b"client\0" + nonce + said["nonce"]
    assert said["proof"] == hmac.new(bytes(KEY), text, hashlib.sha256).digest()


def test_the_key_is_in_no_message() -> None:
    server, client = ServerSide(KEY, "server", sealed=True), ClientSide(KEY, safe=True)
    greeting = server.greeting()
    reply = client.reply(greeting)
    answer, _ = server.answer(reply)
    assert all(bytes(KEY) not in message for message in (greeting, reply, answer))
    assert repr(KEY) == str(KEY) == "<key>"


def test_another_key_is_refused() -> None:
    server, client = ServerSide(KEY, "server", sealed=True), ClientSide(OTHER, safe=True)
    with pytest.raises(HandshakeError) as error:
        server.answer(client.reply(server.greeting()))
    assert str(error.value) == "the key is not the one of this server; give both the same key file"


def test_a_server_with_another_key_is_refused_too() -> None:
    server, client = ServerSide(KEY, "server", sealed=True), ClientSide(KEY, safe=True)
    impostor = ServerSide(OTHER, "server", sealed=True)
    answer, _ = server.answer(client.reply(server.greeting()))
    client.reply(impostor.greeting())
    with pytest.raises(HandshakeError, match="the server did not prove that it has the key"):
        client.finish(answer)


def test_a_recorded_reply_is_of_no_use_later() -> None:
    server, client = ServerSide(KEY, "server", sealed=True), ClientSide(KEY, safe=True)
    recorded = client.reply(server.greeting())
    server.answer(recorded)
    with pytest.raises(HandshakeError):
        ServerSide(KEY, "server", sealed=True).answer(recorded)


def test_a_clients_own_proof_does_not_prove_a_server() -> None:
    client = ClientSide(KEY, safe=True)
    reply = client.reply(ServerSide(KEY, "server", sealed=True).greeting())
    with pytest.raises(HandshakeError):
        client.finish(body_of({"proof": Fields.of(reply).data("proof", most=32)}))


def test_another_version_is_named() -> None:
    other = PROTOCOL + 1
    greeting = body_of({"vta": other, "version": "9.9"})
    told = rf"speaks version {other} of the protocol \(vta-toolchain 9\.9\), and this one version {PROTOCOL} \("
    with pytest.raises(HandshakeError, match=told):
        ClientSide(KEY, safe=True).reply(greeting)
    with pytest.raises(HandshakeError, match="install the same version on both"):
        ServerSide(KEY, "server", sealed=True).answer(greeting)


def test_messages_without_seals_are_for_safe_connections_alone() -> None:
    greeting = ServerSide(KEY, "server", sealed=False).greeting()
    ClientSide(KEY, safe=True).reply(greeting)
    with pytest.raises(HandshakeError) as error:
        ClientSide(KEY, safe=False).reply(greeting)
    assert str(error.value) == "the server wants messages without seals, over a network and without TLS"


def test_a_short_challenge_is_refused() -> None:
    with pytest.raises(HandshakeError, match="challenge is too short"):
        ClientSide(KEY, safe=True).reply(
            body_of({"vta": PROTOCOL, "version": "1", "name": "x", "nonce": b"short", "sealed": True})
        )


def test_changed_repeated_and_swapped_messages_are_refused() -> None:
    client, server = shaken(sealed=True)
    first, second = client.close(b"first"), client.close(b"second")
    for frame in (
        Frame(first.number, b"other", first.seal),
        Frame(first.number, first.body, bytes(32)),
        Frame(first.number, first.body, b""),
        Frame(second.number, second.body, second.seal),
    ):
        _, fresh = shaken(sealed=True)
        with pytest.raises(WireError):
            fresh.open(frame)
    assert server.open(first) == b"first"
    with pytest.raises(WireError, match="message 1 came where number 2 was due: one repeated or lost"):
        server.open(first)


def test_a_seal_is_of_one_connection_and_one_direction() -> None:
    client, server = shaken(sealed=True)
    frame = client.close(b"text")
    with pytest.raises(WireError, match="has a wrong seal: it was changed on its way"):
        shaken(sealed=True)[1].open(frame)
    with pytest.raises(WireError):
        client.open(frame)
    assert server.open(frame) == b"text"


def test_without_seals_the_numbers_are_checked() -> None:
    client, server = shaken(sealed=False)
    frame = client.close(b"text")
    assert frame.seal == b""
    assert server.open(frame) == b"text"
    with pytest.raises(WireError):
        server.open(frame)
