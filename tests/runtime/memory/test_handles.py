"""Opaque handles: one for each live buffer, unlike any pointer to data."""

import ctypes
import re

import pytest

from runtime.memory.device_memory import DeviceMemory
from runtime.memory.handles import HandleError, Handles


def test_handles_name_live_buffers_and_nothing_else() -> None:
    memory = DeviceMemory(1 << 24)
    handles = Handles(memory)
    a, b = memory.alloc(10000), memory.alloc(1)
    assert handles.get(handles.of(a)) is a
    assert handles.get(handles.of(b)) is b
    assert handles.find(handles.of(a) + 1) is None
    assert handles.find(handles.of(a) + 16) is None  # the second page of a
    assert handles.find(handles.command) is None
    assert handles.find(0) is None
    assert handles.find(memory.base_pointer + a.address) is None
    number = ctypes.c_int32(0)
    assert handles.find(ctypes.addressof(number)) is None


def test_a_handle_dies_with_its_buffer() -> None:
    memory = DeviceMemory(1 << 24)
    handles = Handles(memory)
    block = memory.alloc(1)
    handle = handles.of(block)
    memory.free(block)
    message = f"handle {handle:#x}: it stands for no device buffer of this session (a freed buffer)"
    with pytest.raises(HandleError, match=f"^{re.escape(message)}$"):
        handles.get(handle)
    message = "buffer at 0x1000: it is not allocated (any more), so it has no handle"
    with pytest.raises(HandleError, match=f"^{re.escape(message)}$"):
        handles.of(block)
