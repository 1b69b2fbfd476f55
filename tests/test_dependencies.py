"""What pyproject.toml requires: lower bounds that `make lowest` can test, and nothing that running does not need."""

import tomllib
from pathlib import Path

import pytest

from tests.support.lowest import LowestError, constraints, requirements
from tests.test_layering import DISTRIBUTIONS

ROOT = Path(__file__).resolve().parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))

IMPORT_NAMES = {"pyvcd": "vcd"}
"""Distribution -> what is imported, where that is another name."""


OF_EXTRAS = {
    "onnx": "onnx",
    "google": "onnx",
    "onnxruntime": "onnxruntime",
    "lightgbm": "tuning",
    "matplotlib": "plot",
    "distributed": "cluster",
    "migen": "board",
    "litex": "board",
    "litex_boards": "board",
    "litedram": "board",
    "liteeth": "board",
}
"""What is imported by units that an extra is for -> the extra (protobuf, ``google``, comes with onnx)."""


def project(*lines: str, **extras: list[str]) -> dict[str, object]:
    return {"project": {"dependencies": list(lines), "optional-dependencies": extras}}


def test_every_requirement_has_a_lowest_version() -> None:
    assert len(constraints(PYPROJECT)) == len({requirement.name for requirement in requirements(PYPROJECT)})


def test_running_requires_what_the_packages_import_and_nothing_else() -> None:
    required = requirements({"project": {**PYPROJECT["project"], "optional-dependencies": {}}})
    assert {IMPORT_NAMES.get(entry.name, entry.name) for entry in required} == DISTRIBUTIONS - set(OF_EXTRAS)


@pytest.mark.parametrize("imported", OF_EXTRAS)
def test_what_only_some_need_is_an_extra(imported: str) -> None:
    extras = PYPROJECT["project"]["optional-dependencies"]
    wanted = {"google": "onnx", "litex_boards": "litex-boards"}.get(imported, imported)
    assert any(line.startswith(wanted) for line in extras[OF_EXTRAS[imported]])


def test_constraints_are_the_lower_bounds_of_the_project_and_its_extras() -> None:
    found = constraints(project("b>=2,<3", "a==1.5", test=["c>=0.1", "vta-toolchain[other]", "b>=2.10", "b>=2.9"]))
    assert found == ["a==1.5", "b==2.10", "c==0.1"]


def test_a_requirement_without_a_lower_bound_is_refused() -> None:
    with pytest.raises(LowestError) as error:
        constraints(project("a<3"))
    assert str(error.value) == "a<3: expected a lower bound (>=) or one version (==)"
