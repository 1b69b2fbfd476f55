"""Digests of our own files: the hardware counts for what is measured, and not for what is compiled."""

import shutil
from pathlib import Path

import pytest

import vta.sources
from vta.sources import compiler_digest, toolchain_digest


@pytest.fixture
def copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with packages of one file each, of which the digests are from now on."""
    for name in ("isa", "hw", "runtime", "vta"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "one.py").write_text("x = 1\n")
    monkeypatch.setattr(vta.sources, "__file__", str(tmp_path / "vta" / "sources.py"))
    monkeypatch.setattr(vta.sources, "_digest", vta.sources._digest.__wrapped__)  # it keeps what it found
    return tmp_path


@pytest.mark.parametrize(("package", "compiles"), [("isa", True), ("runtime", True), ("vta", True), ("hw", False)])
def test_a_change_is_seen_by_who_depends_on_it(copy: Path, package: str, *, compiles: bool) -> None:
    before = compiler_digest(), toolchain_digest()
    (copy / package / "one.py").write_text("x = 2\n")
    after = compiler_digest(), toolchain_digest()
    assert after[1] != before[1]
    assert (after[0] != before[0]) is compiles


def test_names_count_and_other_files_do_not(copy: Path) -> None:
    before = compiler_digest()
    (copy / "vta" / "notes.txt").write_text("nothing")
    assert compiler_digest() == before
    shutil.move(copy / "vta" / "one.py", copy / "vta" / "two.py")
    assert compiler_digest() != before
