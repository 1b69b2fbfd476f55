"""Descriptions that are not what they should be: one sentence for each, whatever stands where."""

import copy
import json
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import pytest

from isa.config import VTAConfig
from tests.support.compiler.metadata_example import example
from vta.codegen.metadata import MetadataError
from vta.codegen.metadata_reader import read_metadata

WHOLE: dict[str, Any] = json.loads(example(VTAConfig()).to_json())
ODD: tuple[object, ...] = (
    None, True, -1, 0, 3, 2**70, 1.5, float("nan"), "", "int8", "\x1b]0;x\x07", [], [None], [[1]], ["a", "b"],
    {}, {"x": 1},
)  # fmt: skip


def read(value: object) -> object:
    return read_metadata(json.dumps(value).encode())


def first(entry: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda whole: whole["functions"][0] if entry == "function" else whole["functions"][0]["parameters"][0]


def changed(change: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
    whole = copy.deepcopy(WHOLE)
    change(whole)
    return whole


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m: m.update(version=9), "the object has format version 9; this toolchain reads 2"),
        (lambda m: m.update(version="\x1b"), "the object has format version '\\x1b'; this toolchain reads 2"),
        (
            lambda m: m.pop("triple"),
            "the module description needs exactly version, triple, config, digest, functions, origins, messages",
        ),
        (lambda m: m.update(triple=""), "'triple' of the module description cannot be ''"),
        (lambda m: m.update(config=[]), "'config' of the module description cannot be []"),
        (lambda m: m["config"].pop("TARGET"), "the object's configuration: missing key TARGET"),
        (lambda m: m.update(digest="0"), "'0' is not the digest of the object's configuration"),
        (lambda m: m.update(functions={}), "'functions' of the module description cannot be {}"),
        (
            lambda m: m.update(functions=[]),
            "the module description needs functions with names of their own, not []",
        ),
        (
            lambda m: m["functions"][1].update(name="gemm"),
            "the module description needs functions with names of their own, not ['gemm', 'gemm']",
        ),
        (lambda m: first("function")(m).pop("name"), "a function needs exactly name, uses_device, parameters"),
        (lambda m: first("function")(m).update(name="a\nb"), "'name' of a function cannot be 'a\\nb'"),
        (lambda m: first("function")(m).update(uses_device=1), "'uses_device' of a function cannot be 1"),
        (lambda m: first("function")(m).update(parameters=3), "'parameters' of a function cannot be 3"),
        (lambda m: first("parameter")(m).update(more=1), "a parameter needs exactly name, dtype, shape"),
        (
            lambda m: first("parameter")(m).update(dtype="int99"),
            "a parameter: unknown dtype 'int99'; integers have 1 to 64 bits, lanes at least 1",
        ),
        (lambda m: first("parameter")(m).update(shape=[1, -1]), "'shape' of a parameter cannot be [1, -1]"),
        (lambda m: first("parameter")(m).update(shape=[True]), "'shape' of a parameter cannot be [True]"),
        (lambda m: m["origins"].append(["a"]), "an origin cannot be ['a']; expected a stage and a source"),
        (lambda m: m["messages"].append(7), "a message cannot be 7; expected a text"),
        (
            lambda m: m["messages"].append(list(range(50))),
            "a message cannot be [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 1...; expected a text",
        ),
    ],
)
def test_each_rule_has_its_complaint(change: Callable[[dict[str, Any]], object], message: str) -> None:
    with pytest.raises(MetadataError) as error:
        read(changed(change))
    assert str(error.value) == message


@pytest.mark.parametrize("text", [b"", b"{", b"\xff", b"[" * 100_000, b"1" * 10_000])
def test_what_is_no_json_is_refused(text: bytes) -> None:
    with pytest.raises(MetadataError, match=r"^the module description is not JSON$"):
        read_metadata(text)


def places(value: object) -> Iterator[tuple[Any, Any]]:
    """Yield every container and key below ``value``."""
    keys = value.keys() if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in list(keys):
        yield value, key
        yield from places(value[key])  # type: ignore[index]


def complaint_about(value: object) -> str:
    """Return why a description is refused; nothing if it is read. Anything but a ``MetadataError`` gets through."""
    try:
        read(value)
    except MetadataError as error:
        return str(error)
    return ""


def test_six_hundred_descriptions_of_anything_are_read_or_refused_in_a_line() -> None:
    rng, refused = Random(11), 0
    for _ in range(600):
        whole = copy.deepcopy(WHOLE)
        for _ in range(rng.choice((1, 1, 2, 4))):
            container, key = rng.choice(list(places(whole)))
            match rng.randrange(3):
                case 0:
                    del container[key]
                case 1:
                    container[key] = copy.deepcopy(rng.choice(ODD))
                case _:
                    other, place = rng.choice(list(places(whole)))
                    container[key] = copy.deepcopy(other[place])
        sentence = complaint_about(whole)
        assert sentence.isprintable()
        refused += sentence != ""
    assert refused > 400
