"""Arrays in the files of numpy, ``.npy`` and ``.npz``: read within limits, and never run.

A header of a hundred bytes can ask for any amount of memory, and an archive can unpack to a thousand times its size:
both are compared with what a file of this size may take before anything is read. Tests:
``tests/isa/files/test_array_file.py``.
"""

import ast
import io
import lzma
import math
import os
import re
import struct
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import IO
from zipfile import BadZipFile, ZipFile

import numpy as np
import numpy.typing as npt

from isa.errors import VTAError
from isa.limits import DEFAULT_LIMITS, Budget, LimitError, Limits, read_file
from isa.printable import short

__all__ = ["ArrayFileError", "beside", "exact_range", "exactly", "read_arrays", "write_arrays"]

Array = npt.NDArray[np.generic]

_NPY, _ZIP = b"\x93NUMPY", b"PK"
_COPIES = 2
"""Of an array's bytes, while it is read."""
_MOST_ARRAYS = 10_000
_PIECE = 1 << 20
_MOST_DIMENSIONS = 32
_MOST_OF_A_HEADER = 10_000
_LENGTH_BYTES = {1: 2, 2: 4, 3: 4}
"""Format version -> bytes of a header's length."""
_NUMBERS = re.compile(r"[<>|=]?(b1|[iu][1248]|f[248])")


class ArrayFileError(VTAError, ValueError):
    """A file that holds no arrays of numbers, a damaged one, or an array that is not the one that was wanted."""


def read_arrays(path: str | os.PathLike[str], *, limits: Limits = DEFAULT_LIMITS) -> dict[str, Array]:
    """Return the arrays of an ``.npz`` file by name, or that of an ``.npy`` file under the name ``""``.

    They hold numbers or booleans and are not to be written to. Raises ``ArrayFileError``, beginning with the path.
    """
    where = os.fspath(path)
    try:
        data = read_file(path, limits)
        budget = limits.budget(len(data))
        if data.startswith(_NPY):
            return {"": _array(io.BytesIO(data), budget, "the array")}
        if data.startswith(_ZIP):
            return _archive(data, budget)
    except OSError as error:
        raise ArrayFileError(f"{where}: cannot be read: {error.strerror}") from None
    except (ArrayFileError, LimitError) as error:
        raise ArrayFileError(f"{where}: {error}") from None
    raise ArrayFileError(f"{where}: no file of numpy; expected what numpy.save or numpy.savez wrote")


def write_arrays(file: IO[bytes], arrays: Mapping[str, Array]) -> None:
    """Write arrays as an ``.npz`` archive that is the same for the same arrays, whatever their names are."""
    with ZipFile(file, "w") as archive:
        for name, array in arrays.items():
            with archive.open(_member(name), "w", force_zip64=True) as stream:
                np.lib.format.write_array(stream, np.asanyarray(array), allow_pickle=False)


def _member(name: str) -> str:
    return f"{name}.npy"


def _archive(data: bytes, budget: Budget) -> dict[str, Array]:
    arrays = {}
    try:
        with ZipFile(io.BytesIO(data)) as archive:
            members = [name for name in archive.namelist() if name.endswith(".npy")]
            if len(members) > _MOST_ARRAYS:
                raise ArrayFileError(f"the archive has {len(members):,} arrays, and {_MOST_ARRAYS:,} at most are read")
            for member in members:
                name = member.removesuffix(".npy")
                with archive.open(member) as stream:
                    arrays[name] = _array(stream, budget, f"array {short(name)}")
    except (ArrayFileError, LimitError):
        raise
    except (BadZipFile, zlib.error, lzma.LZMAError, struct.error, EOFError, RuntimeError, OSError, ValueError):
        raise ArrayFileError("the archive is damaged, encrypted, or packed in a way that numpy does not use") from None
    return arrays


def _array(stream: IO[bytes], budget: Budget, what: str) -> Array:
    shape, fortran, dtype = _header(stream, what)
    nbytes = math.prod(shape) * dtype.itemsize
    budget.spend(_COPIES * nbytes, what)
    content = _read(stream, nbytes)
    if len(content) < nbytes:
        raise ArrayFileError(f"{what} is cut off after {len(content):,} of its {nbytes:,} bytes")
    try:
        array: Array = np.frombuffer(content, dtype).reshape(shape, order="F" if fortran else "C")
    except ValueError:  # an extent of 0 beside one that no array has
        raise ArrayFileError(f"{what} has an extent of {short(max(shape))}; no array has that") from None
    return array.astype(dtype.newbyteorder("="), copy=False)


def _read(stream: IO[bytes], nbytes: int) -> bytes:
    """Return that many bytes, or as many as there are; asked for all at once, zipfile would unpack more."""
    pieces = []
    while nbytes and (piece := stream.read(min(nbytes, _PIECE))):
        pieces.append(piece)
        nbytes -= len(piece)
    return b"".join(pieces)


def _header(stream: IO[bytes], what: str) -> tuple[tuple[int, ...], bool, np.dtype[np.generic]]:
    """Return shape, order and type of the array that follows in ``stream`` (numpy.lib.format has the layout)."""
    head = stream.read(len(_NPY) + 2)
    if len(head) < len(_NPY) + 2 or not head.startswith(_NPY):
        raise ArrayFileError(f"{what} is damaged: it does not begin as numpy's files do")
    if head[-2] not in _LENGTH_BYTES:
        raise ArrayFileError(f"{what} has format version {head[-2]}.{head[-1]}, and 1.0 to 3.0 are known")
    length = int.from_bytes(stream.read(_LENGTH_BYTES[head[-2]]), "little")
    if length > _MOST_OF_A_HEADER:
        raise ArrayFileError(f"{what} has a header of {length:,} bytes, and {_MOST_OF_A_HEADER:,} at most are read")
    try:
        header = ast.literal_eval(stream.read(length).decode())
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        header = None
    match header:
        case {"descr": str(text), "fortran_order": bool(fortran), "shape": tuple(shape)} if all(
            type(extent) is int for extent in shape
        ):
            pass
        case {"descr": [*other]}:  # records
            raise ArrayFileError(f"{what} holds {short(other)}, which are no numbers that are known here")
        case _:
            raise ArrayFileError(f"{what} is damaged: its header says not what type and shape it has")
    if not _NUMBERS.fullmatch(text):
        raise ArrayFileError(f"{what} holds {short(text)}, which are no numbers that are known here")
    if len(shape) > _MOST_DIMENSIONS or any(extent < 0 for extent in shape):
        raise ArrayFileError(
            f"{what} has {len(shape)} dimensions, the smallest {short(min(shape))}; no array has those"
        )
    return shape, fortran, np.dtype(text)


def exactly(array: Array, dtype: str, what: str) -> Array:
    """Return ``array`` as ``dtype`` if that holds every number of it; else ``ArrayFileError``, naming ``what``.

    Whole numbers become any type that has them; real numbers stay what they are.
    """
    wanted = np.dtype(dtype)
    if array.dtype == wanted:
        return array
    if array.dtype.kind not in "biu" or wanted.kind not in "iuf":
        raise ArrayFileError(f"{what} holds {array.dtype}, and {dtype} is wanted; convert it with .astype({dtype!r})")
    if array.size:
        low, high = int(array.min()), int(array.max())
        least, most = exact_range(wanted)
        if low < least or high > most:
            raise ArrayFileError(f"{what} goes from {low} to {high}, and {dtype} holds {least} to {most}")
    return array.astype(wanted)


def exact_range(dtype: np.dtype[np.generic]) -> tuple[int, int]:
    """Return between which whole numbers a type has every one."""
    if dtype.kind == "f":
        most = 1 << (np.finfo(dtype.name).nmant + 1)
        return -most, most
    limits = np.iinfo(dtype.name)
    return int(limits.min), int(limits.max)


def beside(folder: Path, name: str) -> Path:
    """Return the file that a file in ``folder`` calls ``name``; ``ArrayFileError`` unless it lies there or below.

    A stranger's file could name any other of the system's. Links are not followed.
    """
    path, home = folder / name, folder.resolve()
    inside = name and "\0" not in name and not Path(name).is_absolute() and ".." not in Path(name).parts
    if not inside or (home / name).resolve() != home / name:
        raise ArrayFileError(f"{short(name)} is not the name of a file in the same folder or below it, without links")
    return path
