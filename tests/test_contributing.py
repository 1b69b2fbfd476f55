"""The commands that CONTRIBUTING.md, the README and CI name are there, and every supported Python is tested."""

import re
import tomllib
from pathlib import Path

import pytest

from tests.support.quick import light_units, quick_paths
from tests.test_layering import Unit

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
CI = (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")


def targets() -> set[str]:
    """Return the commands of the Makefile."""
    [line] = re.findall(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    return set(line.split())


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "README.md", ".github/workflows/ci.yml", ".ci/run"])
def test_every_command_that_is_named_is_in_the_makefile(page: str) -> None:
    named = set(re.findall(r"\bmake ([a-z][a-z-]*)", (ROOT / page).read_text(encoding="utf-8")))
    assert named
    assert named - targets() == set()


def test_the_makefile_says_what_each_command_does() -> None:
    head = (ROOT / "Makefile").read_text(encoding="utf-8").split("\n\n", 1)[0]
    told = set(re.findall(r"^#   make ([a-z-]+)  ", head, re.MULTILINE))
    assert targets() - told == {"format", "clean", "simulators"}


def test_quick_tests_are_those_of_the_units_that_reach_nothing_but_numpy() -> None:
    units = {
        "a": Unit(frozenset(), frozenset({"numpy"})),
        "b": Unit(frozenset({"a"}), frozenset()),
        "c": Unit(frozenset({"b", "d"}), frozenset()),
        "d": Unit(frozenset({"c"}), frozenset({"llvmlite"})),
    }
    assert light_units(units) == {"a", "b"}


def test_quick_tests_are_the_house_rules_the_instruction_set_and_the_compiler() -> None:
    paths = {path.relative_to(ROOT).as_posix() for path in quick_paths()}
    assert {"tests/test_layering.py", "tests/isa", "tests/vta/te", "tests/vta/passes"} <= paths
    assert not paths & {"tests/hw", "tests/runtime", "tests/vta/cli", "tests/integration"}


def test_ci_runs_the_commands_of_the_page() -> None:
    assert set(re.findall(r"run: make ([a-z-]+)", CI)) >= {"quick", "test", "check", "lowest", "test-long"}


def test_ci_tests_every_python_that_the_package_is_for() -> None:
    [listed] = re.findall(r"python: \[(.*)\]", CI)
    promised = [line.split(" :: ")[-1] for line in PROJECT["classifiers"] if re.search(r"Python :: 3\.\d+$", line)]
    assert re.findall(r"\d\.\d+", listed) == promised
    assert PROJECT["requires-python"] == f">={promised[0]}"


def test_hooks_use_the_tools_that_are_pinned() -> None:
    hooks = (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    tools = set(re.findall(r"entry: \.venv/bin/(\w+)", hooks))
    assert tools == {"ruff", "mypy"}
    assert all(any(line.startswith(f"{tool}==") for line in PROJECT["optional-dependencies"]["dev"]) for tool in tools)
