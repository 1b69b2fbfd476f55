"""``vta run`` of a capsule: its replay. Tests: tests/vta/cli/test_capsule_commands.py."""

from collections.abc import Sequence
from pathlib import Path

import typer

from isa.check.findings import Finding, Severity
from vta.cli.capsule import replay_capsule
from vta.cli.commands.check import finding_objects
from vta.cli.programs import programs_of
from vta.cli.runs.wishes import Wishes, watched
from vta.cli.sanitizing import sanitized
from vta.cli.style import say

__all__ = ["run_capsule"]


def run_capsule(file: Path, wishes: Wishes) -> dict[str, object]:
    """Replay a capsule and say what came of it; return what ``--json`` says."""
    wishes.refuse(
        file,
        "a capsule and runs as it was packed, with its own machine",
        {
            "--target": wishes.target,
            "--board": wishes.board,
            "--config": wishes.config,
            "--stats": wishes.stats,
            "--trace": wishes.trace,
            "--capsule": wishes.capsule,
            "--input": wishes.inputs,
            "--shape": wishes.shapes,
            "--save": wishes.save,
            "--check": wishes.check,
            "--set, --hardware or its short forms": wishes.settings.config or wishes.settings.hardware,
            " ".join(wishes.arguments): wishes.arguments,
        },
    )
    found: Sequence[Sequence[Finding]] = ()
    if wishes.sanitize:
        found = sanitized(programs_of(file, None, limits=wishes.limits), str(file))
        if any(finding.severity is Severity.ERROR for findings in found for finding in findings):
            raise typer.Exit(1)
    capsule, sentence = replay_capsule(
        file, limits=wishes.limits, inside=lambda session: watched(session, file, wishes)
    )
    if not wishes.as_json:
        say(f"{file}: {sentence}")
    return {
        "device": capsule.spec.device,
        "config": capsule.programs[0].config.bitstream,
        "outputs": {},
        "statistics": None,
        "account": None,
        "findings": [entry for launch, findings in enumerate(found) for entry in finding_objects(launch, findings)],
        "sentence": sentence,
    }
