"""Contents of ``.data`` that lie in files of numpy beside the program: ``.data A file=a.npy``.

Type and shape are the array's own; ``type=`` may ask for another type that holds all its numbers. Used by
``isa.text.assembler``. Tests: ``tests/isa/text/test_data_files.py``.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from isa.files.array_file import beside, exactly, read_arrays
from isa.limits import Limits
from isa.printable import in_one_line
from isa.program import DTYPES
from isa.text.data import LineError
from isa.text.sections import Cursor, Region

__all__ = ["with_files"]

_COPIES = 3
"""Copies of a region: the array, in the program, and in DRAM."""


def with_files(regions: Sequence[Region], folder: Path | None, limits: Limits, cursor: Cursor) -> list[Region]:
    """Return the regions with type, shape and contents of their files, which lie in ``folder`` or below it.

    Raises ``LineError`` and ``ArrayFileError`` at ``cursor``, and ``LimitError`` where all regions together take more
    than files of their size may.
    """
    paths = {}
    for region in regions:
        if region.header.file is not None:
            cursor.line = region.line
            paths[region.line] = _path(region, folder)
    size = sum(path.stat().st_size for path in set(paths.values()) if path.is_file())
    budget = limits.budget(size, "number of files")
    filled = []
    for region in regions:
        if region.line in paths:
            cursor.line = region.line
            region = _filled(region, paths[region.line], limits)
            budget.spend(_COPIES * len(region.content or b""), in_one_line(region.header.name) or "the region")
        filled.append(region)
    return filled


def _path(region: Region, folder: Path | None) -> Path:
    if region.words:
        raise LineError(f"the contents come from file=, and then there is {region.words[0]!r}; leave out one of them")
    if folder is None:
        raise LineError("file= needs a program that is a file itself: the contents lie beside it")
    return beside(folder, region.header.file or "")


def _filled(region: Region, path: Path, limits: Limits) -> Region:
    header = region.header
    name = in_one_line(header.file or "")
    arrays = read_arrays(path, limits=limits)
    array = arrays.get("", arrays.get(header.name))
    if array is None:
        there = ", ".join(map(in_one_line, arrays)) or "none"
        raise LineError(f"{name} has no array {header.name!r}; its arrays: {there}")
    dtype = header.dtype or array.dtype.name
    if dtype not in DTYPES:
        raise LineError(f"{name} holds {dtype}, which is none of {', '.join(DTYPES)}; say type=")
    if header.shape is not None and header.shape != array.shape:
        raise LineError(f"{name} has shape {array.shape}, not {header.shape}")
    content = exactly(array, dtype, name).astype(np.dtype(dtype).newbyteorder("<")).tobytes()
    return replace(region, header=replace(header, dtype=dtype, shape=array.shape), content=content)
