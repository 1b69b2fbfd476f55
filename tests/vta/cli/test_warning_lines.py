"""Warnings on the command line."""

import os
import subprocess
import sys
import warnings
from pathlib import Path

from runtime.native.cache import CacheWarning
from vta.cli.warning_lines import warnings_in_one_line

ROOT = Path(__file__).parents[3]


def test_warnings_of_ours_are_one_line() -> None:
    usual = warnings.formatwarning
    with warnings_in_one_line():
        text = warnings.formatwarning("nothing is kept in \x1b[2J", CacheWarning, "cache.py", 12)
    assert text == "vta: warning: nothing is kept in \\x1b[2J\n"
    assert warnings.formatwarning is usual


def test_other_warnings_are_pythons() -> None:
    with warnings_in_one_line():
        text = warnings.formatwarning("a script's own", UserWarning, "script.py", 12, "warn()")
    assert text == "script.py:12: UserWarning: a script's own\n  warn()\n"


def test_a_cache_that_cannot_be_trusted_is_told_once(tmp_path: Path) -> None:
    (tmp_path / "vta-toolchain").mkdir()
    (tmp_path / "vta-toolchain").chmod(0o777)
    (tmp_path / "twice.py").write_text(
        "from runtime.native.cache import cached\nfor _ in range(2):\n    print(cached('code', 'key', lambda: b'x'))\n"
    )
    environment = os.environ | {
        "XDG_CACHE_HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path / "state"), "PYTHONPATH": str(ROOT),
    }  # fmt: skip
    command = [sys.executable, "-c", "from vta.cli import main; main()", "run", "twice.py"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.stderr == (
        f"vta: warning: what is compiled is not kept for the next time: {tmp_path / 'vta-toolchain'}: others may write "
        "to it (mode 777); set it to 755 if you trust its contents\n"
    )
    assert "b'x'\nb'x'\n" in done.stdout
