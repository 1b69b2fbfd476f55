"""The node cases of the onnx package: every one is right, or refused in a sentence that names the node."""

import pytest

from bench.onnx_cases import Outcome, Place, Result, results


@pytest.fixture(scope="module", params=[4, pytest.param(1, marks=pytest.mark.long)], ids=["every_fourth", "all"])
def found(request: pytest.FixtureRequest) -> list[Result]:
    """Return the results of the first, fifth and so on case of each operator; of all in the long run."""
    return list(results(request.param))


def test_no_case_is_wrong(found: list[Result]) -> None:
    assert [f"{r.name}: {r.reason}" for r in found if r.outcome is Outcome.WRONG] == []


def test_as_many_pass_as_before(found: list[Result]) -> None:
    assert sum(r.outcome is Outcome.PASSED for r in found) >= 0.81 * len(found)
    assert sum(r.place in (Place.COMPILED, Place.NUMPY) for r in found) >= 0.61 * len(found)
    assert sum(r.place is Place.COMPILED for r in found) >= 0.28 * len(found)


def test_every_refusal_is_one_sentence(found: list[Result]) -> None:
    refusals = [r.reason for r in found if r.outcome is Outcome.REFUSED]
    assert all(reason and "\n" not in reason for reason in refusals)


def test_who_computed_a_case_is_known(found: list[Result]) -> None:
    assert all((r.place is not None) == (r.outcome is Outcome.PASSED) for r in found)


OPERATORS_OF_VISION = (
    "Add", "AveragePool", "BatchNormalization", "Clip", "Concat", "Conv", "ConvTranspose", "DepthToSpace", "Div", "Exp",
    "Flatten", "Gather", "Gemm", "GlobalAveragePool", "HardSigmoid", "HardSwish", "LeakyRelu", "MatMul", "Max", "Mul",
    "PRelu", "Pad", "QLinearConv", "Relu", "Reshape", "Resize", "Sigmoid", "Slice", "Softmax", "Split", "Squeeze",
    "Sub", "Tanh", "Transpose", "Unsqueeze",
)  # fmt: skip


@pytest.mark.parametrize("operator", OPERATORS_OF_VISION)
def test_the_operators_of_the_vision_zoo_pass(found: list[Result], operator: str) -> None:
    mine = [r for r in found if r.operator == operator]
    passed = sum(r.outcome is Outcome.PASSED for r in mine)
    assert passed > 0
    assert passed >= len(mine) / 2, [r.reason for r in mine if r.outcome is Outcome.REFUSED]
