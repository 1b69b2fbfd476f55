"""What is no hybrid script: a sentence with the line."""

# ruff: noqa: B007, F821, F841, RET503, RET504, RUF059  # hybrid script
# mypy: disable-error-code="name-defined, func-returns-value"

from collections.abc import Callable
from typing import Any

import pytest

from vta import te
from vta.te.hybrid import script
from vta.te.hybrid.errors import HybridError

A = te.placeholder((8,), "int32", "a")
COMPUTED = te.compute((8,), lambda i: A[i] + 1, "computed")


def first_line(function: Callable[..., Any]) -> int:
    return function.__wrapped__.__code__.co_firstlineno  # type: ignore[attr-defined]


def refused(function: Any, line: int, text: str, *arguments: Any) -> None:
    """``line`` counts from the decorator, which is line 0."""
    with pytest.raises(HybridError) as error:
        function(*(arguments or (A,)))
    assert str(error.value) == f"test_parser.py:{first_line(function) + line}: {text}"


def test_loops() -> None:
    @script
    def while_loop(a: Any) -> Any:
        b = output_tensor((8,), "int32")
        while a[0] > 0:
            b[0] = a[0]
        return b

    @script
    def over_a_list(a: Any) -> Any:
        b = output_tensor((8,), "int32")
        for i in a:
            b[i] = 1
        return b

    @script
    def stepped(a: Any) -> Any:
        b = output_tensor((8,), "int32")
        for i in range(0, 8, 2):
            b[i] = a[i]
        return b

    @script
    def unknown(a: Any) -> Any:
        b = output_tensor((8,), "int32")
        for i in const_range(a[0]):
            b[i] = a[i]
        return b

    @script
    def named(a: Any) -> Any:
        b = output_tensor((8,), "int32")
        for i in sorted(a):
            b[i] = a[i]
        return b

    @script
    def threads(a: Any) -> Any:
        b = output_tensor((8,), "int32")
        for i in bind(8):
            b[i] = a[i]
        return b

    @script
    def taken(a: Any) -> Any:
        b = output_tensor((8,), "int32")
        for a in range(8):
            b[a] = 1
        return b

    words = "range, serial, parallel, vectorize, unroll, const_range, bind"
    refused(while_loop, 3, "'while a[0] > 0:' has no meaning in a hybrid script")
    refused(over_a_list, 3, f"a loop has one variable and walks over one of {words}")
    refused(stepped, 3, "range takes an end, or a begin and an end, not 3 values")
    refused(unknown, 3, "const_range: expected a constant, got a[0]")
    refused(named, 3, f"a loop walks over one of {words}, not sorted(a)")
    refused(threads, 3, "bind takes the name of a thread axis and the number of threads")
    refused(taken, 3, "loop variable 'a' has the name of something else in the function")


def test_variables() -> None:
    @script
    def outside(a: Any) -> Any:
        b = output_tensor((8,), "int32")
        for i in range(8):
            x = a[i]
            b[i] = x
        b[0] = x
        return b

    @script
    def narrowed(a: Any) -> Any:
        b = output_tensor((8,), "int32")
        x = 0
        x = float32(a[0])
        b[0] = int32(x)
        return b

    @script
    def of_a_loop(a: Any) -> Any:
        b = output_tensor((8,), "int32")
        for i in range(8):
            i = a[0]
            b[i] = 1
        return b

    @script
    def of_a_tensor(a: Any) -> Any:
        b = output_tensor((8,), "int32")
        b = a[0]
        return b

    @script
    def several(a: Any) -> Any:
        b = output_tensor((8,), "int32")
        x, y = a[0], a[1]
        b[0] = x + y
        return b

    @script
    def no_target(a: Any) -> Any:
        b = output_tensor((8,), "int32")
        b.x = a[0]
        return b

    @script
    def no_tensor(a: Any) -> Any:
        b = output_tensor((8,), "int32")
        n = (1, 2)
        n[0] = a[0]
        return b

    refused(outside, 6, "'x' is not known here; what a loop assigns ends with it")
    refused(
        narrowed, 4, f"'x' holds int32 since line {first_line(narrowed) + 3}, not float32; convert it with int32(...)"
    )
    refused(of_a_loop, 4, "'i' is a loop's variable or a parameter, and nothing else can have its name")
    refused(of_a_tensor, 3, "'b' is a tensor, and nothing else can have its name")
    refused(several, 3, "x, y = (a[0], a[1]): assign one thing after the other")
    refused(no_target, 3, "nothing can be assigned to b.x")
    refused(no_tensor, 4, "n[0] is no element of a tensor to store in")


def test_outputs() -> None:
    @script
    def nothing(a: Any) -> Any:
        b = output_tensor((8,), "int32")
        b[0] = a[0]

    @script
    def forgotten(a: Any) -> Any:
        b = output_tensor((8,), "int32")
        c = output_tensor((8,), "int32")
        return b

    @script
    def early(a: Any) -> Any:
        b = output_tensor((8,), "int32")
        return b
        b[0] = a[0]

    @script
    def inside(a: Any) -> Any:
        b = output_tensor((8,), "int32")
        for i in range(8):
            return b

    @script
    def an_input(a: Any) -> Any:
        return a

    @script
    def late(a: Any) -> Any:
        for i in range(8):
            b = output_tensor((8,), "int32")
        return b

    @script
    def twice(a: Any) -> Any:
        b = output_tensor((8,), "int32")
        b = allocate((8,), "int32")
        return b

    refused(nothing, 1, "nothing: a hybrid script returns its output tensors")
    refused(forgotten, 1, "forgotten: output tensor 'c' is not returned")
    refused(early, 4, "a statement after return is never run")
    refused(inside, 4, "return stands at the end of a function, not in a loop or condition")
    refused(an_input, 2, "return takes output tensors, each once, not a")
    refused(late, 3, "output_tensor stands outside of loops and conditions")
    refused(twice, 3, "allocate makes a tensor with a new name, not b")


def test_calls_and_arguments() -> None:
    @script
    def copied(a: Any) -> Any:
        b = output_tensor((8,), "int32")
        for i in range(8):
            b[i] = a[i]
        return b

    @script
    def endless(a: Any) -> Any:
        b = endless(a)
        return b

    @script
    def nested(a: Any) -> Any:
        b = output_tensor((8,), "int32")
        b[0] = copied(a)[0]
        return b

    @script
    def foreign(a: Any) -> Any:
        b = output_tensor((8,), "int32")
        b[0] = refused(a)
        return b

    @script
    def too_many(a: Any) -> Any:
        b, c = copied(a)
        return b

    @script
    def with_defaults(a: Any, n: Any = 1) -> Any:
        return a

    @script
    def changing(a: Any) -> Any:
        b = output_tensor((8,), "int32")
        a[0] = 1
        return b

    refused(endless, 2, "endless calls itself, which never ends here")
    refused(nested, 3, "copied(a): assign what another script returns to a name of its own")
    refused(foreign, 3, "refused is no hybrid script, and cannot be called in one")
    refused(too_many, 2, "copied returns 1 tensors, for as many names")
    refused(with_defaults, 1, "with_defaults: a hybrid script takes arguments by position alone", A, 1)
    refused(copied, 1, "copied: expected 1 arguments, got 2", A, A)
    refused(changing, 3, "'computed' is computed by another stage; copy it and change the copy", COMPUTED)
