"""A folder for a session's or a script's files, deleted with the object that stands for it.

Tests: tests/vta/front/test_temporary_folder.py.
"""

import shutil
import tempfile
import weakref
from pathlib import Path

__all__ = ["TemporaryFolder"]


class TemporaryFolder:
    """A new empty folder at ``path``; it goes when this object does, at ``remove``, or with the process.

    Unlike a ``tempfile.TemporaryDirectory`` it does not warn when nobody closes it: TVM's sessions have no close.
    """

    def __init__(self, prefix: str) -> None:
        self.path = Path(tempfile.mkdtemp(prefix=prefix))
        self._finalizer = weakref.finalize(self, shutil.rmtree, str(self.path), ignore_errors=True)

    def remove(self) -> None:
        """Delete it now, with everything in it; a second time does nothing."""
        self._finalizer()
