"""Containers and what else scripts find below tvm.runtime."""

from typing import Any

import pytest

from vta import nd
from vta.compat.runtime_names import ADT, ShapeTuple, String, container_names, runtime_names


def test_a_text_keeps_its_object() -> None:
    text = String("xyz")
    again = String(text)
    assert (text, text + "1", again) == ("xyz", "xyz1", "xyz")
    assert text.__tvm_object__.same_as(again.__tvm_object__)
    assert not text.__tvm_object__.same_as(String("xyz").__tvm_object__)


def test_fields_and_sizes() -> None:
    fields = ADT(42, ["a", "b"])
    assert (fields.tag, len(fields), fields[1]) == (42, 2, "b")
    sizes = ShapeTuple([3, 4])
    assert sizes == [3, 4]
    assert sizes != [3]
    assert hash(sizes) == hash((3, 4))
    with pytest.raises(IndexError):
        sizes[3]
    made: Any = container_names()["tuple_object"]
    assert made(["x"]) == ADT(0, ["x"])


def test_parts_of_tvm_that_are_here() -> None:
    names: Any = runtime_names({"cpu": nd.cpu})
    assert names["enabled"]("llvm")
    assert not names["enabled"]("rpc")
    assert names["cpu"](0) == nd.cpu()
