"""The picture of cycles and area."""

import sys
from pathlib import Path

import pytest

from tests.vta.explore.test_table import OUTCOMES
from vta.explore.plot import save_plot
from vta.explore.sweep import ExploreError


def test_a_plot_is_a_png(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    save_plot(OUTCOMES, "layers", tmp_path / "plot.png")
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")


def test_nothing_to_draw_is_said(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    with pytest.raises(ExploreError) as caught:
        save_plot(OUTCOMES[1:], "layers", tmp_path / "plot.png")
    assert str(caught.value) == (
        f"{tmp_path / 'plot.png'}: no configuration has both cycles and area, so that there is nothing to draw"
    )


def test_a_plot_without_matplotlib_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ExploreError) as caught:
        save_plot(OUTCOMES, "layers", Path("plot.png"))
    assert str(caught.value) == "plot.png: plots need matplotlib: pip install 'vta-toolchain[plot]'"
