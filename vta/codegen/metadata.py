"""What a compiled module knows about itself: configuration, functions with their arguments, origins, error texts.

It lies in the object file as JSON between a magic word and a checksum, so that a file that was saved, moved or loaded
again needs nothing beside it. Tests: tests/vta/codegen/test_metadata.py.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass

from isa.config import VTAConfig
from isa.errors import VTAError
from isa.origin import Origin

__all__ = ["FunctionInfo", "Metadata", "MetadataError", "ParameterInfo", "pack", "unpack"]

_MAGIC = b"VTA-HOST-MODULE\x01"
_VERSION = 1
_DIGEST_BYTES = 8


class MetadataError(VTAError, ValueError):
    """Bytes that are not an object of this toolchain, or not a whole one."""


@dataclass(frozen=True, slots=True)
class ParameterInfo:
    """One argument of a function: a tensor of ``shape`` (None for a dimension known at the call only), or a scalar.

    ``shape`` is None for scalars.
    """

    name: str
    dtype: str
    shape: tuple[int | None, ...] | None = None

    def __str__(self) -> str:
        if self.shape is None:
            return f"{self.name}: {self.dtype}"
        dims = ", ".join("?" if dim is None else str(dim) for dim in self.shape)
        return f"{self.name}: {self.dtype}[{dims}]"


@dataclass(frozen=True, slots=True)
class FunctionInfo:
    """One function: its parameters, and whether it asks anything of the accelerator's runtime."""

    name: str
    parameters: tuple[ParameterInfo, ...]
    uses_device: bool

    @property
    def open_dimensions(self) -> tuple[tuple[int, int], ...]:
        """(parameter, dimension) of every extent that the machine function takes as an argument, in its order."""
        return tuple(
            (place, dim)
            for place, parameter in enumerate(self.parameters)
            for dim, extent in enumerate(parameter.shape or ())
            if extent is None
        )

    def __str__(self) -> str:
        return f"{self.name}({', '.join(map(str, self.parameters))})"


@dataclass(frozen=True, slots=True)
class Metadata:
    """Everything about one module. ``messages[code - 1]`` is what a function means that returns ``code``."""

    config: VTAConfig
    functions: tuple[FunctionInfo, ...]
    origins: tuple[Origin, ...]
    messages: tuple[str, ...]
    triple: str

    def to_json(self) -> str:
        """Return the metadata as one line of JSON."""
        return json.dumps(
            {
                "version": _VERSION,
                "triple": self.triple,
                "config": self.config.to_dict(),
                "digest": self.config.digest,
                "functions": [_function_to_dict(function) for function in self.functions],
                "origins": [[origin.stage, origin.source] for origin in self.origins],
                "messages": list(self.messages),
            },
            separators=(",", ":"),
        )

    @classmethod
    def from_json(cls, text: str) -> "Metadata":
        """Read what ``to_json`` wrote; raises ``MetadataError`` for another version."""
        loaded = json.loads(text)
        if loaded["version"] != _VERSION:
            raise MetadataError(f"the object has format version {loaded['version']}; this toolchain reads {_VERSION}")
        return cls(
            config=VTAConfig.from_dict(loaded["config"], where="the object's configuration"),
            functions=tuple(_function_from_dict(function) for function in loaded["functions"]),
            origins=tuple(Origin(stage, source) for stage, source in loaded["origins"]),
            messages=tuple(loaded["messages"]),
            triple=loaded["triple"],
        )


def _function_to_dict(function: FunctionInfo) -> dict[str, object]:
    return {
        "name": function.name,
        "uses_device": function.uses_device,
        "parameters": [
            {"name": p.name, "dtype": p.dtype, "shape": None if p.shape is None else list(p.shape)}
            for p in function.parameters
        ],
    }


def _function_from_dict(mapping: Mapping[str, object]) -> FunctionInfo:
    parameters = mapping["parameters"]
    assert isinstance(parameters, list)
    return FunctionInfo(
        name=str(mapping["name"]),
        uses_device=bool(mapping["uses_device"]),
        parameters=tuple(
            ParameterInfo(p["name"], p["dtype"], None if p["shape"] is None else tuple(p["shape"])) for p in parameters
        ),
    )


def pack(metadata: Metadata) -> bytes:
    """Return the bytes that go into the object: magic word, length, JSON, checksum."""
    text = metadata.to_json().encode()
    digest = hashlib.sha256(text).digest()[:_DIGEST_BYTES]
    return _MAGIC + len(text).to_bytes(8, "little") + text + digest


def unpack(data: bytes, where: str) -> Metadata:
    """Find the metadata in the bytes of an object; ``where`` names them in a ``MetadataError``."""
    start = data.find(_MAGIC)
    if start < 0:
        raise MetadataError(f"{where}: not an object that this toolchain saved (it has no module description)")
    body = start + len(_MAGIC)
    length = int.from_bytes(data[body : body + 8], "little")
    text = data[body + 8 : body + 8 + length]
    digest = data[body + 8 + length : body + 8 + length + _DIGEST_BYTES]
    if len(text) != length or hashlib.sha256(text).digest()[:_DIGEST_BYTES] != digest:
        raise MetadataError(f"{where}: the module description is damaged; save the module again")
    try:
        return Metadata.from_json(text.decode())
    except MetadataError as error:
        raise MetadataError(f"{where}: {error}") from None
