"""What a server did, a line of JSON for each event, so that programs read it and no stranger's text breaks a line.

Tests: tests/vta/rpc/test_server.py.
"""

import json
import time
from typing import TextIO

__all__ = ["Journal"]


class Journal:
    """Writes events to ``file``; keys and contents of messages are never among them."""

    def __init__(self, file: TextIO | None, service: str) -> None:
        self._file, self._service = file, service

    def note(self, event: str, **facts: str | int | float | bool | None) -> None:
        """Write one event."""
        if self._file is None:
            return
        stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        line = json.dumps({"time": stamp, "service": self._service, "event": event, **facts})
        try:
            self._file.write(line + "\n")
            self._file.flush()
        except (OSError, ValueError):
            self._file = None  # a full disk or a closed pipe stops the journal, not the service
