"""A program: the instructions of one launch, its micro-ops, the DRAM it expects, and where each instruction came from.

``isa.program_file`` writes it to a file. Tests: ``tests/isa/test_program.py``.
"""

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from isa.bulk import decode_all, encode_all
from isa.config import VTAConfig
from isa.errors import VTAError
from isa.instructions import Instruction
from isa.origin import Origin
from isa.printable import in_one_line, short

__all__ = [
    "DTYPES",
    "MemoryImage",
    "MemorySegment",
    "Origin",
    "OutputRegion",
    "Program",
    "ProgramError",
]

DTYPES = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "float32")
"""Number types that DRAM contents can be declared with; narrower tensors are declared as bytes."""

ADDRESS_LIMIT = 1 << 32
"""Physical addresses have 32 bits."""

MOST_DIMENSIONS = 32
"""Of a tensor; numpy has arrays of not many more."""


class ProgramError(VTAError, ValueError):
    """A program that contradicts itself, or a file that does not hold one."""


def _region_bytes(dtype: str, shape: tuple[int, ...], place: str) -> int:
    """Return the bytes of a tensor, refusing unknown types and negative extents."""
    if dtype not in DTYPES:
        raise ProgramError(f"{place}: type {short(dtype)} is none of {', '.join(DTYPES)}")
    if len(shape) > MOST_DIMENSIONS:
        raise ProgramError(f"{place}: a shape has at most {MOST_DIMENSIONS} dimensions, not {len(shape)}")
    if any(extent < 0 for extent in shape):
        raise ProgramError(f"{place}: shape {shape} has a negative extent")
    if math.prod(extent for extent in shape if extent) > ADDRESS_LIMIT:  # also where another extent is 0
        raise ProgramError(f"{place}: the extents of shape {_numbers_text(shape)} are more than addresses reach")
    return math.prod(shape) * np.dtype(dtype).itemsize


def _numbers_text(numbers: Sequence[int]) -> str:
    """Return numbers of any length as a person reads them."""
    return ", ".join(str(number) if number < 1 << 64 else f"2^{number.bit_length() - 1} or more" for number in numbers)


def _called(name: str, address: int) -> str:
    """Return what a message calls a region."""
    return in_one_line(name) or hex(address)


def _check_names(names: Sequence[str]) -> None:
    """Refuse a name that is given twice; an empty name does not count."""
    counts = Counter(name for name in names if name)
    twice = [name for name, count in counts.items() if count > 1]
    if twice:
        raise ProgramError(f"the name {twice[0]!r} is given to two regions")


def _check_range(address: int, nbytes: int, place: str) -> None:
    if not 0 <= address <= ADDRESS_LIMIT - nbytes:
        raise ProgramError(f"{place}: address {address:#x} is outside 0 to {ADDRESS_LIMIT:#x}")


@dataclass(frozen=True, slots=True, kw_only=True)
class MemorySegment:
    """Bytes that DRAM holds before the launch; ``dtype`` and ``shape`` say how to read them (little endian)."""

    address: int
    data: bytes
    name: str = ""
    dtype: str = "uint8"
    shape: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        """Give a segment without a shape a flat one, and check that bytes, type and shape agree."""
        place = f"memory segment {_called(self.name, self.address)}"
        _check_range(self.address, len(self.data), place)
        shape = self.shape
        if shape is None:
            item = _region_bytes(self.dtype, (1,), place)
            shape = (len(self.data) // item,)
            object.__setattr__(self, "shape", shape)
        expected = _region_bytes(self.dtype, shape, place)
        if expected != len(self.data):
            raise ProgramError(f"{place}: {self.dtype} of shape {shape} has {expected} bytes, not {len(self.data)}")

    @property
    def nbytes(self) -> int:
        """Bytes of the segment."""
        return len(self.data)

    @classmethod
    def from_array(cls, address: int, array: npt.NDArray[np.generic], *, name: str = "") -> "MemorySegment":
        """Return the segment that holds ``array``."""
        dtype = array.dtype.newbyteorder("<")
        data = array.astype(dtype).tobytes()
        return cls(address=address, data=data, name=name, dtype=array.dtype.name, shape=array.shape)

    def array(self) -> npt.NDArray[np.generic]:
        """Return the contents as a read-only array."""
        assert self.shape is not None
        dtype = np.dtype(self.dtype).newbyteorder("<")
        return np.frombuffer(self.data, dtype).reshape(self.shape)


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputRegion:
    """A tensor in DRAM that is worth printing or comparing after the launch."""

    name: str
    address: int
    dtype: str = "int8"
    shape: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        """Check type, shape and address."""
        place = f"output {_called(self.name, self.address)}"
        _check_range(self.address, _region_bytes(self.dtype, self.shape, place), place)

    @property
    def nbytes(self) -> int:
        """Bytes of the tensor."""
        return math.prod(self.shape) * np.dtype(self.dtype).itemsize

    def read(self, memory: npt.NDArray[np.uint8]) -> npt.NDArray[np.generic]:
        """Return a copy of the tensor from DRAM bytes."""
        raw = memory[self.address : self.address + self.nbytes].copy()
        return raw.view(np.dtype(self.dtype).newbyteorder("<")).reshape(self.shape)


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryImage:
    """Sparse byte-addressed DRAM of a program that stands alone; segments do not overlap, outputs may lie anywhere."""

    segments: tuple[MemorySegment, ...] = ()
    outputs: tuple[OutputRegion, ...] = ()

    def __post_init__(self) -> None:
        """Refuse overlapping segments and a name that is used twice for different places."""
        ordered = sorted(self.segments, key=lambda segment: segment.address)
        for before, after in itertools.pairwise(ordered):
            if before.address + before.nbytes > after.address:
                names = [_called(segment.name, segment.address) for segment in (before, after)]
                raise ProgramError(f"memory segments {' and '.join(names)} overlap")
        _check_names([segment.name for segment in self.segments])
        _check_names([output.name for output in self.outputs])

    @property
    def end(self) -> int:
        """One past the last byte that is named here."""
        ends = [segment.address + segment.nbytes for segment in self.segments]
        ends += [output.address + output.nbytes for output in self.outputs]
        return max(ends, default=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """One launch for one configuration.

    ``uops`` are 32-bit words that lie in DRAM at byte address ``uop_base``. ``origins`` has an entry for each
    instruction; leaving it out means that none is known. Raises ``ProgramError`` where the parts contradict each
    other; whether the instructions are legal is for ``isa.check.checker`` (and for the encoder) to say.
    """

    config: VTAConfig
    instructions: tuple[Instruction, ...]
    uops: tuple[int, ...] = ()
    uop_base: int = 0
    memory: MemoryImage = field(default_factory=MemoryImage)
    origins: tuple[Origin | None, ...] = ()

    def __post_init__(self) -> None:
        """Check the parts against each other."""
        if not self.origins:
            object.__setattr__(self, "origins", (None,) * len(self.instructions))
        if len(self.origins) != len(self.instructions):
            raise ProgramError(f"{len(self.instructions)} instructions need as many origins, not {len(self.origins)}")
        for place, word in enumerate(self.uops):
            if not 0 <= word < 1 << 32:
                raise ProgramError(f"micro-op {place} has 32 bits, not {word:#x}")
        if self.uop_base % self.config.uop_elem_bytes:
            raise ProgramError(f"the micro-op image must start at a multiple of 4, not {self.uop_base:#x}")
        _check_range(self.uop_base, self.uop_bytes, "micro-op image")
        for segment in self.memory.segments:
            begin, end = segment.address, segment.address + segment.nbytes
            if max(begin, self.uop_base) < min(end, self.uop_base + self.uop_bytes):
                raise ProgramError(f"the micro-op image overlaps memory segment {_called(segment.name, begin)}")

    @classmethod
    def from_words(cls, config: VTAConfig, words: npt.NDArray[np.uint64]) -> "Program":
        """Return the program of instruction words of shape (n, 2); ``DecodingError`` for an illegal one."""
        return cls(config=config, instructions=tuple(decode_all(words, config)))

    @property
    def uop_bytes(self) -> int:
        """Bytes of the micro-op image."""
        return len(self.uops) * self.config.uop_elem_bytes

    @property
    def words(self) -> npt.NDArray[np.uint64]:
        """The instruction words, shape (n, 2); ``EncodingError`` for an illegal instruction."""
        return encode_all(self.instructions, self.config)

    @property
    def end(self) -> int:
        """One past the last byte of DRAM that the program names."""
        return max(self.memory.end, self.uop_base + self.uop_bytes)

    def dram(self, *, at_least: int = 0) -> npt.NDArray[np.uint8]:
        """Return fresh DRAM, address 0 first, that reaches over everything the program names, in whole pages.

        The system has memory for a page of it when that is first written to.
        """
        memory = np.zeros(-(-max(self.end, at_least) // 4096) * 4096, np.uint8)
        for segment in self.memory.segments:
            memory[segment.address : segment.address + segment.nbytes] = np.frombuffer(segment.data, np.uint8)
        uops = np.array(self.uops, "<u4").view(np.uint8)
        memory[self.uop_base : self.uop_base + self.uop_bytes] = uops
        return memory

    def outputs(self, memory: npt.NDArray[np.uint8]) -> dict[str, npt.NDArray[np.generic]]:
        """Return every output region by name, read from DRAM bytes."""
        return {region.name: region.read(memory) for region in self.memory.outputs}
