"""Nodes by the names of their classes, and functions by theirs."""

from collections.abc import Callable

import pytest

from runtime.packed_func import register_func
from vta.compat.made_nodes import DictAttrs, EnvFunc, NodeError, make_node
from vta.tir.expr import Add, IntImm, Var, same


def test_a_node_is_made_of_its_fields() -> None:
    assert make_node("IntImm", dtype="int64", value=3) == IntImm(3, "int64")
    x = Var("x")
    made = make_node("tir.Add", a=x, b=IntImm(1), dtype="int32")
    assert isinstance(made, Add)
    assert same(made, x + 1)


@pytest.mark.parametrize(
    ("key", "fields", "text"),
    [
        ("Nothing", {}, "make_node: there is no node 'Nothing'"),
        ("IntImm", {"xx": 1}, "make_node: IntImm: IntImm.__init__() got an unexpected keyword argument 'xx'"),
    ],
)
def test_what_is_no_node_is_refused(key: str, fields: dict[str, object], text: str) -> None:
    with pytest.raises(NodeError) as error:
        make_node(key, **fields)
    assert str(error.value) == text


def test_attributes_by_name() -> None:
    attrs = make_node("DictAttrs", x=1, name="xyz", padding=(0, 2))
    assert isinstance(attrs, DictAttrs)
    assert (attrs.get_int("x"), attrs.get_str("name"), len(attrs), list(attrs)) == (
        1,
        "xyz",
        3,
        ["x", "name", "padding"],
    )
    assert attrs.x is attrs["x"]
    assert "padding" in attrs
    cases: list[tuple[Callable[[], object], str]] = [
        (lambda: attrs["y"], "attributes have no 'y'; they have x, name, padding"),
        (lambda: attrs.get_int("name"), "attribute 'name' is StringImm(value='xyz'), no integer"),
        (lambda: attrs.get_str("x"), "attribute 'x' is IntImm(value=1, dtype='int32'), no text"),
    ]
    for wrong, text in cases:
        with pytest.raises(NodeError) as error:
            wrong()
        assert str(error.value) == text


def test_a_function_by_its_name() -> None:
    register_func("tests.env_func", lambda value: value * 2, override=True)
    function = EnvFunc.get("tests.env_func")
    assert (function(4), function.name, EnvFunc.get("tests.env_func") == function) == (8, "tests.env_func", True)
