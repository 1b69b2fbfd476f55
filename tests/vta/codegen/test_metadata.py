"""What an object file says about itself."""

import pytest

from isa.config import VTAConfig
from isa.origin import Origin
from tests.support.configs import CONFIGS
from vta.codegen.metadata import FunctionInfo, Metadata, MetadataError, ParameterInfo, pack, unpack


def example(config: VTAConfig) -> Metadata:
    """Return metadata with something in every field."""
    parameters = (ParameterInfo("A", "int8", (1, None, 16)), ParameterInfo("n", "int32"))
    return Metadata(
        config=config,
        functions=(FunctionInfo("gemm", parameters, uses_device=True), FunctionInfo("cpu", (), uses_device=False)),
        origins=(Origin("C_buf", "gemm.py:12"), Origin("Zähler")),
        messages=("no memory for 'ä'",),
        triple="x86_64-unknown-linux-gnu",
    )


@pytest.mark.parametrize("name", CONFIGS)
def test_metadata_comes_back_from_the_middle_of_an_object(name: str) -> None:
    metadata = example(CONFIGS[name])
    assert unpack(b"\x7fELF junk" + pack(metadata) + b"more", "x.o") == metadata


def test_functions_print_as_signatures() -> None:
    assert str(example(VTAConfig()).functions[0]) == "gemm(A: int8[1, ?, 16], n: int32)"
    assert example(VTAConfig()).functions[0].open_dimensions == ((0, 1),)


def test_a_file_of_something_else_is_refused() -> None:
    with pytest.raises(MetadataError) as error:
        unpack(b"\x7fELF", "libfoo.o")
    assert str(error.value) == "libfoo.o: not an object that this toolchain saved (it has no module description)"


@pytest.mark.parametrize("cut", [1, 9, 200])
def test_a_damaged_description_is_refused(cut: int) -> None:
    data = pack(example(VTAConfig()))
    with pytest.raises(MetadataError) as error:
        unpack(data[:-cut], "x.o")
    assert str(error.value) == "x.o: the module description is damaged; save the module again"
    flipped = bytearray(data)
    flipped[-cut] ^= 1
    with pytest.raises(MetadataError, match="damaged"):
        unpack(bytes(flipped), "x.o")


def test_another_format_version_is_refused() -> None:
    text = example(VTAConfig()).to_json().replace('"version":1', '"version":9')
    with pytest.raises(MetadataError) as error:
        Metadata.from_json(text)
    assert str(error.value) == "the object has format version 9; this toolchain reads 1"
