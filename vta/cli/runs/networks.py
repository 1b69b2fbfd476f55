"""``vta run`` of a network: everything that can be done to a script's launches can be done to its own.

Tests: tests/vta/cli/test_network_commands.py.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

import typer

from isa.check.findings import Severity
from runtime.queue.launch import Launch
from runtime.session import Session
from vta.cli.commands.check import finding_objects
from vta.cli.quantizing import quantised_on_the_way
from vta.cli.runs.wishes import Wishes, around_launches, listening
from vta.cli.sanitizing import LaunchSanitizer

__all__ = ["run_network_file"]


def run_network_file(file: Path, wishes: Wishes) -> dict[str, object]:
    """Run a network and print what comes out; return what ``--json`` says of it."""
    from vta.cli.network_run import run_network  # and with it ONNX, which takes long to load

    options = {"--check": wishes.check, " ".join(wishes.arguments): wishes.arguments}
    wishes.refuse(file, "a network (--sanitize checks what it launches)", options)
    sanitizer, config = LaunchSanitizer(), wishes.configuration()

    @contextmanager
    def around(session: Session) -> Iterator[None]:
        with ExitStack() as stack:
            listeners = stack.enter_context(listening(wishes, sanitizer))
            session.queue.launcher.listeners += [partial(_hear, listener, session) for listener in listeners]
            for enter in around_launches(file, wishes):
                stack.enter_context(enter(session))
            yield

    with (
        wishes.board_session() as board,
        quantised_on_the_way(file, wishes.calibration, wishes.shapes) as network,
    ):
        document = run_network(network, config, wishes, board, around=around)
    if wishes.sanitize and not wishes.as_json:
        sanitizer.summary(str(file))
    if any(found.severity is Severity.ERROR for _, found in sanitizer.findings):
        raise typer.Exit(1)
    findings = [entry for number, found in sanitizer.findings for entry in finding_objects(number, [found])]
    return {**document, "findings": findings}


def _hear(listener: Callable[[Launch, Session], None], session: Session, launch: Launch) -> None:
    listener(launch, session)
