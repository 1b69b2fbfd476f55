"""Reading what an object file says about itself: nothing in it is taken on trust, and what is wrong is one sentence.

Tests: tests/vta/codegen/test_metadata_reader.py.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from isa.config import ConfigError, VTAConfig
from isa.origin import Origin
from isa.printable import in_one_line
from vta.codegen.metadata import RESULT_TYPES, VERSION, FunctionInfo, Metadata, MetadataError, ParameterInfo
from vta.tir.dtype import DType, DTypeError

__all__ = ["read_metadata"]

_PARTS = ("version", "triple", "config", "digest", "functions", "origins", "messages")
_MOST_OF_A_VALUE = 60
"""Letters of a wrong value that an error shows."""


def read_metadata(text: bytes) -> Metadata:
    """Read what ``Metadata.to_json`` wrote; raises ``MetadataError`` for another version and for anything else."""
    try:
        loaded = json.loads(text)
    except (ValueError, RecursionError):
        raise MetadataError("the module description is not JSON") from None
    if isinstance(loaded, dict) and loaded.get("version", VERSION) != VERSION:
        raise MetadataError(
            f"the object has format version {_shown(loaded['version'])}; this toolchain reads {VERSION}"
        )
    parts = _Object.of(loaded, "the module description", _PARTS)
    functions = tuple(_function(entry) for entry in parts.entries("functions"))
    names = [function.name for function in functions]
    if not names or len(set(names)) < len(names):
        raise MetadataError(f"the module description needs functions with names of their own, not {_shown(names)}")
    return Metadata(
        config=_config(parts),
        functions=functions,
        origins=tuple(_origin(entry) for entry in parts.entries("origins")),
        messages=tuple(_message(entry) for entry in parts.entries("messages")),
        triple=parts.name("triple"),
    )


@dataclass(frozen=True, slots=True)
class _Object:
    """A JSON object that has exactly the keys it should; the methods check what kind of value a key has."""

    value: Mapping[str, object]
    what: str

    @staticmethod
    def of(value: object, what: str, keys: Sequence[str]) -> "_Object":
        if not isinstance(value, dict) or value.keys() != set(keys):
            raise MetadataError(f"{what} needs exactly {', '.join(keys)}")
        return _Object(value, what)

    def name(self, key: str) -> str:
        """Return a text that can be shown as it is, and is not empty."""
        value = self.value[key]
        if not isinstance(value, str) or not value or not value.isprintable():
            raise self.wrong(key)
        return value

    def truth(self, key: str) -> bool:
        value = self.value[key]
        if not isinstance(value, bool):
            raise self.wrong(key)
        return value

    def entries(self, key: str) -> list[object]:
        value = self.value[key]
        if not isinstance(value, list):
            raise self.wrong(key)
        return value

    def wrong(self, key: str) -> MetadataError:
        return MetadataError(f"{key!r} of {self.what} cannot be {_shown(self.value[key])}")


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _MOST_OF_A_VALUE else f"{text[:_MOST_OF_A_VALUE]}..."


def _config(parts: _Object) -> VTAConfig:
    mapping = parts.value["config"]
    if not isinstance(mapping, dict):
        raise parts.wrong("config")
    try:
        config = VTAConfig.from_dict(mapping, where="the object's configuration")
    except ConfigError as error:
        raise MetadataError(str(error)) from None
    if parts.value["digest"] != config.digest:
        raise MetadataError(f"{_shown(parts.value['digest'])} is not the digest of the object's configuration")
    return config


def _function(entry: object) -> FunctionInfo:
    gives = isinstance(entry, dict) and "result" in entry
    parts = _Object.of(entry, "a function", ("name", "uses_device", "parameters", *(["result"] if gives else [])))
    parameters = tuple(map(_parameter, parts.entries("parameters")))
    result = parts.name("result") if gives else ""
    if gives and result not in RESULT_TYPES:
        raise parts.wrong("result")
    return FunctionInfo(parts.name("name"), parameters, parts.truth("uses_device"), result)


def _parameter(entry: object) -> ParameterInfo:
    parts = _Object.of(entry, "a parameter", ("name", "dtype", "shape"))
    dtype = parts.name("dtype")
    try:
        DType(dtype)
    except DTypeError as error:
        raise MetadataError(f"a parameter: {error}") from None
    if parts.value["shape"] is None:
        return ParameterInfo(parts.name("name"), dtype)
    shape = []
    for extent in parts.entries("shape"):
        if extent is not None and (not isinstance(extent, int) or isinstance(extent, bool) or extent < 0):
            raise parts.wrong("shape")
        shape.append(extent)
    return ParameterInfo(parts.name("name"), dtype, tuple(shape))


def _origin(entry: object) -> Origin:
    match entry:
        case [str(stage), str(source)]:
            return Origin(stage, source)
        case _:
            raise MetadataError(f"an origin cannot be {_shown(entry)}; expected a stage and a source")


def _message(entry: object) -> str:
    if not isinstance(entry, str):
        raise MetadataError(f"a message cannot be {_shown(entry)}; expected a text")
    return in_one_line(entry)
