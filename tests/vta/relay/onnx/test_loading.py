"""Files of models: strangers' ones, damaged ones, and data that lie elsewhere."""

import random
import re
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import external_data_helper

from isa.limits import Limits
from tests.support.relay.onnx_models import model_of, node
from vta.relay.interpreter import run
from vta.relay.onnx import loading
from vta.relay.onnx.errors import OnnxError
from vta.relay.onnx.importer import from_onnx
from vta.relay.onnx.loading import load_model, opset_of

MODEL = model_of(
    [node("MatMul", ["x", "w"], "y")],
    {"x": ("float32", (1, 4))},
    weights={"w": np.arange(12, dtype=np.float32).reshape(4, 3)},
)


def says(text: str) -> str:
    return f"^{re.escape(text)}$"


@pytest.fixture
def external(tmp_path: Path) -> Path:
    """A model whose weights lie in a file beside it."""
    model = onnx.ModelProto()
    model.CopyFrom(MODEL)
    external_data_helper.convert_model_to_external_data(model, location="weights.bin", size_threshold=0)
    path = tmp_path / "model.onnx"
    onnx.save(model, path)
    return path


def relocated(path: Path, **about: str) -> Path:
    """Return the model with other words about where its weights lie."""
    model = onnx.load(path, load_external_data=False)
    entries = model.graph.initializer[0].external_data
    kept = {entry.key: entry.value for entry in entries} | about
    del entries[:]
    for key, value in kept.items():
        entries.add(key=key, value=value)
    path.write_bytes(model.SerializeToString())
    return path


def test_external_data_are_read(external: Path) -> None:
    function = from_onnx(external)
    result = run(function, [np.ones((1, 4), np.float32)])
    np.testing.assert_array_equal(result, [[18, 22, 26]])


@pytest.mark.parametrize("location", ["../secret.bin", "/etc/hostname", "", "sub/../../x", "a\0b"])
def test_data_elsewhere_than_beside_the_model_are_refused(external: Path, location: str) -> None:
    path = relocated(external, location=location)
    message = f"{path}: tensor 'w': its data are said to lie in {location!r}, which is not a file beside the model"
    with pytest.raises(OnnxError, match=says(message)):
        load_model(path)


def test_a_link_beside_the_model_is_not_followed(external: Path) -> None:
    data = external.parent / "weights.bin"
    data.rename(external.parent / "elsewhere.bin")
    data.symlink_to(external.parent / "elsewhere.bin")
    with pytest.raises(OnnxError, match=r"which is not a file beside the model$"):
        load_model(external)


@pytest.mark.parametrize(
    ("about", "text"),
    [
        ({"location": "none.bin"}, "its data, 'none.bin', are missing beside the model"),
        ({"offset": "10"}, "'weights.bin' ends after 38 of its 48 bytes"),
        ({"length": "1000000"}, "it has 48 bytes, and its data are said to have 1000000 from 0 on"),
        ({"offset": "-4"}, "it has 48 bytes, and its data are said to have 48 from -4 on"),
        ({"offset": "x"}, "offset and length of its data are not numbers"),
    ],
)
def test_data_that_are_not_there_are_refused(external: Path, about: dict[str, str], text: str) -> None:
    path = relocated(external, **about)
    with pytest.raises(OnnxError, match=says(f"{path}: tensor 'w': {text}")):
        load_model(path)


def test_missing_and_large_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "none.onnx"
    with pytest.raises(OnnxError, match=says(f"{path}: cannot be read: No such file or directory")):
        load_model(path)
    monkeypatch.setattr(loading, "LIMIT_BYTES", 99)
    path.write_bytes(bytes(100))
    with pytest.raises(OnnxError, match=says(f"{path}: the file has 100 bytes, which is more than the limit of 99")):
        load_model(path)


def test_files_elsewhere_allow_no_more_memory(external: Path) -> None:
    large = external.parent / "large.bin"
    with open(large, "wb") as file:
        file.truncate(1 << 40)
    inner = external.parent / "inner"
    inner.mkdir()
    (external.parent / "weights.bin").rename(inner / "weights.bin")
    model = onnx.load(external, load_external_data=False)
    tensor = model.graph.initializer[0]
    del tensor.dims[:]
    tensor.dims.append(1 << 34)
    for location in ("../large.bin", str(large)):
        other = onnx.TensorProto(name=location, data_type=onnx.TensorProto.INT8, dims=[1], data_location=1)
        other.external_data.add(key="location", value=location)
        model.graph.initializer.append(other)
    (inner / "m.onnx").write_bytes(model.SerializeToString())
    with pytest.raises(OnnxError, match=r"tensor 'w' would take 64 GiB of memory, and the limit is"):
        load_model(inner / "m.onnx")


def test_external_data_take_no_more_than_the_limit(external: Path) -> None:
    load_model(external, limits=Limits(memory=48))
    text = "tensor 'w' would take 48 bytes of memory, and the limit is 47 bytes (as was asked for)"
    with pytest.raises(OnnxError, match=re.escape(f"{external}: {text}")):
        load_model(external, limits=Limits(memory=47))


@pytest.mark.parametrize("data", [b"", b"\x08\x08", b"not a model at all", bytes(64)])
def test_other_files_are_refused(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "odd.onnx"
    path.write_bytes(data)
    with pytest.raises(OnnxError, match=r"odd\.onnx: not an ONNX model"):
        load_model(path)


def test_damaged_files_give_a_sentence_or_a_model(tmp_path: Path) -> None:
    rng = random.Random(5)
    whole = MODEL.SerializeToString()
    path = tmp_path / "damaged.onnx"
    refused = 0
    for _ in range(400):
        data = bytearray(whole)
        for _ in range(rng.randint(1, 4)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        path.write_bytes(bytes(data[: rng.randint(len(data) // 2, len(data))]))
        try:
            from_onnx(path)
        except OnnxError:
            refused += 1
    assert refused > 200


def test_unknown_versions_are_refused() -> None:
    newest = onnx.defs.onnx_opset_version()
    for version in (6, newest + 1):
        model = model_of([node("Relu", ["x"], "y")], {"x": ("float32", (1,))}, opset=version)
        with pytest.raises(
            OnnxError, match=f"^the model uses version {version} of ONNX's operators, and 7 to {newest} are"
        ):
            opset_of(model)


@pytest.mark.parametrize("name", [b"x", b"MatMul", b"w"])
def test_a_name_that_is_no_text_is_refused(tmp_path: Path, name: bytes) -> None:
    path = tmp_path / "odd.onnx"
    data = MODEL.SerializeToString()
    field = bytes([len(name)]) + name
    assert field in data
    path.write_bytes(data.replace(field, bytes([len(name)]) + b"\xff" * len(name)))
    with pytest.raises(OnnxError, match=says(f"{path}: a name in it is no text in UTF-8; the model is damaged")):
        load_model(path)
