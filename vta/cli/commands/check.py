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
from isa.program import Program
from runtime.memory.device_memory import FIRST_ADDRESS
from vta.cli.as_json import JsonOption, origin_object, print_json
from vta.cli.options import ConfigOption, LimitsOption
from vta.cli.programs import programs_of
from vta.cli.reporting import counted, reported
from vta.cli.style import say

__all__ = ["check", "finding_objects", "print_findings"]


def check(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A program, a capsule, or a script that launches some.")],
    config: ConfigOption = None,
    limit: Annotated[int, typer.Option("--limit", min=0, help="Findings to print; 0 prints them all.")] = 20,
    as_json: JsonOption = False,
    max_memory: LimitsOption = DEFAULT_LIMITS,
) -> None:
    """Check a program's encoding, bounds, tokens, races and unwritten reads; exit code 1 if something is wrong."""
    with reported():
        programs = programs_of(file, config, limits=max_memory)
        total, checked = 0, []
        for number, program in enumerate(programs):
            place = str(file) if len(programs) == 1 else f"{file}, launch {number}"
            findings = findings_of(program, first_address=FIRST_ADDRESS)
            errors = sum(finding.severity is Severity.ERROR for finding in findings)
            total += errors
            if as_json:
                checked.append(_checked(number, program, errors, findings))
                continue
            print_findings(findings, place, limit)
            say(f"{place}: {counted(len(program.instructions), 'instruction')}, {_counts(findings)}")
        if as_json:
            print_json("check", {"file": str(file), "programs": checked, "errors": total})
        if total:
            raise typer.Exit(1)


def _counts(findings: Sequence[Finding]) -> str:
    """Return how many findings are errors and how many notes: all of them, also those that were not printed."""
    errors = sum(finding.severity is Severity.ERROR for finding in findings)
    notes = len(findings) - errors
    return counted(errors, "error") + (f", {counted(notes, 'note')}" if notes else "")


def _checked(number: int, program: Program, errors: int, findings: Sequence[Finding]) -> dict[str, object]:
    return {
        "launch": number,
        "instructions": len(program.instructions),
        "errors": errors,
        "findings": finding_objects(number, findings),
    }


def finding_objects(launch: int, findings: Sequence[Finding]) -> list[dict[str, object]]:
    """Return findings as the schemas of ``--json`` have them."""
    return [
        {
            "launch": launch,
            "severity": finding.severity.value,
            "kind": finding.kind.value,
            "instruction": finding.index,
            "message": finding.message,
            "others": list(finding.others),
            "origin": origin_object(finding.origin),
        }
        for finding in findings
    ]


def print_findings(findings: Sequence[Finding], place: str, limit: int) -> None:
    """Print the first ``limit`` findings (0: all), each with ``place`` in front, and how many more there are."""
    shown = findings[:limit] if limit else findings
    for finding in shown:
        say(f"{place}: {finding}")
    if len(shown) < len(findings):
        say(f"{place}: ... and {counted(len(findings) - len(shown), 'more finding')} (--limit 0 prints them all)")
