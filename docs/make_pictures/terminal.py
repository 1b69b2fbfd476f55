"""What a command shows on a terminal, in colours, as an SVG that needs nothing from a network; and its text back.

Tests: tests/integration/test_pictures.py.
"""

import fcntl
import html
import io
import os
import pty
import re
import select
import shlex
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

__all__ = ["lines_of", "on_terminal", "picture", "typed"]

_PROMPT = b"(vta) "
_PATIENCE = 120
"""Seconds without a word from a command."""

_COLOUR = re.compile(rb"\x1b\[[0-9;]*m")
_CONTROL = re.compile(rb"\x1b\[\?[0-9;]*[a-z]|[\x01\x02]")
"""What a line editor sends beside text."""

_BACKGROUND, _TEXT = (27, 31, 42), (206, 212, 224)
_BLACK, _RED, _GREEN, _YELLOW = (68, 75, 94), (243, 113, 120), (126, 211, 133), (232, 190, 96)
_BLUE, _MAGENTA, _CYAN = (100, 170, 255), (202, 150, 250), (94, 205, 214)
_THEME = TerminalTheme(_BACKGROUND, _TEXT, [_BLACK, _RED, _GREEN, _YELLOW, _BLUE, _MAGENTA, _CYAN, _TEXT])

_FORMAT = """<svg viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace;
  font-size: {char_height}px; line-height: {line_height}px; }}
.{unique_id}-title {{ font: 600 16px system-ui, "DejaVu Sans", sans-serif; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal"><rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" /></clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""  # noqa: E501
"""Of ``Console.export_svg``: as rich's own, but with the fonts that a reader has."""


def on_terminal(command: str, *, folder: Path, width: int, keys: Sequence[str] = ()) -> str:
    """Return what ``vta ...`` prints on a terminal of ``width`` columns, with its colours.

    ``keys`` are lines to type, one at each prompt of the debugger.
    """
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 50, width, 0, 0))
    kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS")}
    process = subprocess.Popen(
        [sys.executable, "-m", "vta.cli", *shlex.split(command)[1:]],
        cwd=folder,
        env=kept | {"TERM": "xterm-256color", "COLORTERM": "truecolor", "INPUTRC": os.devnull},
        stdin=follower,
        stdout=follower,
        stderr=follower,
    )
    os.close(follower)
    try:
        shown = b"".join(_conversation(leader, list(keys), command))
    finally:
        process.kill()
        process.wait()
        os.close(leader)
    return _CONTROL.sub(b"", shown).decode().replace("\r\n", "\n").replace("\r", "")


def _conversation(terminal: int, keys: list[str], command: str) -> Iterator[bytes]:
    """Yield what is printed, and type the next line at each prompt."""
    last = b""
    while select.select([terminal], [], [], _PATIENCE)[0]:
        try:
            more = os.read(terminal, 65536)
        except OSError:  # how Linux says that nobody writes any more
            return
        if not more:
            return
        yield more
        last = (last + more)[-256:]
        if keys and _COLOUR.sub(b"", _CONTROL.sub(b"", last)).endswith(_PROMPT):
            os.write(terminal, f"{keys.pop(0)}\n".encode())
            last = b""
    raise RuntimeError(f"{command}: nothing was printed for {_PATIENCE} seconds; still to type: {keys}")


def typed(command: str) -> str:
    """Return a command as it stands at a shell's prompt, in colours."""
    return f"\x1b[1;32m$\x1b[0m \x1b[1m{command}\x1b[0m\n"


def picture(name: str, shown: str, *, width: int, title: str) -> str:
    """Return terminal output as an SVG, lines broken at ``width`` columns."""
    console = Console(record=True, width=width, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    console.print(Text.from_ansi(shown.rstrip("\n")))
    svg = console.export_svg(title=title, theme=_THEME, code_format=_FORMAT, unique_id=name)
    return "\n".join(line.rstrip() for line in svg.splitlines()) + "\n"


def lines_of(svg: str) -> list[str]:
    """Return the lines of text that a picture shows, its title first."""
    title = re.search(r'<text class="[\w-]+-title"[^>]*>(.*?)</text>', svg)
    rows: dict[float, str] = {}
    for x, y, length, text in re.findall(
        r'<text class="[\w-]+-r\d+" x="([\d.]+)" y="([\d.]+)" textLength="([\d.]+)"[^>]*>(.*?)</text>', svg
    ):
        plain = html.unescape(text).replace("\xa0", " ")
        column = round(float(x) / (float(length) / len(plain)))
        rows[float(y)] = rows.get(float(y), "").ljust(column) + plain
    return [html.unescape(title[1]).replace("\xa0", " ") if title else "", *(rows[y].rstrip() for y in sorted(rows))]
