"""Expressions that have no meaning in a hybrid script."""

import ast
from typing import Any

import pytest

from vta import te
from vta.te.hybrid.errors import HybridError
from vta.te.hybrid.expressions import ExpressionReader, is_known
from vta.tir.dtype import BOOL
from vta.tir.expr import IntImm, Var, same

X, A = Var("x"), te.placeholder((4, 8), "int32", "a")
NAMES: dict[str, Any] = {"x": X, "a": A, "items": ((1, 2), (3, 4)), "f": te.placeholder((8,), "float32", "f")}


def read(text: str) -> Any:
    return ExpressionReader(dict(NAMES), lambda _: "f.py:1").value(ast.parse(text, mode="eval").body)


def text_of(text: str) -> str:
    return str(read(text))


def test_what_is_known_is_computed() -> None:
    assert read("(3 + 4 * 2 - 1) // 3 ** 2 + len(items) + items[1][0] + items[0, 1]") == 1 + 2 + 3 + 2
    assert read("max(3, 5) - min(4, 2.5)") == 2.5
    assert read("1 if 2 < 3 <= 3 else x") == 1
    assert same(read("not (True and False) or x"), IntImm(1, BOOL))
    assert read("a.shape[1]") == 8
    assert read("a.dtype") == "int32"
    assert read("a[0, 1].dtype") == "int32"
    assert read("7 / 2") == 3.5
    assert read("max_num_threads(True)") == 1
    assert is_known(IntImm(3))
    assert not is_known(X)


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("x / float32(2.0)", "(cast(float32, x)*0.5f32)"), ("x / f[0]", "(cast(float32, x) / f[0])"),
        ("0 <= x < 5", "((x >= 0) && (x < 5))"), ("x or False", "(x != 0)"), ("not x > 1", "!(x > 1)"),
        ("a[x][2] & 7", "@tir.bitwise_and(a[x, 2], 7, dtype=int32)"),
        ("-x + +x", "((0 - x) + x)"), ("max(x, 1, 2)", "max(max(x, 1), 2)"),
        ("len(a)", "4"), ("x and a[0, 0] == 1", "((x != 0) && (a[0, 0] == 1))"),
    ],
)  # fmt: skip
def test_what_is_not_known_is_an_expression(text: str, meaning: str) -> None:
    assert text_of(text) == meaning


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("y", "'y' is not known here; what a loop assigns ends with it"),
        ("lambda: 1", "'lambda: 1' has no meaning in a hybrid script"),
        ("x @ x", "operator MatMult has no meaning in a hybrid script"),
        ("items + items", "items + items: operators are for numbers"),
        ("a + 1", "a + 1: operators are for elements of tensors, not for whole ones"),
        ("x / 2", "x / 2: / of integers is a float; use //, or float32(...) first"),
        ("x.y", "x.y: tensors have .shape and .dtype, nothing else has attributes"),
        ("items[x]", "items[x]: expected an index that is a constant"),
        ("x[0]", "x has no elements"),
        ("sqrt(x=1)", "sqrt(x=1): arguments have no names in a hybrid script"),
        ("x.f(1)", "x.f cannot be called in a hybrid script"),
        ("nothing(1)", "nothing(1): 'nothing' is no function of hybrid script"),
        ("a[0, 1, 2]", "a[0, 1, 2]: tensor 'a' has 2 dimensions, but 3 indices were given"),
        ("1 // 0", "1 // 0: integer division or modulo by zero"),
    ],
)
def test_what_has_no_meaning_is_refused(text: str, message: str) -> None:
    with pytest.raises(HybridError) as error:
        read(text)
    assert str(error.value) == f"f.py:1: {message}"


def test_numbers_are_asked_for() -> None:
    reader = ExpressionReader(dict(NAMES), lambda _: "f.py:1")
    for text, message in (
        ("a", "a is a tensor; name an element of it, a[i, ...]"), ("items", "expected a number, got items"),
    ):  # fmt: skip
        with pytest.raises(HybridError) as error:
            reader.expr(ast.parse(text, mode="eval").body)
        assert str(error.value) == f"f.py:1: {message}"
