"""Bytes that are messages, and bytes that are none."""

import random
import tracemalloc

import msgpack
import pytest

from vta.rpc.messages.fields import Fields, MessageError
from vta.rpc.messages.wire import GREETING_BYTES, READ_BYTES, Frame, Frames, WireError, body_of, content_of, packed


def test_frames_are_found_wherever_the_stream_is_cut() -> None:
    rng = random.Random(1)
    sent = [Frame(n, rng.randbytes(rng.randrange(300)), rng.randbytes(n % 3)) for n in range(40)]
    stream = b"".join(map(packed, sent))
    frames, found = Frames(GREETING_BYTES), []
    while stream:
        cut = rng.randrange(1, 90)
        frames.feed(stream[:cut])
        stream = stream[cut:]
        while (frame := frames.next()) is not None:
            found.append(frame)
    assert found == sent
    assert not frames.partial


def test_a_frame_that_has_begun_is_partial() -> None:
    frames = Frames(GREETING_BYTES)
    assert not frames.partial
    frames.feed(packed(Frame(1, b"abc", b""))[:3])
    assert frames.next() is None
    assert frames.partial


@pytest.mark.parametrize(
    "data",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        b"\xc1",
        msgpack.packb([1, b"", b"", b""]),
        msgpack.packb([1, b""]),
        msgpack.packb([-1, b"", b""]),
        msgpack.packb([True, b"", b""]),
        msgpack.packb(["1", b"", b""]),
        msgpack.packb([1, {"a": 1}, b""]),
        msgpack.packb([1, [b""], b""]),
        msgpack.packb([1, msgpack.ExtType(4, b"abc"), b""]),
        msgpack.packb([1, bytes(GREETING_BYTES + 1), b""]),
        b"\xdd\xff\xff\xff\xff",
        b"\x91" * 2000,
    ],
)
def test_bytes_that_are_no_frame_are_refused(data: bytes) -> None:
    frames = Frames(GREETING_BYTES)
    frames.feed(data)
    with pytest.raises(WireError, match="these bytes are no message"):
        frames.next()


def test_more_than_a_frame_may_have_is_refused_before_it_is_kept() -> None:
    frames = Frames(GREETING_BYTES)
    frames.feed(bytes([0x93, 1, 0xC6, 255, 255, 255, 255]))
    assert frames.next() is None
    with pytest.raises(WireError) as error:
        frames.feed(bytes(GREETING_BYTES + READ_BYTES + 8))
    assert str(error.value) == f"a message is longer than {GREETING_BYTES} bytes"


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\x80\x80",
        msgpack.packb([1]),
        msgpack.packb({1: 2}),
        msgpack.packb({"a": msgpack.ExtType(1, b"x")}),
        msgpack.packb({"a": msgpack.Timestamp(1)}),
        b"\x81\xa1a" + b"\x91" * 5000 + b"\xc0",
        b"\x81\xa2\xff\xff\x01",
        b"\xdf\xff\xff\xff\xff",
    ],
)
def test_bodies_that_say_nothing_known_are_refused(body: bytes) -> None:
    with pytest.raises(WireError, match="the message says nothing that is known"):
        content_of(body)


def test_lists_that_claim_more_than_there_is_take_no_memory() -> None:
    body = b"\x81\xa1a" + b"\xdc\xff\xff" * 1000  # 65535 entries, the first of which is such a list, and so on
    assert len(body) < GREETING_BYTES
    tracemalloc.start()
    try:
        with pytest.raises(WireError, match="the message says nothing that is known"):
            content_of(body)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1 << 20


def test_a_body_of_nothing_but_lists_is_refused_before_they_are_there() -> None:
    body = msgpack.packb({"op": "x", "a": [[]] * (1 << 14)})
    with pytest.raises(WireError, match="nothing that is known \\(more than 16384 lists and maps\\)"):
        content_of(body)
    few = {"op": "x", "a": [["array", 1]] * 1000, "b": {"c": [{}] * 1000}}
    assert content_of(msgpack.packb(few)) == few
    many = b"\x82\xa2op\xa1x\xa1a\xdc\xff\xff" + (b"\xdc\x00\x30" + b"\x90" * 0x30) * 0xFFFF  # three million
    tracemalloc.start()
    try:
        with pytest.raises(WireError):
            content_of(many)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 8 << 20


def test_what_is_no_plain_value_is_not_sent() -> None:
    for value in (object(), 1 << 70, {1, 2}):
        with pytest.raises(WireError, match="this cannot be sent"):
            body_of({"a": value})


def test_fields_are_what_they_are_asked_for() -> None:
    fields = Fields.of(
        body_of({"t": "x", "n": 3, "r": 1.5, "f": True, "d": b"abc", "l": [1, 2], "m": {"a": 1}, "s": ["a"], "z": None})
    )
    assert fields.text("t") == "x"
    assert fields.number("n") == 3
    assert (fields.real("r"), fields.real("n")) == (1.5, 3.0)
    assert fields.flag("f") is True
    assert fields.data("d", most=3) == b"abc"
    assert fields.shape("l") == (1, 2)
    assert fields.mapping("m") == {"a": 1}
    assert fields.texts("s") == ["a"]
    assert fields.has("t")
    assert not fields.has("z")
    assert not fields.has("nothing")


@pytest.mark.parametrize(
    ("action", "sentence"),
    [
        (lambda f: f.text("q"), "the message has no 'q'"),
        (lambda f: f.text("t", most=2), "'t' of the message must be a text of at most 2 characters"),
        (lambda f: f.number("f"), f"'f' of the message must be a number from 0 to {(1 << 63) - 1}"),
        (lambda f: f.number("n", high=2), "'n' of the message must be a number from 0 to 2"),
        (lambda f: f.real("f"), "'f' of the message must be a number from 0 to 1e+09"),
        (lambda f: f.real("nan"), "'nan' of the message must be a number from 0 to 1e+09"),
        (lambda f: f.flag("n"), "'n' of the message must be true or false"),
        (lambda f: f.data("d", most=2), "'d' of the message must be at most 2 bytes"),
        (lambda f: f.data("t", most=9), "'t' of the message must be at most 9 bytes"),
        (lambda f: f.entries("t"), "'t' of the message must be a list"),
        (lambda f: f.mapping("l"), "'l' of the message must be names and values"),
        (lambda f: f.shape("l"), "'l' of the message must be a list of extents"),
        (lambda f: f.shape("big"), "'big' of the message must be a list of extents"),
        (lambda f: f.shape("many"), "'many' of the message has more than 32 extents"),
        (lambda f: f.texts("l"), "'l' of the message must be a list of texts"),
    ],
)
def test_anything_else_is_refused_by_name(action: object, sentence: str) -> None:
    fields = Fields.of(
        body_of(
            {
                "t": "xyz", "n": 3, "f": True, "d": b"abc", "l": [1, -2], "nan": float("nan"), "big": [1 << 41],
                "many": [1] * 33,
            }
        )
    )  # fmt: skip
    with pytest.raises(MessageError) as error:
        action(fields)  # type: ignore[operator]  # a lambda
    assert str(error.value) == sentence
