"""What an object file says about itself."""

import pytest

from isa.config import VTAConfig
from tests.support.compiler.metadata_example import example
from tests.support.configs import CONFIGS
from vta.codegen.metadata_reader import read_metadata


@pytest.mark.parametrize("name", CONFIGS)
def test_a_description_comes_back(name: str) -> None:
    metadata = example(CONFIGS[name])
    assert read_metadata(metadata.to_json().encode()) == metadata


def test_functions_print_as_signatures() -> None:
    assert str(example(VTAConfig()).functions[0]) == "gemm(A: int8[1, ?, 16], n: int32)"
    assert example(VTAConfig()).functions[0].open_dimensions == ((0, 1),)
