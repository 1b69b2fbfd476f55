"""``vta run`` of a Python script, also of one written for TVM.

Tests: tests/vta/cli/test_script_commands.py, tests/vta/compat/test_scripts.py.
"""

import contextlib
import sys
from dataclasses import replace
from pathlib import Path

import typer

from isa.check.findings import Severity
from runtime.queue.launch import Launch
from runtime.session import Session
from vta.cli.commands.check import finding_objects
from vta.cli.runs.statistics import print_statistics, statistics_objects
from vta.cli.runs.wishes import Wishes, around_launches, listening
from vta.cli.sanitizing import LaunchSanitizer
from vta.cli.script import run_script

__all__ = ["run_python"]

_TARGET_ON_A_BOARD = "tsim"
"""For scripts that look at TARGET: the hardware, in this process, which counts cycles."""


def run_python(file: Path, wishes: Wishes) -> dict[str, object]:
    """Run a script as ``python FILE`` would; return what ``--json`` says of it. What it prints then goes to stderr."""
    options = {"--input": wishes.inputs, "--shape": wishes.shapes, "--save": wishes.save, "--check": wishes.check}
    wishes.refuse(file, "a script (--sanitize checks what it launches)", options)
    sanitizer, config = LaunchSanitizer(), wishes.configuration()
    quiet = contextlib.redirect_stdout(sys.stderr) if wishes.as_json else contextlib.nullcontext()
    with quiet, listening(wishes, sanitizer) as listeners, wishes.board_session() as session:

        def on_launch(launch: Launch, session: Session) -> None:
            for listener in listeners:
                listener(launch, session)

        statistics = run_script(
            file,
            config if session is None else replace(config, target=_TARGET_ON_A_BOARD),
            wishes.arguments,
            hardware=wishes.settings.setup,
            session=session,
            on_launch=on_launch if listeners else None,
            inside=around_launches(file, wishes),
        )
    if wishes.sanitize and not wishes.as_json:
        sanitizer.summary(str(file))
    errors = [found for _, found in sanitizer.findings if found.severity is Severity.ERROR]
    if wishes.stats and not wishes.as_json and not errors:
        print_statistics(statistics)
    document = {
        "device": config.target if session is None else session.device.name,
        "config": config.bitstream,
        "outputs": {},
        **statistics_objects(statistics),
        "findings": [entry for number, found in sanitizer.findings for entry in finding_objects(number, [found])],
    }
    if errors and not wishes.as_json:
        raise typer.Exit(1)
    return document
