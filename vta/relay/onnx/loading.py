"""ONNX files: read within limits, checked, with their external data.

A model may come from a stranger: external data lie in the model's own folder or below it, are no links, and are read no
further than the tensor's size; nothing is decompressed. Tests: tests/vta/relay/onnx/test_loading.py.
"""

import contextlib
import math
import os
from collections.abc import Iterator
from pathlib import Path

import onnx
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import DecodeError, EncodeError, Message
from onnx import numpy_helper

from isa.limits import DEFAULT_LIMITS, LimitError, Limits, read_file
from runtime.executor.operators.types import Array
from vta.relay.onnx.errors import OnnxError

__all__ = ["LIMIT_BYTES", "OLDEST_OPSET", "load_model", "loaded_bytes", "opset_of", "tensor_value"]

LIMIT_BYTES = 2 << 30
"""A model file's largest size: what protobuf can hold."""

OLDEST_OPSET = 7
"""Older models give some operators another meaning; ``old_versions`` turns 6 into this."""


def load_model(path: str | os.PathLike[str], *, limits: Limits = DEFAULT_LIMITS) -> onnx.ModelProto:
    """Return the model in a file, with its external data; raises ``OnnxError`` beginning with the path."""
    where = Path(path)
    try:
        data = read_file(where, limits)
    except OSError as error:
        raise OnnxError(f"{where}: cannot be read: {error.strerror}") from None
    except LimitError as error:
        raise OnnxError(str(error)) from None
    if len(data) > LIMIT_BYTES:
        raise OnnxError(f"{where}: the file has {len(data)} bytes, which is more than the limit of {LIMIT_BYTES}")
    model = onnx.ModelProto()
    try:
        model.ParseFromString(data)
    except DecodeError:
        raise OnnxError(f"{where}: not an ONNX model, or a damaged one") from None
    if not model.HasField("graph") or not model.opset_import:
        raise OnnxError(f"{where}: not an ONNX model: it has no graph or no operator set")
    if not all(isinstance(text, str) for text in _texts(model)):  # protobuf gives bytes that are no text as bytes
        raise OnnxError(f"{where}: a name in it is no text in UTF-8; the model is damaged")
    budget = limits.budget(_bytes_with_files(model, where))
    for tensor in _external(model.graph):
        try:
            budget.spend(_bytes_of(tensor, f"{where}: tensor {tensor.name!r}"), f"tensor {tensor.name!r}")
        except LimitError as error:
            raise OnnxError(f"{where}: {error}") from None
        _read_external(tensor, where)
    return model


def _bytes_with_files(model: onnx.ModelProto, path: Path) -> int:
    """Return the size of a model with all files of external data, each once, that lie beside ``path``."""
    names = {
        entry.value for tensor in _external(model.graph) for entry in tensor.external_data if entry.key == "location"
    }
    size: int = model.ByteSize()
    for name in filter(_lies_beside, names):
        with contextlib.suppress(OSError, ValueError):
            size += (path.parent / name).stat().st_size
    return size


def _texts(message: Message) -> Iterator[object]:
    """Yield the texts in a message and in those within it."""
    for field in message.DESCRIPTOR.fields:
        if field.type == FieldDescriptor.TYPE_STRING:
            value = getattr(message, field.name)
            yield from value if field.is_repeated else [value]
        elif field.type == FieldDescriptor.TYPE_MESSAGE:
            if field.is_repeated:
                for inner in getattr(message, field.name):
                    yield from _texts(inner)
            elif message.HasField(field.name):
                yield from _texts(getattr(message, field.name))


def loaded_bytes(model: onnx.ModelProto) -> int:
    """Return the bytes of a model with its weights."""
    try:
        return int(model.ByteSize())
    except (EncodeError, ValueError):  # more than protobuf can write
        return LIMIT_BYTES


def opset_of(model: onnx.ModelProto) -> int:
    """Return the version of the standard operators; raises ``OnnxError`` for one that is not known."""
    newest = onnx.defs.onnx_opset_version()
    versions = [entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")]
    if not versions:
        return newest
    version = int(max(versions))
    if not OLDEST_OPSET <= version <= newest:
        raise OnnxError(
            f"the model uses version {version} of ONNX's operators, and {OLDEST_OPSET} to {newest} are known; "
            "convert it with onnx.version_converter, or install a newer onnx"
        )
    return version


def tensor_value(tensor: onnx.TensorProto, where: str) -> Array:
    """Return a tensor's numbers; raises ``OnnxError`` beginning with ``where``."""
    try:
        value = numpy_helper.to_array(tensor)
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError):
        raise OnnxError(f"{where}: tensor {tensor.name!r} is damaged or of a type without numbers") from None
    if value.dtype.kind not in "biuf" or value.dtype.itemsize > 8:
        kind = onnx.TensorProto.DataType.Name(tensor.data_type)
        raise OnnxError(f"{where}: tensor {tensor.name!r} holds {kind}, which is not supported")
    return value


def _external(graph: onnx.GraphProto, depth: int = 0) -> Iterator[onnx.TensorProto]:
    """Yield the tensors, in subgraphs too, whose numbers lie in another file."""
    if depth > 32:
        raise OnnxError("the model has graphs within graphs, more than 32 deep")
    tensors = list(graph.initializer)
    for node in graph.node:
        for attribute in node.attribute:
            tensors += [attribute.t, *attribute.tensors]
            for inner in (attribute.g, *attribute.graphs):
                if inner.node or inner.initializer:
                    yield from _external(inner, depth + 1)
    yield from (t for t in tensors if t.data_location == onnx.TensorProto.EXTERNAL)


def _read_external(tensor: onnx.TensorProto, model: Path) -> None:
    """Put a tensor's numbers, which lie in another file, into the tensor."""
    where = f"{model}: tensor {tensor.name!r}"
    about = {entry.key: entry.value for entry in tensor.external_data}
    location, folder = about.get("location", ""), model.parent.resolve()
    path = folder / location
    if (
        not _lies_beside(location)
        or path.is_symlink()
        or path.resolve() != path
        or not path.resolve().is_relative_to(folder)
    ):
        raise OnnxError(f"{where}: its data are said to lie in {location!r}, which is not a file beside the model")
    try:
        offset, length = int(about.get("offset", "0")), int(about.get("length", "-1"))
    except ValueError:
        raise OnnxError(f"{where}: offset and length of its data are not numbers") from None
    expected = _bytes_of(tensor, where)
    if length not in (-1, expected) or offset < 0:
        raise OnnxError(f"{where}: it has {expected} bytes, and its data are said to have {length} from {offset} on")
    try:
        if not path.is_file():
            raise OnnxError(f"{where}: its data, {location!r}, are missing beside the model")
        with open(path, "rb") as file:
            file.seek(offset)
            data = file.read(expected)
    except OSError as error:
        raise OnnxError(f"{where}: {location!r} cannot be read: {error.strerror}") from None
    if len(data) < expected:
        raise OnnxError(f"{where}: {location!r} ends after {len(data)} of its {expected} bytes")
    tensor.raw_data = data
    tensor.data_location = onnx.TensorProto.DEFAULT
    del tensor.external_data[:]


def _lies_beside(location: str) -> bool:
    """Return whether a name can be that of a file in the model's folder or below it."""
    parts = Path(location)
    return bool(location) and not parts.is_absolute() and ".." not in parts.parts and "\0" not in location


def _bytes_of(tensor: onnx.TensorProto, where: str) -> int:
    """Return how many bytes a tensor's numbers take."""
    try:
        kind = onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type)
    except (KeyError, ValueError, TypeError):
        raise OnnxError(f"{where}: its element type, number {tensor.data_type}, is not known") from None
    if any(extent < 0 for extent in tensor.dims):
        raise OnnxError(f"{where}: its shape is {tuple(tensor.dims)}")
    return int(math.prod(tensor.dims)) * kind.itemsize
