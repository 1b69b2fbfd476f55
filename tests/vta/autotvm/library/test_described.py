"""Tasks that are described by all fields of an operator: they give it back, and refuse what is none."""

import pytest

import vta
from tests.support.tuning.operators import OPERATORS
from vta.autotvm import TuningError
from vta.autotvm.library import workload_of
from vta.autotvm.measure.inputs import MeasureInput, MeasureResult
from vta.autotvm.record import decode, encode
from vta.autotvm.space import ConfigEntity
from vta.autotvm.task import create


@pytest.mark.parametrize("kind", OPERATORS)
def test_an_operator_is_made_of_its_arguments_again_also_of_a_record_s(kind: str) -> None:
    workload = workload_of(OPERATORS[kind], vta.get_env())
    assert workload is not None
    record = encode(MeasureInput("vta", workload, ConfigEntity(0, {})), MeasureResult((1.0,)))
    given, _ = decode(record)
    assert given.workload == workload
    name, *arguments = given.workload
    assert create(str(name), arguments).operator == OPERATORS[kind]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (
            ("Conv3d",),
            r"operator.vta takes a kind of operator, one of .*, and pairs of a field and its value, not \('Conv3d',\)",
        ),
        (("Elementwise", ("sizes", (1, 16))), r"operator.vta: Elementwise has shape, epilogue, dtype, not .*sizes.*"),
        (
            ("Binary", ("operation", "power"), ("shape", (1, 16))),
            "operator.vta: operation is one of add, subtract, .*, not 'power'",
        ),
    ],
)
def test_what_describes_no_operator_is_refused(arguments: tuple[object, ...], text: str) -> None:
    with pytest.raises(TuningError, match=f"^{text}$"):
        create("operator.vta", arguments)
