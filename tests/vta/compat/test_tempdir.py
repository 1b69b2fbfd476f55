"""``tvm.contrib.utils.tempdir``."""

import os
from pathlib import Path

from vta.compat.tempdir import tempdir


def test_a_folder_goes_away_with_its_object() -> None:
    folder = tempdir()
    path = Path(folder.relpath("a.txt"))
    path.write_text("x")
    assert folder.listdir() == ["a.txt"]
    assert folder.path == folder.temp_dir == os.path.dirname(path)
    folder.remove()
    assert not path.exists()


def test_two_folders_are_different() -> None:
    assert tempdir().path != tempdir().path
