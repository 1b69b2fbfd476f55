"""Objects in this process: what they need comes from given addresses; what is missing is a sentence."""

import ctypes
import platform
import sys

import pytest

from runtime.native.compiling import compile_object
from runtime.native.linking import link
from runtime.native.target import CodeTarget, NativeError

SUM = """
declare i32 @given(i32)
define i32 @twice(i32 %x) {
  %a = call i32 @given(i32 %x)
  %b = add i32 %a, %a
  ret i32 %b
}
"""


def test_undefined_functions_come_from_the_given_addresses_alone() -> None:
    callback = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int32)(lambda x: x + 100)
    other = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int32)(lambda x: x + 5)
    data = compile_object(SUM, CodeTarget())
    for function, expected in ((callback, 206), (other, 16)):
        address = ctypes.cast(function, ctypes.c_void_p).value or 0
        linked = link(data, {"given": address}, ["twice"], where="test")
        assert ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int32)(linked.address["twice"])(3) == expected


def test_what_is_missing_is_an_error() -> None:
    data = compile_object(SUM, CodeTarget())
    with pytest.raises(NativeError) as error:
        link(data, {}, ["twice"], where="sum.o")
    assert str(error.value) == (
        "sum.o: cannot be linked: a function that it calls is neither the runtime's nor in this process"
    )
    with pytest.raises(NativeError, match=r"^sum\.o: cannot be linked: .*thrice"):
        link(data, {"given": 1 << 20}, ["thrice"], where="sum.o")
    with pytest.raises(NativeError, match=r"^cut\.o: cannot be linked: "):
        link(data[: len(data) // 2], {"given": 1 << 20}, ["twice"], where="cut.o")


FAR_CALLS = """
declare i32 @far_function(i32)
@far_number = external global i32
define i32 @go(i32 %x) {
  %sum = call i32 @far_function(i32 %x)
  %number = load i32, i32* @far_number
  %result = add i32 %sum, %number
  ret i32 %result
}
"""


@pytest.mark.skipif(
    platform.machine() != "x86_64" or sys.platform != "linux", reason="the far function is machine code of x86-64"
)
def test_code_reaches_functions_and_data_beyond_two_gibibytes() -> None:
    read_write_execute, private_anonymous_not_replacing = 7, 0x100022
    library = ctypes.CDLL(None)
    library.mmap.restype = ctypes.c_void_p
    library.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    library.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    far = library.mmap(1 << 36, 4096, read_write_execute, private_anonymous_not_replacing, -1, 0)
    assert far == 1 << 36
    try:
        ctypes.memmove(far, b"\x8d\x47\x05\xc3", 4)  # lea eax, [rdi + 5]; ret
        ctypes.c_int32.from_address(far + 64).value = 100
        symbols = {"far_function": far, "far_number": far + 64}
        linked = link(compile_object(FAR_CALLS, CodeTarget()), symbols, ["go"], where="far calls")
        assert abs(linked.address["go"] - far) > 1 << 31
        assert ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(linked.address["go"])(2) == 107
    finally:
        library.munmap(far, 4096)
