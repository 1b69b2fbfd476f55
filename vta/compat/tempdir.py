"""``tvm.contrib.utils.tempdir``: a folder that goes away with its object.

Tests: tests/vta/compat/test_tempdir.py.
"""

import os

from vta.temporary_folder import TemporaryFolder

__all__ = ["TempDirectory", "tempdir"]


class TempDirectory:
    """A temporary folder."""

    def __init__(self) -> None:
        self._folder = TemporaryFolder("vta-")
        self.temp_dir = str(self._folder.path)

    @property
    def path(self) -> str:
        """Its path."""
        return self.temp_dir

    def relpath(self, name: str) -> str:
        """Return the path of ``name`` in it."""
        return os.path.join(self.temp_dir, name)

    def listdir(self) -> list[str]:
        """Return the names of what is in it."""
        return os.listdir(self.temp_dir)

    def remove(self) -> None:
        """Delete it now."""
        self._folder.remove()


def tempdir() -> TempDirectory:
    """Return a new temporary folder."""
    return TempDirectory()
