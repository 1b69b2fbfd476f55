"""An object file with a module's description in it, and a digest over the whole file: code, data and description.

The description lies in a constant: a magic word, 32 bytes for the digest, the length, JSON. The digest is that of the
file with zeros in its place. It tells a damaged file before any of it is mapped; it does not tell who wrote the file,
and a module is native code: who loads one runs it. Tests: tests/vta/codegen/test_sealed_object.py.
"""

import hashlib

from isa.limits import DEFAULT_LIMITS, JSON_COST, Budget, LimitError
from vta.codegen.metadata import Metadata, MetadataError
from vta.codegen.metadata_reader import read_metadata

__all__ = ["description", "opened", "sealed"]

_MAGIC = b"VTA-HOST-MODULE\x02"
_DIGEST_BYTES = hashlib.sha256().digest_size
_LENGTH_BYTES = 8


def description(metadata: Metadata) -> bytes:
    """Return the constant of an object: its digest is still missing."""
    text = metadata.to_json().encode()
    return _MAGIC + bytes(_DIGEST_BYTES) + len(text).to_bytes(_LENGTH_BYTES, "little") + text


def sealed(data: bytes) -> bytes:
    """Return an object that has a description with the digest in its place; ``MetadataError`` if it has two of them."""
    if data.count(_MAGIC) != 1:
        raise MetadataError("the program has a text that looks like a module description; change that")
    at = data.index(_MAGIC) + len(_MAGIC)
    return data[:at] + _digest(data, at) + data[at + _DIGEST_BYTES :]


def opened(data: bytes, where: str, budget: Budget | None = None) -> Metadata:
    """Return what a sealed object says about itself; ``where`` names it in a ``MetadataError`` if it is damaged.

    Reading the description is spent from ``budget``, by default that of a file of this size.
    """
    budget = budget or DEFAULT_LIMITS.budget(len(data))
    if data.count(_MAGIC) != 1:
        raise MetadataError(f"{where}: not an object that this toolchain saved, or damaged (no module description)")
    at = data.index(_MAGIC) + len(_MAGIC)
    if data[at : at + _DIGEST_BYTES] != _digest(data, at):
        raise MetadataError(f"{where}: the module is damaged, or not one that was saved; save it again")
    begin = at + _DIGEST_BYTES + _LENGTH_BYTES
    length = int.from_bytes(data[begin - _LENGTH_BYTES : begin], "little")
    text = data[begin : begin + length]
    try:
        budget.spend(JSON_COST * len(text), "the module description")
        return read_metadata(text)
    except (MetadataError, LimitError) as error:
        raise MetadataError(f"{where}: {error}") from None


def _digest(data: bytes, at: int) -> bytes:
    """Return the digest of an object whose own digest is at ``at``."""
    return hashlib.sha256(data[:at] + bytes(_DIGEST_BYTES) + data[at + _DIGEST_BYTES :]).digest()
