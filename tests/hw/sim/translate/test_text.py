"""The text of a function: widths of types, values that are kept in blocks, and what LLVM is told of flags."""

import pytest

from hw.sim.translate.text import Function, container, mask, slot_bytes


@pytest.mark.parametrize(
    ("width", "bits", "nbytes"),
    [(1, 1, 1), (2, 8, 1), (8, 8, 1), (9, 16, 2), (16, 16, 2), (17, 32, 4), (32, 32, 4), (33, 64, 8), (64, 64, 8)],
)
def test_a_value_has_the_smallest_integer_that_holds_it(width: int, bits: int, nbytes: int) -> None:
    assert (container(width), slot_bytes(width), mask(width)) == (bits, nbytes, 2**width - 1)


@pytest.mark.parametrize(("width", "nbytes"), [(65, 16), (128, 16), (129, 24)])
def test_a_wide_value_takes_whole_words(width: int, nbytes: int) -> None:
    assert slot_bytes(width) == nbytes


@pytest.mark.parametrize(("flags", "numbers", "scalar"), [(0, 9, False), (4, 5, False), (5, 5, True), (9, 0, True)])
def test_a_function_of_flags_mostly_stays_scalar(flags: int, numbers: int, scalar: bool) -> None:
    """More than four tenths of its instructions, the one that ends it included."""
    fn = Function("f")
    for _ in range(flags):
        fn.op("and i1 0, 0")
    for _ in range(numbers):
        fn.op("add i64 0, 0")
    assert (" noimplicitfloat" in fn.text()) is scalar


def test_what_is_kept_in_a_block_is_gone_behind_it() -> None:
    fn = Function("f")
    assert fn.keep("outer", "%a") == fn.cached("outer") == "%a"
    with fn.when("%c"):
        fn.keep("inner", "%b")
        assert (fn.cached("outer"), fn.cached("inner")) == ("%a", "%b")
    assert (fn.cached("outer"), fn.cached("inner")) == ("%a", None)
    assert fn.at("%a", 0) == "%a"
    assert fn.at("%a", 8) == fn.at("%a", 8) != fn.at("%a", 16)


def test_a_function_returns_whom_it_wakes() -> None:
    fn = Function("f", 3)
    fn.wake("%x", [0, 2, 2])
    fn.wake("%y", [])
    text = fn.text()
    assert "select i1 %x, i@ 5, i@ 0" in text
    assert "%y" not in text
    assert text.startswith("define internal i@ @f(")
