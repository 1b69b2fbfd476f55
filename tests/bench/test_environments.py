"""Commands in odd surroundings: what is called wrong, and that some commands are right in each of them."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from bench import environments
from bench.environments import COMMANDS, ENVIRONMENTS, Environment, main, prepared, verdict


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("source")
    prepared(folder)
    return folder


QUICK = ("no home", "full disk", "stdout closed", "ASCII")


@pytest.mark.parametrize("name", [pytest.param(e, marks=() if e in QUICK else pytest.mark.long) for e in ENVIRONMENTS])
def test_a_command_that_reads_and_writes_is_right_everywhere(source: Path, name: str) -> None:
    assert verdict(COMMANDS["asm"], ENVIRONMENTS[name], source) == ""


@pytest.mark.long
def test_every_command_is_right_everywhere() -> None:
    assert main([]) == 0


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("1 / 0", "a traceback: "),
        ("import os; os.abort()", "exit status -6: "),
        ("raise SystemExit(7)", "exit status 7: "),
        ("open('rest.tmp', 'w')", "it left rest.tmp"),
        ("open('new', 'w')", ""),
        ("raise SystemExit(1)", ""),
    ],
)
def test_what_is_wrong_is_said(
    tmp_path: Path, source: Path, monkeypatch: pytest.MonkeyPatch, code: str, text: str
) -> None:
    run: Callable[..., environments._Ended] = environments._run

    def with_code(words: object, *rest: object) -> environments._Ended:
        script = tmp_path / "python"
        script.write_text(f"#!/bin/sh\nexec {sys.executable} -c {code!r}\n")
        script.chmod(0o755)
        with monkeypatch.context() as patch:
            patch.setattr(sys, "executable", str(script))
            return run(words, *rest)

    monkeypatch.setattr(environments, "_run", with_code)
    assert verdict((), Environment(), source).startswith(text)
    assert bool(verdict((), Environment(), source)) == bool(text)


def test_output_that_was_lost_is_not_fine(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ended = environments._Ended(0, "", "")
    monkeypatch.setattr(environments, "_run", lambda *_: ended)
    assert verdict((), Environment(output="full"), source) == "its output was lost, and the exit status is 0"


def test_unknown_names_are_refused() -> None:
    with pytest.raises(SystemExit):
        main(["--commands", "run,nothing"])
