"""The judge of damaged files: what it calls wrong, and that a busy computer changes nothing; a mutant is a function of
its number."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bench import mutants
from bench.mutants import judge, main
from bench.mutations import FORMATS
from isa.errors import VTAError


def fine(_: Path) -> None:
    """fine"""
    print("all is well")


def refused(_: Path) -> None:
    """refused"""
    raise VTAError("file: no")


def traceback_(_: Path) -> None:
    """traceback"""
    raise KeyError("secret")


def crash(_: Path) -> None:
    """crash"""
    os.kill(os.getpid(), signal.SIGTERM)


def escape(_: Path) -> None:
    """escape"""
    print("\x1b]0;x\x07")


def busy(_: Path) -> None:
    """busy"""
    while True:
        pass


def busy_in_a_child(_: Path) -> None:
    """busy in a child"""
    subprocess.run([sys.executable, "-c", "while True: pass"], check=False)


def large(_: Path) -> None:
    """large"""
    block = bytearray(b"x") * (1 << 30)  # twice the limit: what a watcher has freed is taken first
    time.sleep(5)
    print(len(block))


def waiting(_: Path) -> None:
    """waiting"""
    time.sleep(3600)


def wrong(tmp_path: Path, action: mutants.Action) -> list[str]:
    return judge("x:0", tmp_path / "file.x", [action]).wrong


def test_what_is_accepted_or_refused_is_not_wrong(tmp_path: Path) -> None:
    accepted, no = (judge("x:0", tmp_path / "file.x", [action]) for action in (fine, refused))
    assert (accepted.wrong, accepted.accepted) == ([], True)
    assert (no.wrong, no.accepted) == ([], False)
    assert judge("x:0", tmp_path / "file.x", [refused, fine]).accepted


def test_tracebacks_crashes_and_escapes_are_wrong(tmp_path: Path) -> None:
    [text] = wrong(tmp_path, traceback_)
    assert text.startswith("traceback: exit status 3: Traceback")
    assert text.endswith("KeyError: 'secret'")
    assert wrong(tmp_path, crash) == ["crash: killed by SIGTERM"]
    assert wrong(tmp_path, escape) == ["escape: prints '\\x1b'"]


@pytest.mark.parametrize("action", [busy, busy_in_a_child])
def test_processor_time_has_a_limit_also_that_of_children(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, action: mutants.Action
) -> None:
    monkeypatch.setattr(mutants, "_SECONDS", 0.3)
    assert wrong(tmp_path, action) == [f"{action.__doc__}: more than 0 s of processor time"]


def test_memory_has_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mutants, "_BYTES", 1 << 29)
    assert wrong(tmp_path, large) == ["large: more than 512 MiB"]


def test_what_the_watcher_has_itself_is_not_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mutants, "_BYTES", 1 << 28)
    own = bytearray(b"x") * (1 << 29)
    assert wrong(tmp_path, fine) == []
    assert len(own) == 1 << 29


def test_a_process_that_waits_takes_no_processor_time_and_hangs_only_after_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mutants, "_SECONDS", 0.5)
    assert wrong(tmp_path, lambda _: time.sleep(1)) == []
    monkeypatch.setattr(mutants, "_PATIENCE", 0.2)
    [text] = wrong(tmp_path, waiting)
    assert text.startswith("waiting: hangs: ")


def test_nothing_that_was_started_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pid = tmp_path / "pid"

    def starts(_: Path) -> None:
        """starts"""
        with subprocess.Popen(["sleep", "3600"]) as child:
            pid.write_text(str(child.pid))

    monkeypatch.setattr(mutants, "_PATIENCE", 0.5)
    assert len(wrong(tmp_path, starts)) == 1
    for _ in range(500):
        try:
            state = Path(f"/proc/{pid.read_text()}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return
        if state == "Z":
            return
        time.sleep(0.01)
    pytest.fail("the child is still there")


@pytest.mark.parametrize("name", FORMATS)
def test_a_mutant_depends_on_its_random_numbers_alone(name: str) -> None:
    made = FORMATS[name]
    seed = made.seeds()[0]
    kinds = {made.mutate(random.Random(number), seed) for number in range(12)}
    assert len(kinds - {seed}) > 6
    assert made.mutate(random.Random(5), seed) == made.mutate(random.Random(5), seed)


def test_damaged_files_of_every_format(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--seed", "1", "--count", "1"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == list(FORMATS)
    with pytest.raises(SystemExit):
        main(["--formats", "trace,nothing"])
