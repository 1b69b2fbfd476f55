"""``vta doctor``: a sound installation, and what is said of one that is not."""

import tomllib
from collections.abc import Callable
from importlib import util
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from typer.testing import CliRunner

from vta.cli.app import app
from vta.cli.commands import doctor
from vta.cli.commands.doctor import examined


def test_here_everything_that_is_needed_works() -> None:
    result = CliRunner().invoke(app, ["doctor"])
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[-1] == "everything that is needed works"
    assert "adds right" in result.stdout


def test_an_extra_that_is_missing_is_named_with_its_purpose(monkeypatch: pytest.MonkeyPatch) -> None:
    found = util.find_spec
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == "pyosys" else found(name))
    result = CliRunner().invoke(app, ["doctor"])
    assert result.exit_code == 0
    assert "pyosys: pip install 'vta-toolchain[verilog]' for vta verilog" in result.stdout.splitlines()


def test_every_package_and_extra_of_the_project_is_looked_at() -> None:
    project = tomllib.loads((Path(__file__).resolve().parents[3] / "pyproject.toml").read_text(encoding="utf-8"))[
        "project"
    ]
    named = {health.name for health in examined()}
    assert {Requirement(line).name for line in project["dependencies"]} <= named
    for_developers = {"bench", "test", "coverage", "long", "fuzz", "dev"}
    extras = {extra for _, extra, _ in doctor._OPTIONAL}
    assert extras == set(project["optional-dependencies"]) - for_developers


def test_what_is_wrong_is_said_with_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def fails(name: str) -> Callable[..., object]:
        return lambda *_: (_ for _ in ()).throw(RuntimeError(f"{name} fails"))

    monkeypatch.setenv("VTA_CONFIG", str(tmp_path / "none.json"))
    monkeypatch.setattr(doctor, "Session", fails("session"))
    monkeypatch.setattr("tempfile.NamedTemporaryFile", fails("folder"))
    result = CliRunner().invoke(app, ["doctor"])
    assert result.exit_code == 1
    wrong = {health.name: health for health in examined() if health.state == "wrong"}
    assert list(wrong) == ["configuration", "temporary folder", "device reference", "device sim"]
    assert wrong["temporary folder"].found == "folder fails"
    assert "configuration: set VTA_CONFIG to a file or a name of `vta config list`" in result.stdout.splitlines()


def test_a_cache_that_cannot_be_is_no_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("XDG_CACHE_HOME", "XDG_STATE_HOME", "HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(Path, "home", lambda: (_ for _ in ()).throw(RuntimeError("no home")))
    [cache] = [health for health in examined() if health.name == "cache"]
    assert cache.state == "missing"
    assert "there is no home directory" in cache.found
