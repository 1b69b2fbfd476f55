"""Readers of trained weights: PyTorch's two formats, written here as PyTorch writes them, and nothing else."""

import pickle
import sys
import zipfile
from collections import OrderedDict
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from bench.models.pretrained import found
from bench.models.torch_weights import torch_weights

ARRAYS: dict[str, Any] = {
    "a.weight": np.arange(6, dtype=np.float32).reshape(2, 3),
    "n": np.array(7, np.int64),
}


@pytest.fixture
def torch(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """What a pickle of PyTorch's names, so that Python's own pickler writes these names."""
    torch, inner = ModuleType("torch"), ModuleType("torch._utils")
    for kind in ("FloatStorage", "LongStorage"):
        setattr(torch, kind, type(kind, (), {"__module__": "torch"}))

    def _rebuild_tensor_v2() -> None:
        """A name; it is never called."""

    _rebuild_tensor_v2.__module__, _rebuild_tensor_v2.__qualname__ = "torch._utils", "_rebuild_tensor_v2"
    inner._rebuild_tensor_v2 = _rebuild_tensor_v2  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setitem(sys.modules, "torch._utils", inner)
    return torch


class Storage:
    """The numbers of a tensor, which lie outside of the pickle."""

    def __init__(self, pid: tuple[object, ...]) -> None:
        self.pid = pid


class Tensor:
    """Pickled as a call that puts a tensor together."""

    def __init__(self, key: str, array: Any) -> None:
        self.key, self.array = key, array

    def __reduce__(self) -> tuple[Any, ...]:
        torch = sys.modules["torch"]
        kind = torch.FloatStorage if self.array.dtype.kind == "f" else torch.LongStorage
        storage = Storage(("storage", kind, self.key, "cpu", self.array.size))
        strides = tuple(step // self.array.itemsize for step in self.array.strides)
        rebuild = sys.modules["torch._utils"]._rebuild_tensor_v2
        return rebuild, (storage, 0, self.array.shape, strides, False, OrderedDict())


class Writer(pickle.Pickler):
    """Writes tensors as PyTorch does."""

    def persistent_id(self, obj: Any) -> Any:
        return obj.pid if isinstance(obj, Storage) else None


def weights() -> OrderedDict[str, Tensor]:
    return OrderedDict((name, Tensor(str(number), value)) for number, (name, value) in enumerate(ARRAYS.items()))


def check(read: dict[str, np.ndarray]) -> None:
    assert list(read) == list(ARRAYS)
    for name, value in ARRAYS.items():
        np.testing.assert_array_equal(read[name], value)


def test_the_newer_format_is_a_zip_archive(tmp_path: Path, torch: ModuleType) -> None:
    with zipfile.ZipFile(tmp_path / "w.pt", "w") as archive:
        with archive.open("w/data.pkl", "w") as file:
            Writer(file, 2).dump(weights())
        for number, value in enumerate(ARRAYS.values()):
            archive.writestr(f"w/data/{number}", value.tobytes())
    check(torch_weights(tmp_path / "w.pt"))


def test_the_older_format_is_pickles_with_numbers_behind(tmp_path: Path, torch: ModuleType) -> None:
    with open(tmp_path / "w.pth", "wb") as file:
        for value in (0x1950A86A20F9469CFC6C, 1001, {"little_endian": True}):
            pickle.dump(value, file, 2)
        Writer(file, 2).dump(weights())
        pickle.dump(["0", "1"], file, 2)
        for array in ARRAYS.values():
            file.write(np.array(array.size, np.int64).tobytes() + array.tobytes())
    check(torch_weights(tmp_path / "w.pth"))


def test_nothing_else_in_a_pickle_is_run(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "w.pt", "w") as archive:
        archive.writestr("w/data.pkl", b"cos\nsystem\n(S'true'\ntR.")
    with pytest.raises(ValueError, match=r"^the file asks for os\.system, which tensors do not need$"):
        torch_weights(tmp_path / "w.pt")


def test_files_are_found_below_a_folder(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "rnet.pt").touch()
    assert found(tmp_path, "rnet.pt") == tmp_path / "deep" / "rnet.pt"
    with pytest.raises(FileNotFoundError, match=r"there is no onet\.pt below it"):
        found(tmp_path, "onet.pt")
