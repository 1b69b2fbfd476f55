"""Colours for what the command line prints on a terminal; elsewhere, and with NO_COLOR set, the same text without.

Patterns find what is worth a colour (verdicts, instructions, tokens, where they came from), so that no text is written
twice and none depends on whether there are colours. The colours are the terminal's own, and an orange, so that they
suit its background. Tests: tests/vta/cli/test_style.py.
"""

import re
from collections.abc import Callable, Mapping

import typer
from rich.color import ColorSystem
from rich.console import Console
from rich.style import Style

__all__ = ["painted", "painter", "say"]

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


def painter(*, err: bool = False) -> Callable[[str], str]:
    """Return what paints text for stdout, or for stderr: nothing is changed unless that shows colours."""
    screen = Console(stderr=err)
    if screen.color_system is None or screen.no_color:
        return str
    system = {"standard": ColorSystem.STANDARD, "256": ColorSystem.EIGHT_BIT}.get(
        screen.color_system, ColorSystem.TRUECOLOR
    )
    return lambda text: painted(text, system)


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
    shown = painter(err=err)(text)
    typer.echo(shown, err=err, color=None if shown is text else True)
