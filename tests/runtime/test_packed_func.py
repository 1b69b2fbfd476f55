"""Functions of Python under global names."""

import pytest

from runtime.packed_func import (
    PackedFunc,
    PackedFuncError,
    get_global_func,
    list_global_func_names,
    register_func,
    remove_global_func,
)


def test_a_name_gives_the_function_until_it_is_removed() -> None:
    @register_func("test.packed.first")
    def first(a: int, b: str) -> str:
        return b * a

    found = get_global_func("test.packed.first")
    assert isinstance(found, PackedFunc)
    assert found.is_global
    assert (found(2, "ab"), first(1, "x"), repr(found)) == ("abab", "x", "<packed function first>")
    assert "test.packed.first" in list_global_func_names()
    remove_global_func("test.packed.first")
    assert get_global_func("test.packed.first", allow_missing=True) is None


def test_a_function_that_comes_back_is_packed_too() -> None:
    adder = PackedFunc(lambda y: lambda x: x + y)
    assert isinstance(adder(3), PackedFunc)
    assert adder(3)(4) == 7
    assert not adder.is_global
    assert not adder(3).is_global
    assert PackedFunc(lambda: int)() is int


def test_a_plain_decorator_takes_the_functions_own_name_and_override_replaces() -> None:
    @register_func
    def test_packed_plain() -> int:
        return 1

    register_func("test_packed_plain", PackedFunc(lambda: 2), override=True)
    found = get_global_func("test_packed_plain")
    assert found is not None
    assert (found(), test_packed_plain()) == (2, 1)
    remove_global_func("test_packed_plain")


def test_names_that_mean_nothing_are_refused() -> None:
    register_func("test.packed.taken", lambda: 1)
    for call, text in (
        (
            lambda: register_func("test.packed.taken", lambda: 2),
            "global function 'test.packed.taken' is registered already; override=True replaces it",
        ),
        (lambda: register_func(""), "register_func: expected a name, got ''"),
        (
            lambda: get_global_func("test.packed.none"),
            "there is no global function 'test.packed.none'; register it with register_func('test.packed.none')",
        ),
        (lambda: remove_global_func("test.packed.none"), "there is no global function 'test.packed.none' to remove"),
    ):
        with pytest.raises(PackedFuncError) as caught:
            call()
        assert str(caught.value) == text
    remove_global_func("test.packed.taken")
