"""Objects with a digest: no damaged one gets as far as being mapped."""

from random import Random

import pytest

from isa.config import VTAConfig
from tests.support.compiler.metadata_example import example
from vta.codegen.metadata import MetadataError
from vta.codegen.sealed_object import description, opened, sealed

OBJECT = b"\x7fELF" + Random(3).randbytes(400) + description(example(VTAConfig())) + Random(4).randbytes(400)


def test_a_description_comes_back_from_the_middle_of_an_object() -> None:
    whole = sealed(OBJECT)
    assert len(whole) == len(OBJECT)
    assert opened(whole, "x.o") == example(VTAConfig())
    assert sealed(whole) == whole


def test_a_file_of_something_else_is_refused() -> None:
    with pytest.raises(MetadataError) as error:
        opened(b"\x7fELF", "libfoo.o")
    assert str(error.value) == ("libfoo.o: not an object that this toolchain saved, or damaged (no module description)")


def test_an_object_without_its_digest_is_refused() -> None:
    with pytest.raises(MetadataError) as error:
        opened(OBJECT, "x.o")
    assert str(error.value) == "x.o: the module is damaged, or not one that was saved; save it again"


def test_a_digest_over_nonsense_is_no_description() -> None:
    text = example(VTAConfig()).to_json().encode()
    with pytest.raises(MetadataError) as error:
        opened(sealed(OBJECT.replace(text, b"x" * len(text))), "x.o")
    assert str(error.value) == "x.o: the module description is not JSON"


def test_an_object_with_two_descriptions_is_not_sealed() -> None:
    with pytest.raises(MetadataError) as error:
        sealed(OBJECT + OBJECT)
    assert str(error.value) == "the program has a text that looks like a module description; change that"


def test_every_byte_counts() -> None:
    whole = sealed(OBJECT)
    for place in range(len(whole)):
        with pytest.raises(MetadataError):
            opened(whole[:place] + bytes([whole[place] ^ 0x40]) + whole[place + 1 :], "x.o")
    for length in range(len(whole)):
        with pytest.raises(MetadataError):
            opened(whole[:length], "x.o")
    with pytest.raises(MetadataError):
        opened(whole + b"\0", "x.o")
