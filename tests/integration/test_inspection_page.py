"""The examples of docs/inspection.md: every command prints what the page says."""

import re
import shlex
import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner

from vta.cli.app import app

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "inspection.md"
BLOCKS = re.findall(r"^```console\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.M | re.S)


def commands(block: str) -> list[tuple[str, str]]:
    """Return each command of a block and what it should print."""
    return [(part[0], part[1]) for part in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.M)]


def printed_by(command: str) -> str:
    """Run a command in the current folder: ours in this process, others in a shell."""
    if not command.startswith("vta "):
        return subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=True).stdout
    words = shlex.split(command)
    quiet = words[-2:] == [">", "/dev/null"]
    result = CliRunner().invoke(app, words[1:-2] if quiet else words[1:])
    return "" if quiet else result.output


def matches(printed: str, expected: str) -> bool:
    """Whether a text is as expected; ``...`` stands for anything."""
    pattern = ".*?".join(re.escape(part) for part in expected.split("..."))
    return re.fullmatch(pattern, printed, re.S) is not None


def test_every_command_prints_what_the_page_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    assert len(BLOCKS) >= 6
    for block in BLOCKS:
        for command, expected in commands(block):
            printed = printed_by(command)
            assert matches(printed, expected), f"{command}\n{printed}"


def test_what_a_page_does_not_say_is_seen() -> None:
    assert matches("a 1 b\n", "a ... b\n")
    assert not matches("a 1 c\n", "a ... b\n")
    assert commands("$ one\nout\n$ two\n") == [("one", "out\n"), ("two", "")]
