"""Worker processes: isolated, in order, and one sentence when one dies."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from vta.relay.backend.workers import WorkerError, in_workers

ROOT = Path(__file__).resolve().parents[4]


def test_answers_come_in_the_order_of_requests() -> None:
    assert list(in_workers(len, ["", "a", "bb", "ccc", "dd"], 2)) == [0, 1, 2, 3, 2]
    assert list(in_workers(len, [], 2)) == []


def test_a_worker_that_dies_is_one_sentence() -> None:
    message = r"^a process that compiles layers ended with exit code 7; compile with jobs=1 to see why$"
    with pytest.raises(WorkerError, match=message):
        list(in_workers(os._exit, [7], 1))


def test_the_working_directory_and_the_script_are_not_run_again(tmp_path: Path) -> None:
    (tmp_path / "queue.py").write_text("raise SystemExit('a file of the working directory was imported')\n")
    script = tmp_path / "script.py"
    script.write_text(
        "import sys; sys.path = [p for p in sys.path if p != sys.path[0]]\n"
        f"sys.path.insert(0, {str(ROOT)!r})\n"
        "from vta.relay.backend.workers import in_workers\n"
        "print(list(in_workers(len, ['abc', 'de'], 2)))\n"
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (done.stdout, done.stderr, done.returncode) == ("[3, 2]\n", "", 0)
