"""Folders that go away with their object."""

from vta.temporary_folder import TemporaryFolder


def test_a_folder_goes_with_its_object_without_a_warning() -> None:
    folder = TemporaryFolder("vta-test-")
    path = folder.path
    (path / "a.txt").write_text("x")
    assert path.name.startswith("vta-test-")
    del folder
    assert not path.exists()


def test_a_folder_can_be_removed_early_and_twice() -> None:
    folder = TemporaryFolder("vta-test-")
    folder.remove()
    folder.remove()
    assert not folder.path.exists()
