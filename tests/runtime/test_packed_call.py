"""How an array lies among the arguments of a call from compiled code."""

import ctypes

import numpy as np

from runtime.memory.array import ArrayError, HostArray
from runtime.packed_call import ArrayArgument, Kind, kept_error, symbols
from runtime.packed_func import register_func, remove_global_func


def called(argument: ArrayArgument) -> list[object]:
    """Call a registered function with one array the way that compiled code does; return what it saw."""
    seen: list[object] = []
    register_func("test.packed.array", lambda a: seen.extend([a.shape, a.numpy().tolist()]), override=True)
    values = (ctypes.c_int64 * 2)(ctypes.addressof(argument), 0)
    kinds = (ctypes.c_int32 * 2)(Kind.ARRAY, Kind.INT)
    (address,) = symbols().values()
    kind = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_char_p, *[ctypes.c_void_p] * 2, ctypes.c_int32, ctypes.c_void_p)
    result = ctypes.c_int64()
    status = kind(address)(
        b"test.packed.array", ctypes.addressof(values), ctypes.addressof(kinds), 1, ctypes.addressof(result)
    )
    remove_global_func("test.packed.array")
    return [status, *seen]


def test_an_array_begins_at_its_offset_and_strides_are_in_elements() -> None:
    memory = np.arange(12, dtype=np.int16)
    shape, strides = (ctypes.c_int64 * 2)(2, 3), (ctypes.c_int64 * 2)(3, 1)
    argument = ArrayArgument(memory.ctypes.data, b"int16", 2, shape, strides, 4)
    assert called(argument) == [0, (2, 3), [[4, 5, 6], [7, 8, 9]]]
    assert called(ArrayArgument(memory.ctypes.data, b"int16", 1, (ctypes.c_int64 * 1)(2), None, 1)) == [0, (2,), [1, 2]]


def test_rows_with_gaps_are_an_error_that_is_kept() -> None:
    memory = np.arange(12, dtype=np.int16)
    shape, strides = (ctypes.c_int64 * 2)(2, 3), (ctypes.c_int64 * 2)(6, 1)
    assert called(ArrayArgument(memory.ctypes.data, b"int16", 2, shape, strides, 0)) == [1]
    kept = kept_error()
    assert isinstance(kept, ArrayError)
    assert kept_error() is None
    assert str(kept) == "array of shape (2, 3): its rows do not lie one after the other; copy it first"


def test_an_array_over_numpys_memory_shares_it() -> None:
    memory = np.arange(6, dtype=np.float32).reshape(2, 3)
    array = HostArray.over(memory)
    array.copyfrom(np.ones((2, 3), np.float32))
    assert memory.tolist() == [[1, 1, 1], [1, 1, 1]]
    assert HostArray.over(np.zeros((0, 3))).numpy().shape == (0, 3)
