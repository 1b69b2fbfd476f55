"""A program's parts agree; its DRAM holds what it says."""

from collections.abc import Callable

import numpy as np
import pytest

from isa.bulk import words_to_array
from isa.config import VTAConfig
from isa.encoding import DecodingError, EncodingError
from isa.instructions import Finish, Gemm
from isa.origin import Origin
from isa.program import MemoryImage, MemorySegment, OutputRegion, Program, ProgramError

CONFIG = VTAConfig()


def test_dram_holds_segments_and_micro_ops() -> None:
    a = np.arange(-8, 8, dtype=np.int32).reshape(2, 8)
    image = MemoryImage(
        segments=(MemorySegment.from_array(0x1004, a, name="a"),),
        outputs=(OutputRegion(name="b", address=0x5000, dtype="int16", shape=(2, 2)),),
    )
    program = Program(config=CONFIG, instructions=(Finish(),), uops=(1, 0xFFFFFFFF), uop_base=0x2000, memory=image)
    memory = program.dram()
    assert memory.size == 0x6000
    assert np.array_equal(memory[0x1004:0x1044].view("<i4").reshape(2, 8), a)
    assert memory[0x2000:0x2008].tolist() == [1, 0, 0, 0, 255, 255, 255, 255]
    assert not memory[:0x1004].any()
    memory[0x5000:0x5008] = [1, 0, 255, 255, 0, 1, 0, 128]
    assert program.outputs(memory)["b"].tolist() == [[1, -1], [256, -32768]]
    assert np.array_equal(image.segments[0].array(), a)
    assert program.dram(at_least=0x9001).size == 0xA000
    assert Program(config=CONFIG, instructions=()).dram().size == 0


def test_a_segment_without_a_shape_is_flat() -> None:
    assert MemorySegment(address=0, data=bytes(8)).shape == (8,)
    assert MemorySegment(address=0, data=bytes(8), dtype="int32").shape == (2,)


def test_big_endian_arrays_are_stored_little_endian() -> None:
    segment = MemorySegment.from_array(0, np.array([1, 2], ">i4"))
    assert segment.data == b"\x01\0\0\0\x02\0\0\0"
    assert segment.array().tolist() == [1, 2]


def test_origins_are_unknown_where_none_are_given() -> None:
    program = Program(config=CONFIG, instructions=(Gemm(), Finish()))
    assert program.origins == (None, None)
    assert program == Program(config=CONFIG, instructions=(Gemm(), Finish()), origins=(None, None))


def test_a_program_is_made_of_words() -> None:
    program = Program.from_words(CONFIG, words_to_array([3 | 8, 3]))
    assert program.words.tolist() == [[11, 0], [3, 0]]
    with pytest.raises(DecodingError, match=r"^instruction 1: opcode 7 is unknown"):
        Program.from_words(CONFIG, words_to_array([3, 7]))
    with pytest.raises(EncodingError, match=r"^instruction 0: GEMM: field 'iter_in' holds 14 bits, not 16384$"):
        _ = Program(config=CONFIG, instructions=(Gemm(iter_in=1 << 14),)).words


def _segments(*places: tuple[int, int]) -> MemoryImage:
    return MemoryImage(segments=tuple(MemorySegment(address=a, data=bytes(n)) for a, n in places))


def test_parts_that_contradict_each_other_are_refused() -> None:
    def program(**parts: object) -> object:
        return Program(**{"config": CONFIG, "instructions": (Finish(),), **parts})  # type: ignore[arg-type]

    cases: list[tuple[Callable[[], object], str]] = [
        (lambda: program(origins=(None, Origin("a"))), "1 instructions need as many origins, not 2"),
        (lambda: program(uops=(1 << 32,)), "micro-op 0 has 32 bits, not 0x100000000"),
        (lambda: program(uops=(0, -1)), "micro-op 1 has 32 bits, not -0x1"),
        (lambda: program(uop_base=2), "the micro-op image must start at a multiple of 4, not 0x2"),
        (lambda: program(uop_base=-4), "micro-op image: address -0x4 is outside 0 to 0x100000000"),
        (
            lambda: program(uops=(1, 2), uop_base=16, memory=_segments((20, 1))),
            "the micro-op image overlaps memory segment 0x14",
        ),
        (lambda: _segments((0, 8), (7, 1)), "memory segments 0x0 and 0x7 overlap"),
        (lambda: MemorySegment(address=-1, data=b""), "memory segment -0x1: address -0x1 is outside 0 to 0x100000000"),
        (
            lambda: MemorySegment(address=0, data=bytes(3), name="A", dtype="int16", shape=(2,)),
            "memory segment A: int16 of shape (2,) has 4 bytes, not 3",
        ),
        (
            lambda: MemorySegment(address=0, data=b"", name="A", shape=(-1,)),
            "memory segment A: shape (-1,) has a negative extent",
        ),
        (
            lambda: OutputRegion(name="C", address=0, dtype="int4", shape=(1,)),
            "output C: type 'int4' is none of int8, uint8, int16, uint16, int32, uint32, float32",
        ),
        (
            lambda: OutputRegion(name="C", address=0xFFFFFFFF, shape=(2,)),
            "output C: address 0xffffffff is outside 0 to 0x100000000",
        ),
        (
            lambda: MemoryImage(outputs=(OutputRegion(name="C", address=0), OutputRegion(name="C", address=0))),
            "the name 'C' is given to two regions",
        ),
    ]
    for make, message in cases:
        with pytest.raises(ProgramError) as error:
            make()
        assert str(error.value) == message


def test_neighbours_do_not_overlap() -> None:
    image = _segments((8, 8), (0, 8), (20, 0))
    assert image.end == 20
    program = Program(config=CONFIG, instructions=(), uops=(1,), uop_base=16, memory=image)
    assert program.dram().size == 4096


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((1,) * 33, "a shape has at most 32 dimensions, not 33"),
        ((1,) * 70, "a shape has at most 32 dimensions, not 70"),
        ((0, 1 << 70), "the extents of shape 0, 2^70 or more are more than addresses reach"),
        ((1 << 20, 1 << 20), "the extents of shape 1048576, 1048576 are more than addresses reach"),
        ((0, 1 << 20, 0, (1 << 12) + 1), "the extents of shape 0, 1048576, 0, 4097 are more than addresses reach"),
    ],
)
def test_shapes_that_numpy_would_not_take_are_refused(shape: tuple[int, ...], message: str) -> None:
    with pytest.raises(ProgramError) as error:
        OutputRegion(name="C", address=0, shape=shape)
    assert str(error.value) == f"output C: {message}"
    with pytest.raises(ProgramError) as error:
        MemorySegment(name="C", address=0, data=b"", shape=shape)
    assert str(error.value) == f"memory segment C: {message}"


def test_the_largest_shapes_are_read() -> None:
    memory = np.zeros(64, np.uint8)
    assert OutputRegion(name="C", address=0, shape=(1,) * 32).read(memory).shape == (1,) * 32
    assert OutputRegion(name="C", address=0, shape=(0, 1 << 32)).read(memory).shape == (0, 1 << 32)
    assert MemorySegment(address=0, data=b"", dtype="float32", shape=(0, 1 << 32)).array().shape == (0, 1 << 32)
