"""The lowest versions that pyproject.toml promises to work with, as constraints for pip: ``make lowest`` tests them.

Tests: tests/test_dependencies.py.
"""

import tomllib
from collections.abc import Mapping
from pathlib import Path

from packaging.requirements import Requirement
from packaging.version import Version

__all__ = ["LowestError", "constraints", "requirements"]

PYPROJECT = Path(__file__).resolve().parents[2] / "pyproject.toml"
OURS = "vta-toolchain"


class LowestError(ValueError):
    """A requirement that names no lowest version."""


def requirements(pyproject: Mapping[str, object]) -> list[Requirement]:
    """Return every requirement of the project and of its extras, without those of the project on itself."""
    project = pyproject["project"]
    assert isinstance(project, dict)
    lines = [*project["dependencies"], *(line for extra in project["optional-dependencies"].values() for line in extra)]
    return [found for line in lines if (found := Requirement(line)).name != OURS]


def constraints(pyproject: Mapping[str, object]) -> list[str]:
    """Return ``name==lowest`` for every requirement, by name; ``LowestError`` for one without a lower bound.

    Where two extras require one package, its lowest version is the higher of the two.
    """
    lowest: dict[str, str] = {}
    for requirement in requirements(pyproject):
        lowest[requirement.name] = max(lowest.get(requirement.name, "0"), _lowest(requirement), key=Version)
    return [f"{name}=={version}" for name, version in sorted(lowest.items())]


def _lowest(requirement: Requirement) -> str:
    for specifier in requirement.specifier:
        if specifier.operator in (">=", "=="):
            return specifier.version
    raise LowestError(f"{requirement}: expected a lower bound (>=) or one version (==)")


if __name__ == "__main__":
    print("\n".join(constraints(tomllib.loads(PYPROJECT.read_text(encoding="utf-8")))))
