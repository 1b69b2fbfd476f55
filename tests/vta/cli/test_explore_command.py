"""``vta explore``."""

from pathlib import Path

import pytest

from vta.cli import main


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as caught:
        main(["explore", *arguments])
    assert isinstance(caught.value.code, int)
    return caught.value.code


def test_a_sweep_gives_table_csv_and_page_and_names_what_cannot_be(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {name: tmp_path / f"found.{name}" for name in ("csv", "html", "jsonl")}
    arguments = ("C10", "--sweep", "block=12,16", "--sweep", "bus=64,128", "--log", str(files["jsonl"]))
    assert run(*arguments, "--csv", str(files["csv"]), "--html", str(files["html"])) == 0
    out = capsys.readouterr().out
    assert "block=16, bus=128" in out
    assert "note: block=12, bus=64; block=12, bus=128: configuration: block is 12, but it must be a power of two" in out
    assert files["csv"].read_text().count("\n") == 5
    assert "vta explore" in files["html"].read_text().lower()
    lines = files["jsonl"].read_text()
    assert run(*arguments) == 0
    assert files["jsonl"].read_text() == lines


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("C10", "--sweep", "blok=8"), "--sweep 'blok=8': no key is called 'blok'; did you mean 'block'?"),
        (("C10", "--log", "."), ".: this is a folder; name a file in it"),
    ],
)
def test_bad_options_are_one_sentence(
    arguments: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*arguments) == 1
    assert capsys.readouterr().err == f"error: {message}\n"


def test_a_plot_is_refused_before_anything_is_measured_where_it_cannot_be_drawn(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    assert run("C10", "--png", "plot.png") == 1
    assert capsys.readouterr().err == "error: plot.png: plots need matplotlib: pip install 'vta-toolchain[plot]'\n"
