"""The file of a compiled network: identity, and one sentence for whatever is damaged or hostile."""

import hashlib
import json
import random
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from isa.limits import Limits
from runtime.executor.container import (
    MAGIC,
    ContainerError,
    is_container,
    load_network,
    network_from_bytes,
    network_to_bytes,
    save_network,
)
from runtime.executor.runner import NetworkRunner
from runtime.session import Session
from tests.support.runtime.small_networks import SmallNetwork, small_network


@pytest.fixture(scope="module")
def small() -> SmallNetwork:
    return small_network()


@pytest.fixture(scope="module")
def data(small: SmallNetwork) -> bytes:
    return network_to_bytes(small.network)


def signed(data: bytes, header: object) -> bytes:
    """Return a file with another header and a right digest: what somebody hostile can make."""
    length = int.from_bytes(data[12:16], "little")
    text = json.dumps(header).encode()
    body = text + data[48 + length :]
    return data[:12] + len(text).to_bytes(4, "little") + hashlib.sha256(body).digest() + body


def header_of(data: bytes) -> dict[str, object]:
    length = int.from_bytes(data[12:16], "little")
    header: dict[str, object] = json.loads(data[48 : 48 + length])
    return header


def test_reading_what_was_written_is_the_identity(small: SmallNetwork, data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "small.vtam"
    save_network(small.network, path)
    assert path.read_bytes() == data
    assert is_container(data)
    back = load_network(path)
    assert network_to_bytes(back) == data
    result = NetworkRunner(back, Session(back.config, "sim")).run({"image": small.image})["result"]
    np.testing.assert_array_equal(result, small.expected)


def test_every_damaged_byte_is_found(data: bytes) -> None:
    rng = random.Random(7)
    for place in [*range(48), *rng.sample(range(48, len(data)), 60)]:
        broken = bytearray(data)
        broken[place] ^= 1 << rng.randrange(8)
        with pytest.raises(ContainerError, match=r"^network: "):
            network_from_bytes(bytes(broken))


def test_every_truncation_is_found(data: bytes) -> None:
    for length in (0, 7, 8, 20, 47, 48, 100, len(data) - 1):
        with pytest.raises(ContainerError, match=r"^network: "):
            network_from_bytes(data[:length])


def parts(value: object, path: tuple[object, ...] = ()) -> list[tuple[object, ...]]:
    """Return the path of every value inside a JSON value."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(found for key, part in items for found in parts(part, (*path, key)))]


STRANGE: list[Any] = [
    None,
    True,
    -1,
    0,
    1 << 62,
    1 << 200,
    0.5,
    "",
    "x" * 50,
    [],
    [[]],
    {},
    {"at": 0},
    "\x1b]0;x\x07",
    [1, 2, 3],
]


def refusal_of(data: bytes) -> str:
    """Return why a file is refused, or an empty text."""
    try:
        network_from_bytes(data)
    except ContainerError as error:
        return str(error)
    return ""


def test_a_hostile_header_gives_a_sentence_or_a_network_that_stays_within_its_memory(data: bytes) -> None:
    rng = random.Random(11)
    places = [path for path in parts(header_of(data)) if path]
    refused = 0
    for _ in range(600):
        header = header_of(data)
        path = rng.choice(places)
        node: object = header
        for key in path[:-1]:
            node = node[key]  # type: ignore[index]
        if rng.random() < 0.2 and isinstance(node, dict):
            del node[path[-1]]
        else:
            node[path[-1]] = rng.choice(STRANGE)  # type: ignore[index]
        refusal = refusal_of(signed(data, header))
        refused += bool(refusal)
        assert "\n" not in refusal
    assert refused > 400


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", "not a compiled network (it does not begin with VTAMODEL)"),
        (b"VTAPROG\n" + bytes(100), "not a compiled network (it does not begin with VTAMODEL)"),
        (MAGIC + bytes(3), "the file is cut off after 11 bytes"),
        (MAGIC + bytes(39), "the file is cut off after 47 bytes"),
        (
            MAGIC + (1).to_bytes(4, "little") + bytes(36),  # a whole prefix, and nothing behind it
            "the file is cut off or damaged (its checksum does not match)",
        ),
        (
            MAGIC + (9).to_bytes(4, "little") + bytes(60),
            "the file has format version 9, and this reader knows version 1",
        ),
    ],
)
def test_other_files_are_refused(data: bytes, text: str) -> None:
    with pytest.raises(ContainerError, match=f"^network: {re.escape(text)}$"):
        network_from_bytes(data)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "none.vtam"
    with pytest.raises(ContainerError, match=re.escape(f"{path}: cannot be read: No such file or directory")):
        load_network(path)
    with pytest.raises(ContainerError, match=re.escape("cannot be written: No such file or directory")):
        save_network(small_network().network, tmp_path / "no" / "where.vtam")


def test_what_a_small_file_says_takes_no_more_than_it_may(data: bytes) -> None:
    for key, change, text in (
        (
            "arena",
            1 << 40,
            "the arena of the network's activations would take 1,024 GiB of memory, and the limit is 256 MiB",
        ),
        (
            "tensors",
            [["big", [1 << 30], "int32", "host", 0]],
            "what the host's steps compute would take 4 GiB of memory",
        ),
    ):
        header = header_of(data)
        if key == "tensors":
            header[key] = [*header[key], *change]  # type: ignore[misc]
            header["inputs"] = [*header["inputs"], "big"]  # type: ignore[misc]
        else:
            header[key] = change
        assert refusal_of(signed(data, header)).startswith(f"network: {text}")
    with pytest.raises(ContainerError, match=r"--max-memory"):
        network_from_bytes(data, limits=Limits(memory=10_000))
    assert network_from_bytes(data, limits=Limits(memory=1 << 30)).inputs == ("image",)


def test_blobs_that_overlap_are_counted_each(data: bytes) -> None:
    header = header_of(data)
    constants = header["constants"]
    tensors = [[f"c{number}", [64], "uint8", "host constant", 0] for number in range(3_000_000 // 64)]
    header["tensors"] = [*header["tensors"], *tensors]  # type: ignore[misc]
    header["host_constants"] = {name: {"at": 0, "dtype": "u1", "shape": [64]} for name, *_ in tensors}
    assert constants
    assert refusal_of(signed(data, header)) == ""
    header["host_constants"] = {name: {"at": 0, "dtype": "u1", "shape": [len(data) // 2]} for name, *_ in tensors}
    assert "of memory, and the limit is" in refusal_of(signed(data, header))
