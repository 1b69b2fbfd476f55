"""Capsules on the command line: packed by ``vta run``, on request and when a launch fails, and replayed by it.

Tests: tests/vta/cli/test_capsule_commands.py.
"""

import re
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from isa.limits import Limits
from isa.whole_file import write_new
from runtime.session import DEVICE_NAMES, Session
from vta.cli.reporting import UserError, counted, require_file, sentence_of
from vta.cli.style import say
from vta.inspect.capsule import Capsule, Capture, load_capsule, replay, save_capsule
from vta.inspect.capsule.file import MAGIC, capsule_to_bytes

__all__ = ["is_capsule", "packing", "replay_capsule", "require_trace"]

_MOST_OF_NAME = 60
"""How many letters of a file's name its capsule's name takes over."""


def is_capsule(file: Path) -> bool:
    """Whether a regular file begins as a capsule does."""
    if not file.is_file():
        return False
    with open(file, "rb") as opened:
        return opened.read(len(MAGIC)) == MAGIC


def require_trace(file: Path, expected: str) -> None:
    """Raise ``UserError`` unless ``file`` exists and is not a capsule; ``expected`` says what it should be."""
    require_file(file, expected)
    if is_capsule(file):
        raise UserError(f"{file}: this is a capsule; `vta run {file} --record OUT` records its replay as a trace")


def replay_capsule(
    file: Path, *, limits: Limits, inside: Callable[[Session], AbstractContextManager[object]]
) -> tuple[Capsule, str]:
    """Run a capsule again, within what ``inside`` makes of its session; return it, and what came of it.

    Raises ``UserError`` if the outcome differs.
    """
    capsule = load_capsule(file, limits=limits)
    found = replay(capsule, inside=inside)
    if found:
        made = ", ".join(f"{name} {version}" for name, version in capsule.versions.items())
        raise UserError(f"{file}: not as when it was packed (with {made}): " + "; ".join(found))
    last = capsule.outcomes[-1]
    cycles = "" if last.cycles is None else f", {last.cycles} cycles"
    what = f"fails as it did: {last.message}" if last.failed else f"finishes with the same memory{cycles}"
    launches = counted(len(capsule.programs), "launch")
    return capsule, f"{launches} on {capsule.spec.device}: {what}"


@contextmanager
def packing(session: Session, file: Path, output: Path | None) -> Iterator[Capture]:
    """Pack what runs inside into ``output``; without one, a launch that fails is packed among the temporary files.

    Programs that bring their own memory are run by the yielded capture; launches of the queue are taken in any case.
    """
    capture = Capture(session, name=file.name, keep_all=output is not None)
    try:
        with capture.watching():
            yield capture
    except (Exception, SystemExit):  # errors of a script are an exit by now
        try:
            _pack_failure(capture, file, output)
        except (OSError, ValueError) as error:  # what went wrong before is worth more than this
            say(f"the launch that failed could not be packed: {sentence_of(error)}", err=True)
        raise
    if output is not None:
        _pack(capture, output)


def _pack(capture: Capture, output: Path) -> None:
    capsule = capture.capsule()
    if capsule is None:
        say(f"{output}: not written, since nothing was launched", err=True)
        return
    save_capsule(capsule, output)
    say(f"{output}: packed; `vta run {output}` replays it", err=True)


def _pack_failure(capture: Capture, file: Path, output: Path | None) -> None:
    """Pack what failed: into ``output``, or, if a device did it, into a file of its own among the temporary ones."""
    if output is not None:
        _pack(capture, output)
        return
    capsule = capture.capsule()
    if capsule is None or not capsule.outcomes[-1].failed or capsule.spec.device not in DEVICE_NAMES:
        return  # a board's failure cannot be replayed
    name = re.sub(r"[^A-Za-z0-9._-]", "_", file.stem)[:_MOST_OF_NAME]
    packed = write_new(tempfile.gettempdir(), f"vta-{name}", ".capsule", capsule_to_bytes(capsule))
    say(f"the launch that failed is packed in {packed}: `vta run` replays it, `vta reduce` shrinks it", err=True)
