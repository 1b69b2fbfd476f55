"""The directives of assembly that describe DRAM: ``.data``, ``.output`` and their contents.

Used by ``isa.text.assembler`` and ``isa.text.disassembler``; the grammar is in `docs/isa.md`. Tests:
``tests/isa/text/test_assembly.py``, ``tests/isa/text/test_assembly_errors.py``.
"""

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from isa.errors import VTAError
from isa.files.array_file import exact_range
from isa.program import DTYPES

__all__ = ["LineError", "RegionHeader", "contents", "describe", "parse_header", "parse_number", "region_bytes"]

_NUMBER = re.compile(r"[-+]?[0-9][0-9a-zA-Z]*")
_LONGEST_NUMBER = 80
"""Characters of a number: more than 64 binary digits mean nothing anywhere, and endless ones would take for ever."""

_WORD = re.compile(r'(?:[^\s"]|"(?:[^"\\]|\\.)*"?)+')
"""A word; what stands in quotes may have blanks."""

_KEYS = {".data": ("address", "type", "shape", "file"), ".output": ("address", "type", "shape")}

_NUMBERS_PER_LINE = 16
_BYTES_PER_LINE = 48
_SHOWN_AS_NUMBERS = 1024
_PIECE = 1 << 16
"""Numbers that are made at a time."""

_LARGEST = 1 << 28
"""Elements of a region: enough for any network, and a slip of the finger does not fill the memory."""


class LineError(VTAError, ValueError):
    """What is wrong with a line, without its place; the assembler adds that."""


def parse_number(text: str) -> int:
    """Return the whole number in ``text``: decimal, 0x or 0b, with a sign or without."""
    if text.isdecimal() and text.isascii() and text[0] != "0" and len(text) < 20:
        return int(text)  # the common case, quickly
    if len(text) > _LONGEST_NUMBER:
        raise LineError(f"expected a number such as 12, -3 or 0x1f, not one of {len(text)} characters")
    if _NUMBER.fullmatch(text):
        try:
            return int(text, 0)
        except ValueError:
            pass
    raise LineError(f"expected a number such as 12, -3 or 0x1f, not {text!r}")


@dataclass(frozen=True, slots=True)
class RegionHeader:
    """What a ``.data`` or ``.output`` line says; ``None`` where it says nothing. ``rest`` are the words after it.

    ``file`` is the file that has the contents.
    """

    name: str
    address: int | None
    dtype: str | None
    shape: tuple[int, ...] | None
    rest: tuple[str, ...]
    file: str | None = None


def parse_header(text: str, directive: str) -> RegionHeader:
    """Read ``NAME address=A type=T shape=N,M file=F`` (any of the four may be missing) and keep what follows.

    A name that is no label stands in quotes, and ``""`` is no name; a file with a blank in its name stands in quotes.
    """
    name, rest = _name(text.strip())
    words = _WORD.findall(rest)
    if name is None:
        raise LineError(f"expected a name after {directive}, as in {directive} A address=0x1000 type=int8 shape=4,16")
    given: dict[str, str] = {}
    while words and "=" in words[0]:
        key, _, value = words.pop(0).partition("=")
        if key not in _KEYS[directive]:
            raise LineError(f"expected {_either(_KEYS[directive])}, not {key + '='!r}")
        if key in given:
            raise LineError(f"{key}= is given twice")
        given[key] = value
    address = parse_number(given["address"]) if "address" in given else None
    dtype = given.get("type")
    if dtype is not None and dtype not in DTYPES:
        raise LineError(f"type {dtype!r} is none of {', '.join(DTYPES)}")
    shape = _shape(given["shape"]) if "shape" in given else None
    return RegionHeader(name, address, dtype, shape, tuple(words), _file(given))


def _either(keys: Sequence[str]) -> str:
    return f"{', '.join(f'{key}=' for key in keys[:-1])} or {keys[-1]}="


def _file(given: Mapping[str, str]) -> str | None:
    """Return the name of a file, without its quotes."""
    name = given.get("file")
    if name is None or not name.startswith('"'):
        return name
    try:
        return str(json.loads(name))
    except json.JSONDecodeError:
        raise LineError("expected a file's name in quotes after file=") from None


def _name(text: str) -> tuple[str | None, str]:
    """Return the name that ``text`` starts with (in quotes or not) and the rest."""
    if not text:
        return None, ""
    if not text.startswith('"'):
        word, *rest = text.split(None, 1)
        return (None, "") if "=" in word else (word, " ".join(rest))
    try:
        name, end = json.JSONDecoder().raw_decode(text)
    except json.JSONDecodeError:
        raise LineError("expected a name in quotes") from None
    return str(name), text[end:]


def region_bytes(dtype: str, shape: tuple[int, ...]) -> int:
    """Return the bytes of a region."""
    return math.prod(shape) * np.dtype(dtype).itemsize


def _shape(text: str) -> tuple[int, ...]:
    if text == "()":
        return ()
    shape = tuple(parse_number(part) for part in text.split(","))
    if min(shape) < 0 or math.prod(shape) > _LARGEST:
        raise LineError(f"shape {text} has a negative extent or more than 2^28 elements")
    return shape


def contents(words: Sequence[str], dtype: str, shape: tuple[int, ...]) -> bytes:
    """Return the bytes that the words after a ``.data`` header describe.

    ``zeros``, ``fill V``, ``arange [START [STEP]] [wrapping]``, ``random SEED`` (any bits), ``hex DIGITS ...``, or as
    many numbers as the region has elements, row by row. Numbers that the type does not hold are refused; of a range
    that is ``wrapping``, the low bits are kept.
    """
    count = math.prod(shape)
    kind = np.dtype(dtype).newbyteorder("<")
    match list(words):
        case ["zeros"]:
            return bytes(count * kind.itemsize)
        case ["fill", value]:
            return _numbers([value], dtype).tobytes() * count
        case ["arange", *range_words, "wrapping"] if len(range_words) <= 2:
            return _range(range_words, count, kind, wrapping=True)
        case ["arange", *range_words] if len(range_words) <= 2:
            return _range(range_words, count, kind, wrapping=False)
        case ["random", seed]:
            if parse_number(seed) < 0:
                raise LineError(f"SEED of random is not negative, as {seed} is")
            return np.random.default_rng(parse_number(seed)).bytes(count * kind.itemsize)
        case ["hex", *digits]:
            return _hex("".join(digits), count * kind.itemsize)
        case numbers:
            if len(numbers) != count:
                extents = ",".join(map(str, shape)) or "()"
                raise LineError(f"type={dtype} shape={extents} holds {count} numbers, not {len(numbers)}")
            return _numbers(numbers, dtype).tobytes()


def _range(words: Sequence[str], count: int, kind: np.dtype[np.generic], *, wrapping: bool) -> bytes:
    start, step = [parse_number(word) for word in words] + [0, 1][len(words) :]
    if max(abs(start), abs(step)) > 1 << 32:
        raise LineError("START and STEP of arange are -2^32 to 2^32")
    last = start + step * (count - 1)
    if wrapping and kind.kind == "f":
        raise LineError(f"a range of {kind.name} does not wrap; leave out 'wrapping'")
    if count and not wrapping and not _holds(kind, start, last):
        low, high = exact_range(kind)
        goes = f"and this range goes from {start} to {last}"
        if kind.kind == "f":
            raise LineError(f"{kind.name} holds every whole number from {low} to {high}, {goes}")
        raise LineError(f"{kind.name} holds {low} to {high}, {goes}; say 'arange START STEP wrapping' if it may")
    return b"".join(piece.tobytes() for piece in _counted(start, step, count, kind))


def _holds(kind: np.dtype[np.generic], *values: int) -> bool:
    low, high = exact_range(kind)
    return all(low <= value <= high for value in values)


def _hex(digits: str, nbytes: int) -> bytes:
    try:
        raw = bytes.fromhex(digits)
    except ValueError:
        raise LineError("expected pairs of hexadecimal digits after hex") from None
    if len(raw) != nbytes:
        raise LineError(f"the region has {nbytes} bytes, not {len(raw)}")
    return raw


def _numbers(words: Sequence[str], dtype: str) -> npt.NDArray[np.generic]:
    """Return numbers as an array, refusing those that the type cannot hold."""
    kind = np.dtype(dtype)
    if kind.kind == "f":
        try:
            floats = [float(word) for word in words]
        except ValueError:
            raise LineError(f"expected {dtype} numbers, not {' '.join(words[:4])}") from None
        for word, number in zip(words, floats, strict=True):
            if math.isfinite(number) and abs(number) > float(np.finfo(kind).max):
                raise LineError(f"{dtype} does not hold {word}")
        return np.array(floats, "<f4")
    limits = np.iinfo(kind)
    values = [parse_number(word) for word in words]
    for value in values:
        if not limits.min <= value <= limits.max:
            raise LineError(f"{dtype} holds {limits.min} to {limits.max}, not {value}")
    return np.array(values, kind.newbyteorder("<"))


def _counted(start: int, step: int, count: int, kind: np.dtype[np.generic]) -> Iterator[npt.NDArray[np.generic]]:
    """Yield ``start``, ``start + step`` and so on, ``count`` numbers that wrap, in pieces that take little memory."""
    for begin in range(0, count, _PIECE):
        places = np.arange(begin, min(begin + _PIECE, count), dtype=np.int64)
        yield (start + step * places).astype(kind)


def _series(values: npt.NDArray[np.generic]) -> str | None:
    """Return ``fill V`` or ``arange START STEP`` if that is what three or more whole numbers are."""
    first, second = (int(number) for number in values[:2].tolist())
    step = second - first
    place = 0
    for piece in _counted(first, step, values.size, values.dtype):
        if not np.array_equal(piece, values[place : place + piece.size]):
            return None
        place += piece.size
    if not step:
        return f"fill {first}"
    fits = _holds(values.dtype, first + step * (values.size - 1))
    return f"arange {first} {step}" if fits else f"arange {first} {step} wrapping"


def describe(data: bytes, dtype: str) -> list[str]:
    """Return the lines that ``contents`` reads back as ``data``."""
    if data.count(0) == len(data):
        return ["zeros"]
    kind = np.dtype(dtype).newbyteorder("<")
    values = np.frombuffer(data, kind)
    series = _series(values) if kind.kind != "f" and values.size > 2 else None
    if series is not None:
        return [series]
    if kind.kind == "f" or values.size > _SHOWN_AS_NUMBERS:
        text = data.hex()
        width = 2 * _BYTES_PER_LINE
        return ["hex", *(text[at : at + width] for at in range(0, len(text), width))]
    numbers = [str(number) for number in values.tolist()]
    return [" ".join(numbers[at : at + _NUMBERS_PER_LINE]) for at in range(0, len(numbers), _NUMBERS_PER_LINE)]
