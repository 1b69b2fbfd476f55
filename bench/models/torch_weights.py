"""Weights in PyTorch's files, read without PyTorch: a zip archive with a pickle of names, and numbers beside it.

Nothing of a pickle is run but what puts tensors and dictionaries together.
Tests: tests/integration/test_pretrained.py.
"""

import pickle
import zipfile
from collections import OrderedDict
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

__all__ = ["torch_weights"]

Array = npt.NDArray[Any]
_TYPES = {"FloatStorage": np.float32, "LongStorage": np.int64, "HalfStorage": np.float16, "DoubleStorage": np.float64}


def torch_weights(path: Path) -> dict[str, Array]:
    """Return the tensors of a file by name; raises ``ValueError`` for one that holds something else."""
    if zipfile.is_zipfile(path):
        return _zipped(path)
    with open(path, "rb") as file:
        return _legacy(file)


def _zipped(path: Path) -> dict[str, Array]:
    with zipfile.ZipFile(path) as archive:
        [index] = [name for name in archive.namelist() if name.endswith("/data.pkl")]
        folder = index.removesuffix("data.pkl")
        with archive.open(index) as file:
            found = _Reader(file, lambda kind, key, _: np.frombuffer(archive.read(f"{folder}data/{key}"), kind)).load()
    return {name: np.asarray(value) for name, value in found.items()}


def _legacy(file: BinaryIO) -> dict[str, Array]:
    """Read the format before zip archives: four pickles, then every storage with its size in front."""
    for _ in range(3):
        _Reader(file, None).load()  # magic number, version, sizes of the system's types
    sizes: dict[str, tuple[type, int]] = {}

    def later(kind: type, key: str, count: int) -> Any:
        sizes[key] = (kind, count)
        return _Later(key)

    found = _Reader(file, later).load()
    keys = _Reader(file, None).load()
    storages: dict[str, Array] = {}
    for key in keys:
        kind, _ = sizes[key]
        count = int(np.frombuffer(file.read(8), np.int64)[0])
        storages[key] = np.frombuffer(file.read(count * np.dtype(kind).itemsize), kind)
    return {name: value.of(storages) for name, value in found.items()}


class _Later:
    """A tensor whose numbers come later in the file."""

    def __init__(self, key: str) -> None:
        self.key = key
        self.shape: tuple[int, ...] = ()
        self.offset = 0
        self.strides: tuple[int, ...] = ()

    def of(self, storages: dict[str, Array]) -> Array:
        """Return the tensor."""
        return _view(storages[self.key], self.offset, self.shape, self.strides)


def _view(storage: Array, offset: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> Array:
    steps = tuple(step * storage.itemsize for step in strides)
    return np.lib.stride_tricks.as_strided(storage[offset:], shape, steps).copy()


def _rebuilt(storage: Any, offset: int, shape: tuple[int, ...], strides: tuple[int, ...], *_: object) -> Any:
    if isinstance(storage, _Later):
        storage.offset, storage.shape, storage.strides = offset, shape, strides
        return storage
    return _view(storage, offset, shape, strides)


class _Reader(pickle.Unpickler):
    """Knows tensors and ordered dictionaries, and nothing else."""

    def __init__(self, file: Any, storage: Any) -> None:
        super().__init__(file)
        self._storage = storage

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == ("collections", "OrderedDict"):
            return OrderedDict
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return _rebuilt
        if module == "torch" and name in _TYPES:
            return _TYPES[name]
        raise ValueError(f"the file asks for {module}.{name}, which tensors do not need")

    def persistent_load(self, pid: Any) -> Any:
        _, kind, key, _, count, *_ = pid
        return self._storage(kind, key, count)
