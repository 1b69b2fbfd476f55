"""Capsules on the command line: packed by ``vta run``, on request and when a launch fails, and replayed by it.

Tests: tests/vta/cli/test_capsule_commands.py.
"""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from runtime.session import Session
from vta.cli.reporting import UserError, counted, require_file
from vta.cli.style import say
from vta.inspect.capsule import Capture, load_capsule, replay, save_capsule
from vta.inspect.capsule.file import MAGIC

__all__ = ["is_capsule", "packing", "replay_capsule", "require_trace"]


def is_capsule(file: Path) -> bool:
    """Whether a regular file begins as a capsule does."""
    if not file.is_file():
        return False
    with open(file, "rb") as opened:
        return opened.read(len(MAGIC)) == MAGIC


def require_trace(file: Path, expected: str) -> None:
    """Raise ``UserError`` unless ``file`` is there, and no capsule; ``expected`` says what it should be."""
    require_file(file, expected)
    if is_capsule(file):
        raise UserError(f"{file}: this is a capsule; `vta run {file} --record OUT` records its replay as a trace")


def replay_capsule(file: Path, *, inside: Callable[[Session], AbstractContextManager[object]]) -> None:
    """Run a capsule again, ``inside`` what that makes of its session, and say what came of it.

    The exit code is 1 if it is another outcome.
    """
    capsule = load_capsule(file)
    found = replay(capsule, inside=inside)
    if found:
        made = ", ".join(f"{name} {version}" for name, version in capsule.versions.items())
        raise UserError(f"{file}: not as when it was packed (with {made}): " + "; ".join(found))
    last = capsule.outcomes[-1]
    cycles = "" if last.cycles is None else f", {last.cycles} cycles"
    what = f"fails as it did: {last.message}" if last.failed else f"finishes with the same memory{cycles}"
    launches = counted(len(capsule.programs), "launch")
    say(f"{file}: {launches} on {capsule.spec.device}: {what}")


@contextmanager
def packing(session: Session, file: Path, output: Path | None) -> Iterator[Capture]:
    """Pack what runs inside into ``output``; without one, a launch that fails is packed among the temporary files.

    Programs that bring their own memory are run by the yielded capture; launches of the queue are taken anyhow.
    """
    capture = Capture(session, name=file.name, keep_all=output is not None)
    try:
        with capture.watching():
            yield capture
    except (Exception, SystemExit):  # errors of a script are an exit by now
        if output is None:
            _pack_failure(capture, file)
        raise
    finally:
        if output is not None:
            _pack(capture, output)


def _pack(capture: Capture, output: Path) -> None:
    capsule = capture.capsule()
    if capsule is None:
        say(f"{output}: not written, since nothing was launched", err=True)
        return
    save_capsule(capsule, output)
    say(f"{output}: packed; `vta run {output}` replays it", err=True)


def _pack_failure(capture: Capture, file: Path) -> None:
    capsule = capture.capsule()
    if capsule is None or not capsule.outcomes[-1].failed:
        return  # nothing that a device did
    output = Path(tempfile.gettempdir()) / f"vta-{file.stem}-{capsule.outcomes[-1].digest[:8]}.capsule"
    save_capsule(capsule, output)
    say(f"the launch that failed is packed in {output}: `vta run` replays it, `vta reduce` shrinks it", err=True)
