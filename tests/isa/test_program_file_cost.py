"""What running a program takes: outputs by their size, stores by the pages that they reach."""

import numpy as np
import pytest

from isa.config import VTAConfig
from isa.instructions import Finish, Instruction, MemoryId, Store
from isa.limits import LimitError, Limits
from isa.program import MemoryImage, OutputRegion, Program, ProgramError
from isa.program_file import (
    load_program,
    program_from_bytes,
    program_to_bytes,
    spend_on_running,
    written_bytes,
)
from isa.text.assembler import AssemblyError, assemble
from runtime.session import Session

CONFIG = VTAConfig()
PAGE = 4096
EVERYTHING = OutputRegion(name="all", address=(1 << 32) - PAGE, shape=(PAGE,))


def program(*instructions: Instruction, outputs: tuple[OutputRegion, ...] = ()) -> Program:
    return Program(config=CONFIG, instructions=(*instructions, Finish()), memory=MemoryImage(outputs=outputs))


def spread(count: int, *, begin: int = 1) -> list[Store]:
    """Return ``count`` stores whose 2,048 rows of one element lie in a page each."""
    unit = CONFIG.elem_bytes(MemoryId.OUT)
    rows, pages = CONFIG.out_depth, PAGE // unit
    return [
        Store(memory=MemoryId.OUT, dram_base=(begin + at * rows) * pages, y_size=rows, x_size=1, x_stride=pages)
        for at in range(count)
    ]


def test_every_page_counts_once() -> None:
    stores = spread(2)
    assert written_bytes(program(*stores, *stores, outputs=(EVERYTHING,))) == 2 * 2048 * PAGE
    one = Store(memory=MemoryId.OUT, dram_base=PAGE // 16 - 1, y_size=1, x_size=2, x_stride=2)
    assert written_bytes(program(one, outputs=(EVERYTHING,))) == 2 * PAGE
    smallest = Store(memory=MemoryId.OUT, dram_base=0, y_size=1, x_size=1, x_stride=1)
    assert written_bytes(program(smallest, outputs=(EVERYTHING,))) == PAGE


def test_what_writes_nothing_counts_nothing() -> None:
    too_many = Store(memory=MemoryId.OUT, dram_base=256, y_size=2049, x_size=1, x_stride=256)
    nothing = Store(memory=MemoryId.OUT, dram_base=256, y_size=0, x_size=5, x_stride=256)
    assert written_bytes(program(too_many, nothing, outputs=(EVERYTHING,))) == 0
    image = OutputRegion(name="x", address=PAGE, shape=(PAGE,))  # which the first row alone lies in
    assert written_bytes(program(*spread(1), outputs=(image,))) == PAGE


def test_the_estimate_is_what_a_device_writes() -> None:
    rng = np.random.default_rng(7)
    rows = (rng.integers(1, 200, 20), rng.integers(1, 40, 20), rng.integers(0, 5000, 20), rng.integers(256, 4000, 20))
    stores = [
        Store(memory=MemoryId.OUT, dram_base=int(b), y_size=int(y), x_size=int(x), x_stride=int(s))
        for x, y, s, b in zip(*rows, strict=True)
        if x * y <= CONFIG.out_depth
    ]
    given = program(*stores, outputs=(OutputRegion(name="x", address=1 << 24, shape=(PAGE,)),))
    pages: set[int] = set()
    for store in stores:
        for row in range(store.y_size):
            begin = 16 * (store.dram_base + row * store.x_stride)
            pages.update(range(begin // PAGE, (begin + 16 * store.x_size - 1) // PAGE + 1))
    assert written_bytes(given) == PAGE * len(pages)


def test_outputs_and_stores_beyond_the_limit_are_refused_when_they_are_read() -> None:
    large = OutputRegion(name="C", address=0x1000, shape=(1 << 31,))
    data = program_to_bytes(program(outputs=(large,)))
    with pytest.raises(ProgramError) as caught:
        program_from_bytes(data, where="c.vtab")
    assert str(caught.value) == (
        "c.vtab: output C would take 4 GiB of memory, and the limit is 256 MiB, less the 12.6 KiB that other parts "
        f"took (for a file of {len(data)} bytes); raise it (--max-memory) if you trust the file"
    )
    assert program_from_bytes(data, budget=Limits(memory=5 << 30).budget(0)).memory.outputs == (large,)
    data = program_to_bytes(program(*spread(64), outputs=(EVERYTHING,)))
    with pytest.raises(
        ProgramError, match=r"^p: what the stores write, in pages of 4 KiB, would take 512 MiB of memory"
    ):
        program_from_bytes(data, where="p")


def test_many_addresses_of_which_few_are_written_are_fine() -> None:
    data = program_to_bytes(program(*spread(1), outputs=(EVERYTHING,)))
    found = program_from_bytes(data)
    Session(CONFIG, "sim").run_program(found)
    spend_on_running(found, Limits().budget(0))
    with pytest.raises(LimitError):
        spend_on_running(found, Limits(memory=8 << 20).budget(0))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            ".data A type=int32 shape=268435456\n arange 1 1\n.text\nfinish\n",
            "bomb:1: A would take 3 GiB of memory, and the limit is 256 MiB (for a file of ",
        ),
        (".data A type=int8 shape=268435456 zeros\n", "bomb:1: A would take 768 MiB of memory"),
        ('.data "" type=int8 shape=268435456 random 3\n', "bomb:1: the region would take 768 MiB of memory"),
        (
            ".data A type=int8 shape=80000000 zeros\n.data B type=int8 shape=80000000 zeros",
            "bomb:2: B would take 228.9 MiB of memory, and the limit is 256 MiB, less the 228.9 MiB that other",
        ),
        (".output C type=int32 shape=268435456\nfinish", "bomb: output C would take 2 GiB of memory"),
    ],
)
def test_a_text_that_takes_much_more_than_it_has_is_refused_before_it_takes_it(text: str, message: str) -> None:
    with pytest.raises(AssemblyError) as caught:
        assemble(text, name="bomb")
    assert str(caught.value).startswith(message)


def test_a_limit_is_raised_by_whoever_trusts_the_text() -> None:
    text = ".data A type=int8 shape=100000000 zeros\n.text\nfinish"
    with pytest.raises(AssemblyError, match="would take"):
        assemble(text)
    assert assemble(text, limits=Limits(memory=1 << 29)).memory.segments[0].nbytes == 100_000_000


def test_a_program_that_never_ends_is_refused() -> None:
    with pytest.raises(ProgramError, match="more than 1 MiB came, and this is no file whose size is known"):
        load_program("/dev/zero", limits=Limits(memory=1 << 20))
