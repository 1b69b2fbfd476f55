"""The pictures of docs/inspection.md: every one is shown, needs no network, and says what its commands say now."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from docs.make_pictures.sessions import PICTURES, ROOT, SESSIONS, Session, drawn, workplace
from docs.make_pictures.terminal import lines_of, picture
from tests.support.turns import few

PAGE = ROOT / "docs" / "inspection.md"
SCREENSHOTS = {"trace-page", "one-thread", "two-threads", "perfetto"}


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with workplace() as place:
        yield place


def without_cycles(line: str) -> str:
    """Return a line without its numbers, and without the width that they have."""
    return re.sub(r"[\s─━]+", " ", re.sub(r"\d[\d,.]*", "N", line))


@pytest.mark.parametrize("session", few(SESSIONS), ids=lambda session: session.name)
def test_a_picture_says_what_its_commands_say(session: Session, folder: Path) -> None:
    committed = lines_of((PICTURES / f"{session.name}.svg").read_text(encoding="utf-8"))
    now = lines_of(drawn(session, folder))
    if session.timed:
        committed, now = [[without_cycles(line) for line in lines] for lines in (committed, now)]
    assert committed == now, "run `make pictures`"


def test_the_text_of_a_picture_is_read_back() -> None:
    shown = "\x1b[1;32m$\x1b[0m vta check <a> & b\n\n  \x1b[31merror:\x1b[0m   no  good\n" + "word " * 12
    svg = picture("name", shown, width=40, title="the title")
    assert lines_of(svg) == [
        "the title",
        "$ vta check <a> & b",
        "  error:   no  good",
        "word word word word word word word word",
        "word word word word",
    ]


def test_numbers_and_their_width_are_left_out_of_what_changes_with_the_hardware() -> None:
    assert without_cycles("│ loads │  8,224 │ 86.7 % │") == without_cycles("│ loads │ 12 │ 100 % │")
    assert without_cycles("┏━━━┳━━┓") == without_cycles("┏━┳━━━━┓")
    assert without_cycles("bound by loads") != without_cycles("bound by stores")


def test_the_pages_show_every_picture_and_no_other() -> None:
    names = {session.name for session in SESSIONS}
    shown = set(re.findall(r"!\[[^\]]+\]\(pictures/([\w-]+)\.(?:svg|png)\)", PAGE.read_text(encoding="utf-8")))
    assert shown == names | SCREENSHOTS
    files = {path.name for path in PICTURES.iterdir()}
    assert files == {f"{name}.svg" for name in names} | {f"{name}.png" for name in SCREENSHOTS}
    assert "![" in (readme := (ROOT / "README.md").read_text(encoding="utf-8"))
    assert set(re.findall(r"!\[[^\]]+\]\((.*?)\)", readme)) == {"docs/pictures/trace-page.png"}


def test_pictures_are_small_and_need_no_network() -> None:
    for path in PICTURES.iterdir():
        assert path.stat().st_size < (200_000 if path.suffix == ".png" else 50_000)
        if path.suffix == ".svg":
            svg = path.read_text(encoding="utf-8").replace('xmlns="http://www.w3.org/2000/svg"', "")
            assert not re.search(r"https?:|url\((?!#)|href|@import", svg)
        else:
            assert path.read_bytes().startswith(b"\x89PNG\r\n")
