"""Every input that the fuzzer kept or found is read, or refused in one sentence."""

from contextlib import suppress
from pathlib import Path

import pytest

from bench.coverage_fuzz import CORPUS, FINDS, NAMES, lines_of
from bench.parsers import ALL_FORMATS, PARSERS
from isa.errors import VTAError

INPUTS = sorted(path for folder in (CORPUS, FINDS) for path in folder.glob("*/*"))


def test_every_format_has_a_parser_and_a_mutator() -> None:
    assert set(NAMES) == set(ALL_FORMATS) == set(PARSERS)


@pytest.mark.parametrize("name", ["configuration", "assembly", "program", "network", "relay", "messages", "records"])
def test_seeds_are_read(name: str) -> None:
    for data in ALL_FORMATS[name].seeds():
        try:
            PARSERS[name](data)
        except VTAError:
            assert name == "messages"  # some of these are refused in the middle


@pytest.mark.parametrize("path", INPUTS, ids=lambda path: f"{path.parent.parent.name}-{path.parent.name}-{path.name}")
def test_kept_inputs_are_read_or_refused_in_a_sentence(path: Path) -> None:
    with suppress(VTAError):
        PARSERS[path.parent.name](path.read_bytes())


def test_lines_of_an_input_are_those_of_the_packages() -> None:
    found = lines_of("configuration", b"{}")
    assert any(file.endswith("isa/config_file.py") for file, _ in found)
