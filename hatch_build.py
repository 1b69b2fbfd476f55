"""The README as a package index shows it: what leads to files of the source tree is named, since there is no tree.

hatchling runs this when it builds a distribution. Tests: tests/integration/test_wheel.py.
"""

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_PICTURE = re.compile(r"^!\[[^]]*\]\((?!https?:)[^)]*\)\n\n?", re.MULTILINE)
_LINK = re.compile(r"\[([^]]*)\]\((?!https?:|#)([^)]*)\)")


class ReadmeHook(MetadataHookInterface):
    """Gives the project its description."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Put the README into ``metadata``, without pictures and with the names of files in place of links to them."""
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": standing_alone(text)}


def standing_alone(text: str) -> str:
    """Return a page whose relative links are the names of files."""
    return _LINK.sub(_named, _PICTURE.sub("", text))


def _named(link: re.Match[str]) -> str:
    text, path = link.groups()
    return f"`{path}`" if text == path else f"{text} (`{path}`)"
