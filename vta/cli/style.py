"""All that the command line prints goes through here: made printable, and in colours where there are any.

Text of a stranger's file may hold what a terminal would obey; ``isa.printable`` writes that out. Anywhere but on a
terminal, and with NO_COLOR set, the text is the same without colours.

Patterns find what is worth a colour (verdicts, instructions, tokens, where they came from), so that no text is written
twice and none depends on whether there are colours. The colours are the terminal's own, and an orange, so that they
suit its background. Tests: tests/vta/cli/test_style.py.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import typer
from rich.color import ColorSystem
from rich.console import Console
from rich.style import Style
from rich.text import Text

from isa.printable import printable

__all__ = ["Screen", "painted", "painter", "plain", "say", "say_each"]

_AN_OPERATION = r"(?= \w+=| (?:pop|push)_| reset|  |$)"
"""What follows the name of an operation where it is one, and not a word of a sentence."""

_WORDS: Mapping[str, tuple[str, str]] = {
    "origin": ("italic dim", r"  [;@] .*$|(?<=from )(?:[^\s:]+: )?[\w.]+ \([^()\s]+:\d+\)"),
    "load": ("bold blue", rf"\bload\.\w+{_AN_OPERATION}|\bLOAD(?= (?:INP|WGT|UOP|ACC))"),
    "gemm": ("bold green", r"(?<![\w.])gemm(?= \w+=)|\bGEMM\b"),
    "alu": ("bold dark_orange", rf"\balu\.\w+{_AN_OPERATION}|\bALU\b"),
    "store": ("bold magenta", r"\bstore(?:\.\w+)?(?= \w+=)|\bSTORE\b(?! *:)"),
    "finish": ("bold", r"(?<= )finish(?=$| (?:pop|push)_|  )"),
    "token": ("cyan", r"\b(?:pop|push)_(?:prev|next)\b|\b[lgs]2[lgs]\b|\b(?:load|compute|store)->\w+"),
    "key": ("dim", r"\b(?:sram|dram|y|x|stride|ypad|xpad|uop|iter|dst|src|wgt|imm)=(?=[\dx-])"),
    "titles": ("dim", r"^index  .*$"),
    "index": ("bold", r"^ *\d+(?=  |: )|^launch \d+|\binstruction \d+"),
    "error": (
        "bold red",
        r"\berror:|\b[1-9]\d* errors?\b|\bfirst difference\b|^failed:|\bdeadlock\b|(?<=, bound by )[^:\n]+",
    ),
    "note": ("bold yellow", r"\bnote:"),
    "good": (
        "bold green",
        r"\bno errors\b|\bagree on \d+ instructions?\b|\bdo the same\b|\bhold the same launches\b|(?<=: )finished\b",
    ),
    "prompt": ("bold cyan", r"^\(vta\)(?= )"),
    "file": ("bold", r"^[^\s:]+\.(?:vtab?|py|capsule|trace|json|html)(?=[:,])"),
}
"""Name -> style, and the pattern of the words that have it; where two match, the first is taken."""


class Screen(Console):
    """Where tables go: rich's console, on which text is text: no mark-up, and nothing that a terminal would obey."""

    def __init__(self, *, err: bool = False, soft_wrap: bool = False) -> None:
        super().__init__(stderr=err, highlight=False, markup=False, emoji=False, soft_wrap=soft_wrap)

    def render_str(self, text: str, **how: Any) -> Text:
        """Return printable text as rich's own: every string in a table comes through here."""
        return super().render_str(printable(text), **how)


def painter(*, err: bool = False) -> Callable[[str], str]:
    """Return what makes text printable, and paints it if stdout, or stderr, shows colours."""
    screen = Console(stderr=err)
    if screen.color_system is None or screen.no_color:
        return printable
    system = {"standard": ColorSystem.STANDARD, "256": ColorSystem.EIGHT_BIT}.get(
        screen.color_system, ColorSystem.TRUECOLOR
    )
    return lambda text: painted(printable(text), system)


def painted(text: str, system: ColorSystem = ColorSystem.TRUECOLOR) -> str:
    """Return ``text`` with the escape codes of its colours."""
    styles = {name: Style.parse(style) for name, (style, _) in _WORDS.items()}

    def paint(found: re.Match[str]) -> str:
        assert found.lastgroup is not None
        return styles[found.lastgroup].render(found.group(), color_system=system)

    return re.sub(_PATTERN, paint, text, flags=re.MULTILINE)


_PATTERN = "|".join(f"(?P<{name}>{pattern})" for name, (_, pattern) in _WORDS.items())


def say(text: str, *, err: bool = False) -> None:
    """Print ``text`` as lines, in colours where there are any."""
    say_each([text], err=err)


def say_each(texts: Iterable[str], *, err: bool = False) -> None:
    """Print one text after the other, as soon as it is there."""
    paint = painter(err=err)
    color = None if paint is printable else True
    for text in texts:
        typer.echo(paint(text), err=err, color=color)


def plain(text: str, *, err: bool = False) -> None:
    """Print ``text`` as lines, without colours: for numbers, and for what programs read."""
    typer.echo(printable(text), err=err)
