"""The sessions on a terminal that have a picture: what is typed. Tests: tests/integration/test_pictures.py."""

import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from docs.make_pictures.terminal import on_terminal, picture, typed

__all__ = ["PICTURES", "ROOT", "SESSIONS", "Session", "drawn", "workplace"]

ROOT = Path(__file__).resolve().parents[2]
PICTURES = ROOT / "docs" / "pictures"


@dataclass(frozen=True, slots=True)
class Session:
    """A picture of commands that are typed one after the other in a ``workplace``.

    ``keys`` are what is typed into the debugger, ``lines`` how many lines are shown. With ``timed``, what is shown has
    cycles in it, which change with the hardware.
    """

    name: str
    commands: tuple[str, ...]
    keys: tuple[str, ...] = ()
    width: int = 110
    lines: int | None = None
    timed: bool = False


_PACK = "vta run stuck.vta --capsule stuck.capsule"

_BEFORE = (
    "vta disasm examples/matrix_multiply.py -o good.vta",
    "sed '/load.inp/ s/ pop_next//' good.vta > early.vta",
    "sed 's/wgt=1,0/wgt=0,0/' good.vta > same_weights.vta",
    "sed '/reset/ s/iter=16,1/iter=8,1/' good.vta > half.vta",
    "sed '/gemm/ s/ push_next//' good.vta > stuck.vta",
    "vta run examples/matrix_multiply.py --target tsim --record mm.trace",
    _PACK,
)
"""Commands that make the files of all sessions; docs/inspection.md shows them."""

SESSIONS = (
    Session("check", ("vta check good.vta", "vta check early.vta --limit 2")),
    Session("sanitize", ("vta run good.vta --sanitize", "vta run half.vta --sanitize")),
    Session(
        "diff", ("vta diff examples/add_three.vta --engines reference,sim,tsim", "vta diff good.vta same_weights.vta")
    ),
    Session(
        "debug",
        ("vta debug examples/add_three.vta",),
        keys=("break acc 5", "continue", "continue", "where", "acc 5", "back", "acc 5", "queues", "quit"),
        width=114,
    ),
    Session("trace", ("vta trace mm.trace",), width=152, lines=17, timed=True),
    Session("explain", ("vta explain mm.trace",), width=118, timed=True),
    Session("capsule", (_PACK, "vta run stuck.capsule")),
    Session("reduce", ("vta reduce stuck.capsule -o small.capsule",)),
)


@contextmanager
def workplace() -> Iterator[Path]:
    """Yield a folder with the examples, and the programs, traces and capsules that are looked at."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "examples").symlink_to(ROOT / "examples")
        for command in _BEFORE:
            if command.startswith("vta "):
                on_terminal(command, folder=folder, width=100)
            else:
                subprocess.run(["sh", "-c", command], cwd=folder, check=True)
        yield folder


def drawn(session: Session, folder: Path) -> str:
    """Run a session in ``folder`` and return its picture."""
    shown = "\n".join(
        typed(command) + on_terminal(command, folder=folder, width=session.width, keys=session.keys)
        for command in session.commands
    )
    lines = shown.splitlines()
    if session.lines is not None and len(lines) > session.lines:
        lines = [*lines[: session.lines], f"\x1b[2m... {len(lines) - session.lines} more lines\x1b[0m"]
    return picture(session.name, "\n".join(lines), width=session.width, title=session.commands[-1])
