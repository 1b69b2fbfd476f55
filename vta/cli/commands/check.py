"""``vta check``: what can be said about a program without running it.

Tests: tests/vta/cli/test_program_commands.py, tests/vta/cli/test_check.py.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from isa.check.checker import Finding, Severity
from isa.check.checker import check as findings_of
from isa.limits import DEFAULT_LIMITS
from runtime.memory.device_memory import FIRST_ADDRESS
from vta.cli.options import ConfigOption, LimitsOption
from vta.cli.programs import programs_of
from vta.cli.reporting import counted, reported
from vta.cli.style import say

__all__ = ["check", "print_findings"]


def check(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A program, a capsule, or a script that launches some.")],
    config: ConfigOption = None,
    limit: Annotated[int, typer.Option("--limit", min=0, help="Findings to print; 0 prints them all.")] = 20,
    max_memory: LimitsOption = DEFAULT_LIMITS,
) -> None:
    """Check a program's encoding, bounds, tokens, races and unwritten reads; exit code 1 if something is wrong."""
    with reported():
        programs = programs_of(file, config, limits=max_memory)
        wrong = False
        for number, program in enumerate(programs):
            place = str(file) if len(programs) == 1 else f"{file}, launch {number}"
            findings = findings_of(program, first_address=FIRST_ADDRESS)
            print_findings(findings, place, limit)
            errors = sum(finding.severity is Severity.ERROR for finding in findings)
            say(f"{place}: {counted(len(program.instructions), 'instruction')}, {counted(errors, 'error')}")
            wrong = wrong or bool(errors)
        if wrong:
            raise typer.Exit(1)


def print_findings(findings: Sequence[Finding], place: str, limit: int) -> None:
    """Print the first ``limit`` findings (0: all), each with ``place`` in front, and how many more there are."""
    shown = findings[:limit] if limit else findings
    for finding in shown:
        say(f"{place}: {finding}")
    if len(shown) < len(findings):
        say(f"{place}: ... and {len(findings) - len(shown)} more (--limit 0 prints them all)")
