"""The checker on what upstream's stack emitted: nothing is wrong with it, two mock cases aside."""

import pytest

from isa.check.checker import FindingKind, Severity, check
from tests.support.golden.golden import case_names, load_case
from tests.support.golden.golden_program import golden_program

SLOW = {("cfg_b1k8", "conv2d.resnet-18.C7"), ("cfg_b2k16", "conv2d.resnet-18.C7")}
"""Some hundred thousand instructions."""

CASES = [pytest.param(*case, marks=pytest.mark.long if case in SLOW else ()) for case in case_names()]

MOCK = ("gemm_unittest", "alu_unittest")
"""Cases that compute on scratchpads that nobody filled."""

LEFT_OVER = {
    *SLOW,
    ("cfg_b1k8", "tut.matrix_multiply_opt"),
    ("default", "tut.matrix_multiply_opt"),
    ("default", "alu.residual_add_int32"),
    ("default", "alu.residual_add_int8"),
    ("default", "dense.128x128x128"),
}
"""Streams that end with a token that upstream pops after the final synchronise."""


@pytest.mark.parametrize(("folder", "name"), CASES)
def test_a_recorded_stream_is_in_order(folder: str, name: str) -> None:
    findings = check(golden_program(load_case(folder, name)), first_address=0x1000)
    errors = [f for f in findings if f.severity == Severity.ERROR]
    if name.endswith(MOCK):
        assert {f.kind for f in errors} == {FindingKind.UNWRITTEN}
    else:
        assert errors == []
    notes = ["note: tokens are left over at FINISH: 1 in s2g"] if (folder, name) in LEFT_OVER else []
    assert [str(f) for f in findings if f.severity == Severity.NOTE] == notes


def test_the_mock_cases_are_said_to_read_what_nobody_wrote() -> None:
    gemm, alu = (check(golden_program(load_case("default", f"benchmark_gemm.128.{name}"))) for name in MOCK)
    assert [str(f) for f in gemm] == [
        "error: instruction 3: GEMM reads INP elements 0 to 1023, which nothing has written",
        "error: instruction 3: GEMM reads WGT elements 0 to 63, which nothing has written",
    ]
    assert [str(f) for f in alu] == [
        "error: instruction 1: ALU reads ACC elements 0 to 1023, which nothing has written"
    ]
