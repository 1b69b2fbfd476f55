"""Compilers and checkers of Verilog for tests: skipped with what to install where they are missing."""

import os
import re
import subprocess
from collections import Counter
from pathlib import Path

from tests.support.benches.cocotb_run import skip_without, verilator_environment

__all__ = ["compile_with_icarus", "lint_with_verilator"]


def compile_with_icarus(source: Path, *, standard: str = "2005") -> str:
    """Return what Icarus says with all warnings on, which is nothing where it has no complaint."""
    skip_without("icarus")
    command = ["iverilog", "-Wall", f"-g{standard}", "-o", os.devnull, str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    text = done.stdout + done.stderr
    return text if done.returncode == 0 or text else f"code {done.returncode}"


def lint_with_verilator(source: Path) -> Counter[str]:
    """Return how often ``verilator --lint-only -Wall`` warns of what, by kind; errors count as ``Error``."""
    skip_without("verilator")
    command = ["verilator", "--lint-only", "-Wall", str(source)]
    environment = {**os.environ, **verilator_environment()}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    found = Counter(re.findall(r"^%(?:Warning-)?([A-Z]\w*)", done.stderr, re.MULTILINE))
    assert bool(found) == bool(done.returncode), done.stderr
    return found
