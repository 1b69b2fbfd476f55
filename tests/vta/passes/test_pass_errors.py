"""What an error of a pass says."""

from isa.origin import Origin
from vta.passes.errors import PassError, place


def test_a_place_is_a_stage_with_its_source_line() -> None:
    assert place(Origin("A_buf", "gemm.py:12")) == "stage 'A_buf' (gemm.py:12)"
    assert place(Origin("A_buf")) == "stage 'A_buf'"
    assert place("A_buf") == "stage 'A_buf'"
    assert place("") == "the function"
    assert place(None) == "the function"


def test_an_error_says_place_subject_expected_got_and_hint() -> None:
    error = PassError("the size", expected="4", got="5", hint="split it", origin=Origin("A_buf", "gemm.py:12"))
    assert str(error) == "stage 'A_buf' (gemm.py:12): the size: expected 4, got 5; split it"
    assert (error.subject, error.expected, error.got, error.hint) == ("the size", "4", "5", "split it")
    assert error.origin == Origin("A_buf", "gemm.py:12")
    assert str(PassError("the size", expected="4", got="5")) == "the function: the size: expected 4, got 5"
    assert isinstance(error, ValueError)
