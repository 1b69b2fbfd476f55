"""LLVM assembly to machine code, without anything of TIR."""

import ctypes
import platform
import sys

import pytest

from runtime.native.host import Machine, NativeError, assembly_of, compile_object, host_triple, link

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
    data = compile_object(SUM, Machine())
    for function, expected in ((callback, 206), (other, 16)):
        address = ctypes.cast(function, ctypes.c_void_p).value or 0
        linked = link(data, {"given": address}, ["twice"], where="test")
        assert ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int32)(linked.address["twice"])(3) == expected


@pytest.mark.parametrize("level", [0, 1, 2, 3])
def test_every_level_of_optimisation_compiles(level: int) -> None:
    text = assembly_of(SUM, Machine(level=level))
    assert "twice" in text
    assert "given" in text


def test_code_is_made_for_the_machine_that_is_asked_for() -> None:
    arm = compile_object(SUM, Machine("aarch64-linux-gnu", cpu="generic"))
    assert arm[:4] == b"\x7fELF"
    assert arm[18] == 183  # AArch64
    assert host_triple()


def test_a_processor_that_llvm_does_not_know_is_an_error_and_ends_nothing() -> None:
    with pytest.raises(NativeError) as error:
        compile_object(SUM, Machine("aarch64-linux-gnu", cpu="skylake"))
    assert str(error.value) == ("processor 'skylake' is not one that LLVM knows for aarch64-linux-gnu; -mcpu names it")
    with pytest.raises(NativeError) as error:
        compile_object(SUM, Machine("aarch64-linux-gnu", features="+neon,+avx2"))
    assert str(error.value) == "feature '+avx2' is not one that LLVM knows for aarch64-linux-gnu; -mattr names it"
    with pytest.raises(NativeError) as error:
        compile_object(SUM, Machine(features="avx2"))
    assert str(error.value) == "processor feature 'avx2': expected a sign before it, '+avx2' or '-avx2'"


def test_a_processor_and_features_that_llvm_knows_are_used() -> None:
    text = assembly_of(SUM, Machine("armv7-none-linux-gnueabihf", cpu="cortex-a9", features="+neon"))
    assert "cortex-a9" in text


def test_a_program_that_llvm_refuses_is_an_error() -> None:
    with pytest.raises(NativeError, match="LLVM refused the host program: "):
        compile_object("define i32 @f() { ret i64 0 }", Machine())


def test_what_is_missing_is_an_error() -> None:
    data = compile_object(SUM, Machine())
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
        linked = link(compile_object(FAR_CALLS, Machine()), symbols, ["go"], where="far calls")
        assert abs(linked.address["go"] - far) > 1 << 31
        assert ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(linked.address["go"])(2) == 107
    finally:
        library.munmap(far, 4096)
