"""The signatures that host code calls with are those that the runtime has."""

import ctypes

import pytest

from runtime import c_api
from vta.codegen.runtime_calls import C_LIBRARY, DMA_CALLS, RUNTIME_CALLS

BYTES = {"ptr": 8, "i32": 4, "i64": 8, "void": 0}


@pytest.mark.parametrize("name", RUNTIME_CALLS)
def test_a_signature_agrees_with_the_runtimes(name: str) -> None:
    function = c_api.functions()[name]
    signature = RUNTIME_CALLS[name]
    assert [BYTES[str(kind)] for kind in signature.parameters] == [ctypes.sizeof(kind) for kind in function.argtypes]
    result = 0 if function.restype is None else ctypes.sizeof(function.restype)
    assert BYTES[str(signature.result)] == result
    pointers = [str(kind) == "ptr" for kind in signature.parameters]
    assert pointers == [kind is ctypes.c_void_p for kind in function.argtypes]


def test_buffers_of_transfers_are_pointers() -> None:
    for name, place in DMA_CALLS.items():
        assert str(RUNTIME_CALLS[name].parameters[place]) == "ptr"
        assert place > 0  # the first is the command handle


def test_the_allocator_is_the_c_librarys() -> None:
    assert {name: str(s.result) for name, s in C_LIBRARY.items()} == {"malloc": "ptr", "free": "void"}
