"""Compiled designs are loaded wherever there is room, also between other mappings of many gigabytes."""

import mmap
import sys

import pytest

from hw.sim.run.entry_points import load_object
from runtime.native.compiling import compile_object
from runtime.native.target import CodeTarget

NUMBERS = 60_000
CODE = f"""
@squares = private unnamed_addr constant [{NUMBERS} x i64] [{", ".join(f"i64 {n * n}" for n in range(NUMBERS))}]
@scratch = private global [1000000 x i8] zeroinitializer
define void @settle(i64 %at) uwtable {{
  %place = getelementptr [1000000 x i8], [1000000 x i8]* @scratch, i64 0, i64 %at
  store i8 1, i8* %place
  ret void
}}
define i64 @run(i64 %at, i64 %cycles) uwtable {{
  %place = getelementptr [{NUMBERS} x i64], [{NUMBERS} x i64]* @squares, i64 0, i64 %at
  %square = load i64, i64* %place
  ret i64 %square
}}
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reserves address space as Linux does")
def test_code_reaches_its_constants_among_large_mappings() -> None:
    no_reserve = 0x4000
    code = compile_object(CODE, CodeTarget())
    held: list[mmap.mmap] = []
    loaded = []
    for count in range(30):
        held += [mmap.mmap(-1, mmap.PAGESIZE * pages) for pages in (3, 20, 100, 300)]
        held.append(mmap.mmap(-1, 1 << 32, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | no_reserve))
        if count % 3 == 0:  # leave holes that some sections fit in
            for small in [m for m in held if len(m) < 1 << 30][-24:-4]:
                held.remove(small)
                small.close()
        loaded.append(load_object(code))
    assert [native.run(n, 1) for n, native in enumerate(loaded)] == [n * n for n in range(30)]
