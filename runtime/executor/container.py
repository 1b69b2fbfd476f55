"""The file of a compiled network (``.vtam``): checked, versioned, the same bytes for the same network.

A file is: magic ``VTAMODEL`` (8 bytes), format version and header length (two little-endian uint32), the SHA-256 of
everything after it, the header (JSON, sorted keys), and blobs, none of them compressed. Nothing in a file is run by
loading it: instruction words are data that the network's checks go through (``StoredLaunch.check``), and what the
network would take of memory when it is run is counted before it is taken (``isa.limits``).
Tests: tests/runtime/executor/test_container.py.
"""

import hashlib
import json
import math
import os
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NoReturn, assert_never

import numpy as np
import numpy.typing as npt

from isa.config import ConfigError, VTAConfig
from isa.errors import VTAError
from isa.limits import DEFAULT_LIMITS, INSTRUCTION_COST, JSON_COST, Budget, LimitError, Limits, read_file
from isa.origin import Origin
from isa.whole_file import write_whole
from runtime.executor.host_operators import prepared
from runtime.executor.lifetimes import spend_on_running
from runtime.executor.network import DeviceStep, Home, HostStep, Network, NetworkError, Step, Tensor
from runtime.executor.operators.attribute_values import Plain
from runtime.executor.stored_launch import AddressColumns, StoredLaunch, StoredLaunchError

__all__ = [
    "MAGIC",
    "VERSION",
    "ContainerError",
    "is_container",
    "load_network",
    "network_from_bytes",
    "network_to_bytes",
    "save_network",
]

MAGIC = b"VTAMODEL"
VERSION = 1
_PREFIX = struct.Struct("<8sII32s")
_COPIES = 2
"""Of a blob, while its type is settled."""

Array = npt.NDArray[np.generic]


class ContainerError(VTAError, ValueError):
    """A file that is not a compiled network, a damaged one, or one that this version cannot run."""


@dataclass(slots=True)
class _Blobs:
    """Collects blobs; each begins at a multiple of 64 bytes."""

    parts: list[bytes] = field(default_factory=list)
    size: int = 0

    def add(self, array: Array, dtype: str) -> dict[str, object]:
        """Append an array; return what the header says of it."""
        data = np.ascontiguousarray(array, dtype).tobytes()
        entry = {"at": self.size, "dtype": dtype, "shape": list(array.shape)}
        padding = -len(data) % 64
        self.parts += [data, bytes(padding)]
        self.size += len(data) + padding
        return entry


def network_to_bytes(network: Network) -> bytes:
    """Return the contents of the file."""
    blobs = _Blobs()
    header = {
        "arena": network.arena_bytes,
        "config": network.config.to_dict(),
        "constants": blobs.add(network.constants, "u1"),
        "digest": network.config.digest,
        "host_constants": {name: blobs.add(a, a.dtype.str) for name, a in sorted(network.host_constants.items())},
        "inputs": network.inputs,
        "origin": dict(network.origin),
        "outputs": network.outputs,
        "steps": [_step_entry(step, blobs) for step in network.steps],
        "tensors": [[t.name, t.shape, t.dtype, t.home.value, t.offset] for t in network.tensors.values()],
    }
    text = json.dumps(header, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()
    body = b"".join([text, *blobs.parts])
    return _PREFIX.pack(MAGIC, VERSION, len(text), hashlib.sha256(body).digest()) + body


def save_network(network: Network, path: str | os.PathLike[str]) -> None:
    """Write ``network`` to ``path``: the old file, if any, stays whole until the new one is."""
    try:
        write_whole(path, network_to_bytes(network))
    except OSError as error:
        raise ContainerError(f"{os.fspath(path)}: cannot be written: {error.strerror}") from None


def load_network(path: str | os.PathLike[str], *, limits: Limits = DEFAULT_LIMITS) -> Network:
    """Read the network in the file ``path``; every problem is one ``ContainerError`` that names the file."""
    where = os.fspath(path)
    try:
        data = read_file(where, limits)
    except OSError as error:
        raise ContainerError(f"{where}: cannot be read: {error.strerror}") from None
    except LimitError as error:
        raise ContainerError(str(error)) from None
    return network_from_bytes(data, where=where, limits=limits)


def is_container(head: bytes) -> bool:
    """Return whether a file that begins with ``head`` says that it is a compiled network."""
    return head.startswith(MAGIC)


def network_from_bytes(data: bytes, *, where: str = "network", limits: Limits = DEFAULT_LIMITS) -> Network:
    """Return the network in ``data``; a ``ContainerError`` begins with ``where``.

    What it takes of memory, also when it is run, is at most what ``limits`` has for a file of this size.
    """
    budget = limits.budget(len(data))
    try:
        network = _network(*_checked(data, budget))
        spend_on_running(network, budget)
        for step in network.steps:
            if isinstance(step, HostStep):
                prepared(step, network)
    except (ContainerError, NetworkError, StoredLaunchError, ConfigError, LimitError) as error:
        raise ContainerError(f"{where}: {error}") from None
    return network


def _step_entry(step: Step, blobs: _Blobs) -> dict[str, object]:
    match step:
        case HostStep():
            return {
                "attributes": dict(step.attributes), "inputs": step.inputs, "node": step.node,
                "operator": step.operator, "outputs": step.outputs,
            }  # fmt: skip
        case DeviceStep():
            launches = [_launch_entry(launch, blobs) for launch in step.launches]
            return {"launches": launches, "macs": step.macs, "node": step.node, "tensors": step.tensors}
        case _:
            assert_never(step)


def _launch_entry(launch: StoredLaunch, blobs: _Blobs) -> dict[str, object]:
    table = launch.addresses
    columns = np.stack([table.index, table.tensor, table.offset, table.end, table.unit])
    origins: dict[Origin, int] = {}
    numbers = [-1 if o is None else origins.setdefault(o, len(origins)) for o in launch.origins]
    return {
        "addresses": blobs.add(columns, "<i8"),
        "origin_of": blobs.add(np.array(numbers, np.int32), "<i4"),
        "origins": [origin.texts() for origin in origins],
        "uops": blobs.add(launch.uops, "<u4"),
        "words": blobs.add(launch.array, "<u8"),
    }


def _checked(data: bytes, budget: Budget) -> tuple["_Entry", "_Stored"]:
    """Return header and blobs of a file whose frame is intact."""
    if not is_container(data):
        raise ContainerError("not a compiled network (it does not begin with VTAMODEL)")
    if len(data) < _PREFIX.size:
        raise ContainerError(f"the file is cut off after {len(data)} bytes")
    _, version, length, digest = _PREFIX.unpack_from(data)
    if version != VERSION:
        raise ContainerError(f"the file has format version {version}, and this reader knows version {VERSION}")
    body = memoryview(data)[_PREFIX.size :]
    if hashlib.sha256(body).digest() != digest:
        raise ContainerError("the file is cut off or damaged (its checksum does not match)")
    budget.spend(JSON_COST * min(length, len(body)), "the header")
    try:
        header = json.loads(bytes(body[:length]))
    except (ValueError, RecursionError):
        raise ContainerError("the header is not JSON") from None
    return _Entry("the header", header), _Stored(body[length:], budget)


@dataclass(frozen=True, slots=True)
class _Stored:
    """The blobs of a file, and the memory that copies of them may take."""

    blobs: memoryview
    budget: Budget


@dataclass(frozen=True, slots=True)
class _Entry:
    """A piece of the header, and what it is called in messages."""

    where: str
    value: object

    def get(self, key: str) -> "_Entry":
        """Return the part under ``key``."""
        if not isinstance(self.value, dict) or key not in self.value:
            raise ContainerError(f"{self.where} has no {key!r}")
        return _Entry(f"{self.where}, {key!r}", self.value[key])

    def has(self, key: str) -> bool:
        """Return whether there is a part under ``key``."""
        return isinstance(self.value, dict) and key in self.value

    def items(self) -> list["_Entry"]:
        """Return the parts of a list."""
        if not isinstance(self.value, list):
            self._refuse("a list")
        return [_Entry(f"{self.where}, entry {number}", part) for number, part in enumerate(self.value)]

    def mapping(self) -> dict[str, "_Entry"]:
        """Return the parts of an object."""
        if not isinstance(self.value, dict):
            self._refuse("an object")
        return {key: _Entry(f"{self.where}, {key!r}", part) for key, part in self.value.items()}

    def text(self) -> str:
        """Return a text."""
        if not isinstance(self.value, str):
            self._refuse("a text")
        return self.value

    def number(self) -> int:
        """Return a whole number, not below zero, of at most 63 bits."""
        value = self.value
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 1 << 63:
            self._refuse("a number from 0 on")
        return value

    def texts(self) -> tuple[str, ...]:
        """Return a list of texts."""
        return tuple(part.text() for part in self.items())

    def attribute(self, depth: int = 0) -> Plain:
        """Return a value that may be an attribute of an operator of the host."""
        if depth > 8:
            raise ContainerError(f"{self.where} is nested too deeply")
        if isinstance(self.value, list):
            return tuple(part.attribute(depth + 1) for part in self.items())
        if self.value is None or isinstance(self.value, (bool, int, float, str)):
            return self.value
        raise ContainerError(f"{self.where} is no attribute")

    def _refuse(self, name: str) -> NoReturn:
        raise ContainerError(f"{self.where} must be {name}")


def _blob(entry: _Entry, stored: _Stored, *, rank: int | None = None, dtype: str | None = None) -> Array:
    """Return a copy of an array among the blobs."""
    at, shape = entry.get("at").number(), tuple(extent.number() for extent in entry.get("shape").items())
    name = entry.get("dtype").text()
    if (dtype is not None and name != dtype) or (rank is not None and len(shape) != rank) or len(shape) > 32:
        raise ContainerError(f"{entry.where} has another type or rank than it must have")
    if name.lstrip("<>|=") not in ("b1", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8"):
        raise ContainerError(f"{entry.where} has type {name!r}, which is none of numbers")
    kind = np.dtype(name)
    nbytes = math.prod(shape) * kind.itemsize
    if at + nbytes > len(stored.blobs) or any(extent > len(stored.blobs) for extent in shape):
        raise ContainerError(f"{entry.where} reaches beyond the end of the file")
    stored.budget.spend(_COPIES * nbytes, entry.where)
    array: Array = np.frombuffer(stored.blobs[at : at + nbytes], kind).reshape(shape).copy()
    return array


def _network(header: _Entry, blobs: _Stored) -> Network:
    config = VTAConfig.from_dict(_plain(header.get("config")), where="configuration")
    if header.get("digest").text() != config.digest:
        raise ContainerError(f"the configuration has digest {config.digest}, and the header says something else")
    tensors = [_tensor(entry) for entry in header.get("tensors").items()]
    if len({tensor.name for tensor in tensors}) != len(tensors):
        raise ContainerError("the header has two tensors of one name")
    return Network(
        config=config,
        tensors={tensor.name: tensor for tensor in tensors},
        steps=tuple(_step(entry, blobs) for entry in header.get("steps").items()),
        inputs=header.get("inputs").texts(),
        outputs=header.get("outputs").texts(),
        arena_bytes=header.get("arena").number(),
        constants=_blob(header.get("constants"), blobs, rank=1, dtype="u1").astype(np.uint8),
        host_constants={name: _blob(part, blobs) for name, part in header.get("host_constants").mapping().items()},
        origin={name: part.text() for name, part in header.get("origin").mapping().items()},
    )


def _plain(entry: _Entry) -> Mapping[str, object]:
    return {key: part.value for key, part in entry.mapping().items()}


def _tensor(entry: _Entry) -> Tensor:
    parts = entry.items()
    if len(parts) != 5:
        raise ContainerError(f"{entry.where} is not a tensor: it has {len(parts)} parts")
    name, shape, dtype, home, offset = parts
    homes = {each.value: each for each in Home}
    if home.text() not in homes:
        raise ContainerError(f"{home.where} is {home.text()!r}, which is no home of a tensor")
    extents = tuple(extent.number() for extent in shape.items())
    return Tensor(name.text(), extents, dtype.text(), homes[home.text()], offset.number())


def _step(entry: _Entry, blobs: _Stored) -> Step:
    node = entry.get("node").text()
    if entry.has("operator"):
        attributes = {key: part.attribute() for key, part in entry.get("attributes").mapping().items()}
        inputs, outputs = entry.get("inputs").texts(), entry.get("outputs").texts()
        return HostStep(node, entry.get("operator").text(), inputs, outputs, attributes)
    launches = tuple(_launch(part, blobs) for part in entry.get("launches").items())
    return DeviceStep(node, launches, entry.get("tensors").texts(), entry.get("macs").number())


def _launch(entry: _Entry, blobs: _Stored) -> StoredLaunch:
    words = _blob(entry.get("words"), blobs, rank=2, dtype="<u8").astype(np.uint64)
    if words.shape[1] != 2:
        raise ContainerError(f"{entry.where} has instructions that are not 128 bits wide")
    blobs.budget.spend(INSTRUCTION_COST * len(words), f"{entry.where} with {len(words)} instructions")
    columns = _blob(entry.get("addresses"), blobs, rank=2, dtype="<i8").astype(np.int64)
    if len(columns) != 5:
        raise ContainerError(f"{entry.where} has {len(columns)} columns of addresses, not 5")
    uops = _blob(entry.get("uops"), blobs, rank=1, dtype="<u4").astype(np.uint32)
    origins = _origins(entry, _blob(entry.get("origin_of"), blobs, rank=1, dtype="<i4").astype(np.int32).tolist())
    return StoredLaunch(words, uops, AddressColumns(*columns), origins)


def _origins(entry: _Entry, numbers: Sequence[int]) -> tuple[Origin | None, ...]:
    table: list[Origin | None] = []
    for part in entry.get("origins").items():
        try:
            table.append(Origin.of_texts(part.texts()))
        except ValueError:
            raise ContainerError(f"{part.where} is not two to four texts") from None
    if not all(-1 <= number < len(table) for number in numbers):
        raise ContainerError(f"{entry.where}: an instruction has an origin that is not listed")
    return tuple(None if number < 0 else table[number] for number in numbers)
